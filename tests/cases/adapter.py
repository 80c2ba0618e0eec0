"""How the cases reach gradviz."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy
import optree

import gradviz


class Adapter:
    """gradviz behind the names that cases use, with a namespace that people may write their programs in.

    What no case here reads, such as ``skip_tags``, is for other runners of the same cases.
    """

    complex_convention = "steepest"
    rtol = atol = 0.0
    skip_tags: frozenset[str] = frozenset()
    skip_growth = False
    gv = SimpleNamespace(
        grad=gradviz.grad,
        value_and_grad=gradviz.value_and_grad,
        vjp=gradviz.vjp,
        jvp=gradviz.jvp,
        jacobian=gradviz.jacobian,
        hessian=gradviz.hessian,
        scan=gradviz.scan,
        checkpoint=gradviz.checkpoint,
        stop_gradient=gradviz.stop_gradient,
        mutable=lambda x: gradviz.numpy.zeros(x) if isinstance(x, tuple) else gradviz.numpy.array(x),
        frozen=lambda x: x,
    )

    def __init__(self, np: Any) -> None:
        self.np = np
        self.name = f"gradviz with {np.__name__}"

    def host(self, tree: Any) -> Any:
        """The tree with device arrays fetched to the host."""
        return optree.tree_map(lambda x: x.get() if hasattr(x, "get") else x, tree, none_is_leaf=True)

    def is_unsupported(self, error: Exception) -> bool:
        return False

    def device(self) -> Any:
        return gradviz.simulate("a100").device

    def viz(self) -> Any:
        return SimpleNamespace(profile=gradviz.profile, span=gradviz.span)


def load(np: Any = numpy) -> Adapter:
    return Adapter(np)
