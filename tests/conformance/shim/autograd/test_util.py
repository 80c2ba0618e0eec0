"""autograd's checks: a derivative against a central difference along a random direction, to the order asked for."""

from itertools import product

import gradviz as gv
from autograd.operators import unary_to_nary
from autograd.trees import inner, kind, map_tree, randn

STEP = TOLERANCE = 1e-6


def scalar_close(a, b):
    return abs(a - b) < TOLERANCE or abs(a - b) / abs(a + b) < TOLERANCE


def difference(f, x, v):
    """The slope of ``f`` along ``v``."""
    ahead, behind = (f(map_tree(lambda x, v, step=step: x + step * v, x, v)) for step in (STEP / 2, -STEP / 2))
    return map_tree(lambda a, b: (a - b) / STEP, ahead, behind)


def name_of(f):
    return getattr(f, "__name__", "[unknown name]")


def check_vjp(f, x):
    y, pull = gv.vjp(f, x)
    v, ct = randn(x), randn(y)
    (pulled,) = pull(ct)
    assert kind(pulled) == kind(x), f"{kind(pulled)}, but {kind(x)}"
    exact, numeric = inner(v, pulled), inner(ct, difference(f, x, v))
    assert scalar_close(numeric, exact), (
        f"Derivative (VJP) check of {name_of(f)} failed at {x}: {exact}, but {numeric} by differences"
    )


def check_jvp(f, x):
    v = randn(x)
    check_equivalent(gv.jvp(f, (x,), (v,))[1], difference(f, x, v))


def check_equivalent(x, y):
    assert kind(x) == kind(y), f"{kind(x)}, but {kind(y)}"
    v = randn(x)
    assert scalar_close(inner(x, v), inner(y, v)), f"{x}, but {y}"


@unary_to_nary
def check_grads(f, x, modes=("fwd", "rev"), order=2):
    if "fwd" in modes:
        check_jvp(f, x)
        if order > 1:
            _again(f"jvp_{name_of(f)}", lambda x, v: gv.jvp(f, (x,), (v,))[1], x, randn(x), modes, order)
    if "rev" in modes:
        check_vjp(f, x)
        if order > 1:
            _again(f"vjp_{name_of(f)}", lambda x, ct: gv.vjp(f, x)[1](ct)[0], x, randn(f(x)), modes, order)


def _again(name, derivative, x, direction, modes, order):
    derivative.__name__ = name
    check_grads(derivative, (0, 1), modes, order - 1)(x, direction)


def combo_check(f, *args, **options):
    def check(*choices, **named):
        for values in product(*choices):
            for picked in product(*named.values()):
                check_grads(f, *args, **options)(*values, **dict(zip(named, picked, strict=True)))

    return check
