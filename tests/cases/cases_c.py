"""C. In-place updates, views and aliasing. Numpy's own behaviour defines the right value.

gv.mutable(x) is whatever the engine offers for writing (a buffer, or a traced copy);
where an engine cannot follow numpy exactly, a clear error is accepted instead of a value.
"""

from contextlib import suppress

import numpy as onp

from tests.cases.expect import value, value_or_error
from tests.cases.registry import case

CLEAR = r"buffer|in-?place|immutable|mutat|overwrit|modif|view|read-?only|copy|freez"


@case(
    id="C01",
    source="FluxML/Zygote.jl#177; FluxML/Zygote.jl#1191",
    expect=value((onp.array([2.0, 4.0]), onp.array([2.0, 4.0]), onp.array([3.0, 0.0]))),
)
def buffer_fill_is_not_dropped(np, gv):
    """Gradients flow through a[:] = x, through entries read straight from the buffer without
    freezing it, and entries never written read as zero."""

    def whole(x):
        a = gv.mutable((2,))
        a[:] = x
        return np.sum(gv.frozen(a) ** 2)

    def direct(x):
        a = gv.mutable((2,))
        a[:] = x
        return a[0] * a[0] + a[1] * a[1]

    def part(x):
        a = gv.mutable((4,))
        a[1] = 3 * x[0]
        return np.sum(gv.frozen(a))

    x = onp.array([1.0, 2.0])
    return gv.grad(whole)(x), gv.grad(direct)(x), gv.grad(part)(x)


@case(
    id="C02",
    source="rsokl/MyGrad#280 (via pull 320); pytorch/pytorch#3313",
    expect=value((onp.array([5.0, 0.0]), onp.array([13.0, 0.0]), 24.0)),
)
def value_read_before_and_after_an_overwrite(np, gv):
    """A read taken before the entry is overwritten keeps its own gradient; repeated += of an
    entry by itself; an intermediate saved by an earlier product."""

    def f(x):
        a = gv.mutable(x)
        y = a[0] ** 2
        a[0] = 3 * x[0]
        return y + a[0]

    def g(x):
        a = gv.mutable(x)
        p = a[0] * a[0]  # product saves a[0]
        a[0] += a[0] * a[0]  # then the entry changes
        a[0] += 4 * x[0]
        return p + a[0]

    def h(s):
        a = gv.mutable((1,))
        a[0] = s
        for _ in range(3):
            a[0] *= s
        return a[0] - s * 8

    # h' = 4 s^3 - 8 at s = 2
    return gv.grad(f)(onp.array([1.0, 7.0])), gv.grad(g)(onp.array([2.0, 7.0])), gv.grad(h)(2.0)


@case(
    id="C05",
    source="pytorch/pytorch#473; numpy buffered augmented assignment",
    expect=value(
        (onp.array([1.0, 2.0, 1.0, 2.0]), onp.array([6.0, 0.0]), onp.array([1.0, 1.0, 1.0]), onp.array([0.0, 1.0, 1.0]))
    ),
)
def augmented_assignment_with_strides_and_repeats(np, gv):
    """a[::2] += broadcast; a[1::2] *= 2; and a[[0,0,2]] += v, where numpy applies only the last
    write to a repeated index, so the first v entry gets gradient 0."""

    def f(x, b):
        a = gv.mutable(x)
        a[::2] += 3 * b[0]
        a[1::2] *= 2.0
        return np.sum(gv.frozen(a))

    idx = onp.array([0, 0, 2])

    def h(x, v):
        a = gv.mutable(x)
        a[idx] += v
        return np.sum(gv.frozen(a))

    gx, gb = gv.grad(f, (0, 1))(onp.ones(4), onp.array([1.0, 1.0]))
    hx, hv = gv.grad(h, (0, 1))(onp.zeros(3), onp.array([1.0, 2.0, 3.0]))
    return gx, gb, hx, hv


@case(
    id="C07",
    source="Lightning-AI/lightning-thunder#1173; chainer/chainer#488",
    expect=value_or_error(
        (onp.array([1.0, 2.0]), onp.array([1.0, 2.0]), onp.array([1.0, 1.0]), onp.array([1.0, 1.0])), clear=CLEAR
    ),
)
def returned_gradient_is_not_an_alias(np, gv):
    """An optimizer scales the gradient in place. That must not change a constant of the loss, a
    cotangent the caller passed in, or a forward result that backward still needs."""
    c = onp.array([1.0, 2.0])
    f = lambda x: np.sum(x * c)
    g = gv.grad(f)(onp.zeros(2))
    g *= 0.1
    again = gv.grad(f)(onp.zeros(2))
    ct = onp.array([1.0, 1.0])
    _, pull = gv.vjp(lambda x: x, onp.zeros(2))
    r = pull(ct)[0]
    r *= 7.0
    y, pull = gv.vjp(lambda x: np.exp(x), onp.zeros(2))
    with suppress(TypeError, ValueError):  # a read-only output is fine
        y *= 0.0  # the output is also what exp saved for backward
    return again, c, ct, pull(onp.ones(2))[0]


@case(
    id="C08",
    source="Lightning-AI/lightning-thunder#1173; Lightning-AI/lightning-thunder pull 1110",
    expect=value((onp.array([0.0, 0.0]), onp.array([1.0, 1.0]), onp.array([1.0, 1.0]))),
)
def gradients_of_two_inputs_do_not_share_memory(np, gv):
    """x + y sends the same cotangent to both inputs; updating one gradient in place must leave
    the other alone, also when a gradient is a broadcast (read-only, stride 0) view."""
    gx, gy = gv.grad(lambda x, y: np.sum(x + y), (0, 1))(onp.zeros(2), onp.zeros(2))
    gx *= 0.0
    g = gv.grad(lambda x: np.sum(x))(onp.zeros(2))
    g += 0.0  # must be writable
    return gx, gy, g


@case(
    id="C11",
    source="FluxML/Zygote.jl#1497; FluxML/Zygote.jl pull 1350",
    expect=value((12.0, 12.0, onp.array([[6.0, 0.0], [0.0, 12.0]]), 12.0)),
)
def second_order_through_a_buffer(np, gv):
    """First and second derivative of a function that stores its argument in a writable array,
    reverse over reverse and forward over reverse."""

    def f(x):
        a = gv.mutable((1,))
        a[0] = x
        return np.sum(gv.frozen(a)) ** 3

    def v(x):
        a = gv.mutable((2,))
        for i in range(2):
            a[i] = x[i]
        return np.sum(gv.frozen(a) ** 3)

    return (
        gv.grad(f)(2.0),
        gv.grad(gv.grad(f))(2.0),
        gv.hessian(v)(onp.array([1.0, 2.0])),
        gv.jvp(gv.grad(f), (2.0,), (1.0,))[1],
    )


@case(
    id="C14",
    source="chainer/chainer pull 2135; Lightning-AI/lightning-thunder#1173",
    expect=value((onp.array([1.9, 1.9]), onp.array([1.805, 1.805]), onp.array([2.0, 2.0]))),
)
def kept_history_of_in_place_steps(np, gv):
    """A training loop that does p -= lr * g in place and keeps p.copy() and earlier gradients:
    gradients stored from step 1 must still be right after step 2 (no reused output buffer)."""
    p = onp.array([2.0, 2.0])
    f = lambda p: np.sum(p**2) / 2
    g1 = gv.grad(f)(p)
    p = p - 0.05 * onp.asarray(g1)
    p1 = p.copy()
    g2 = gv.grad(f)(p)
    p -= 0.05 * onp.asarray(g2)
    return p1, p, g1
