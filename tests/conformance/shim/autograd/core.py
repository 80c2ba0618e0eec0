"""What tests import from autograd's core; its internals have no counterpart."""

from autograd.extend import primitive
from autograd.operators import jvp_of as make_jvp
from autograd.operators import vjp_of as make_vjp

__all__ = ["make_jvp", "make_vjp", "primitive", "primitive_vjps", "vspace"]

primitive_vjps = {}


def vspace(value):
    raise NotImplementedError("autograd's vector spaces have no counterpart in gradviz")
