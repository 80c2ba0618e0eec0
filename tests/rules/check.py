"""What must hold for the derivative of a function, whatever the function?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

import gradviz as gv
from gradviz.engine.batch import Batch, NotBatchedError, as_batch

STEP = 1e-6


@dataclass(frozen=True)
class Real:
    """An array of random numbers between ``low`` and ``high``; an argument to be differentiated.

    With ``apart`` no two of them are closer than a tenth of the range over their number, as order statistics need.
    """

    shape: tuple[int, ...]
    low: float = -2.0
    high: float = 2.0
    apart: bool = False

    def make(self, rng: np.random.Generator, is_complex: bool) -> np.ndarray:
        size = int(np.prod(self.shape))
        numbers = rng.uniform(self.low, self.high, self.shape)
        if self.apart and size:
            width = (self.high - self.low) / size
            numbers = self.low + width * (rng.permutation(size) + rng.uniform(0.1, 0.9, size)).reshape(self.shape)
        if is_complex:
            numbers = numbers + 1j * rng.uniform(self.low, self.high, self.shape)
        return np.asarray(numbers)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Real:
    return Real(shape, low, high)


def positive(*shape: int) -> Real:
    return Real(shape, 0.5, 2.0)


def apart(*shape: int) -> Real:
    return Real(shape, apart=True)


@dataclass(frozen=True)
class Entry:
    """A line of the table.

    Parameters
    ----------
    args : a `Real` for each argument to be differentiated; anything else is passed as it is
    is_complex : the derivative must also be right for complex arguments
    order : 2, or 1 where a second derivative is not defined
    elementwise : arguments broadcast against each other, so other shapes are tried too
    single : float32 arguments give float32 derivatives
    device : also runs on a simulated GPU, where the backward pass neither waits nor uploads
    complex_device : there it takes complex numbers too
    exact : the value is NumPy's to the last bit
    """

    name: str
    f: Callable[..., Any]
    args: tuple[Any, ...]
    is_complex: bool = False
    order: int = 2
    elementwise: bool = False
    single: bool = True
    device: bool = True
    complex_device: bool = True
    exact: bool = True
    rtol: float = 1e-6

    @property
    def wrt(self) -> list[int]:
        return [k for k, arg in enumerate(self.args) if isinstance(arg, Real)]


def entry(name: str, f: Callable[..., Any], *args: Any, **options: Any) -> Entry:
    return Entry(name, f, args, **options)


def each(function: Callable[..., Any], *args: Any, **options: Any) -> Entry:
    """An entry for a function that acts entry by entry."""
    return Entry(function.__name__, function, args or (real(2, 3),), elementwise=True, **options)


@dataclass
class Point:
    """An entry at random arguments: a function of those that are differentiated, with a random direction."""

    entry: Entry
    xs: list[Any]
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        self.vs = [self.random_like(x) for x in self.xs]

    def random_like(self, x: Any) -> Any:
        made = self.rng.standard_normal(np.shape(x))
        if np.iscomplexobj(x):
            made = made + 1j * self.rng.standard_normal(np.shape(x))
        made = np.asarray(made, getattr(x, "dtype", None))
        return made[()] if not isinstance(x, np.ndarray) else made

    def f(self, *xs: Any) -> Any:
        args = list(self.entry.args)
        for k, x in zip(self.entry.wrt, xs, strict=True):
            args[k] = x
        return self.entry.f(*args)

    def floats(self, *xs: Any) -> tuple[Any, ...]:
        """The outputs that are not integers or truth values."""
        out = self.f(*xs)
        outs = out if isinstance(out, tuple | list) else (out,)
        return tuple(y for y in outs if np.dtype(getattr(y, "dtype", type(y))).kind in "fc")

    def moved(self, t: float) -> list[Any]:
        return [x + t * v for x, v in zip(self.xs, self.vs, strict=True)]


def point(entry: Entry, is_complex: bool = False, seed: int = 0) -> Point:
    rng = np.random.default_rng(seed)
    return Point(entry, [entry.args[k].make(rng, is_complex) for k in entry.wrt], rng)


def dot(a: Sequence[Any], b: Sequence[Any]) -> Any:
    """The real inner product of lists of arrays, in which gradients are directions of steepest ascent."""
    return sum(np.sum(np.real(np.conj(x) * y)) for x, y in zip(a, b, strict=True))


def close(got: Any, want: Any, rtol: float, what: str, atol: float = 1e-8) -> None:
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=what)


def same_kind(got: Any, want: Any, what: str) -> None:
    assert np.shape(got) == np.shape(want), f"{what}: shape {np.shape(got)} instead of {np.shape(want)}"
    if hasattr(want, "dtype"):
        assert got.dtype == want.dtype, f"{what}: dtype {got.dtype} instead of {want.dtype}"


def check_value(p: Point) -> None:
    """Traced or not, the value is the same."""
    want = p.floats(*p.xs)
    got, _ = gv.vjp(p.floats, *p.xs)
    for g, w in zip(got, want, strict=True):
        same_kind(g, w, "value")
        if p.entry.exact:
            np.testing.assert_array_equal(g, w)
        else:
            close(
                g,
                w,
                1e-5 if np.asarray(w).dtype.itemsize in (4, 8) and np.asarray(w).dtype.char in "fF" else 1e-12,
                "value",
            )


def cotangents(p: Point) -> tuple[Any, ...]:
    return tuple(p.random_like(y) for y in p.floats(*p.xs))


def gradients(p: Point, cts: tuple[Any, ...]) -> tuple[Any, ...]:
    _, pull = gv.vjp(p.floats, *p.xs)
    made = pull(cts)
    for g, x in zip(made, p.xs, strict=True):
        same_kind(g, x, "gradient")
    return made


def check_first_order(p: Point) -> None:
    """Against central differences along a random direction."""
    cts = cotangents(p)
    rise = dot(cts, p.floats(*p.moved(STEP))) - dot(cts, p.floats(*p.moved(-STEP)))
    close(dot(gradients(p, cts), p.vs), rise / (2 * STEP), p.entry.rtol, "gradient against differences")


def check_second_order(p: Point) -> None:
    """The gradient and the tangent of a gradient, against its central differences."""
    cts, ws = cotangents(p), [p.random_like(x) for x in p.xs]
    argnums = tuple(range(len(p.xs)))
    first = gv.grad(lambda *xs: dot(cts, p.floats(*xs)), argnums)

    def along(*xs: Any) -> Any:
        return dot(ws, first(*xs))

    second = gv.grad(along, argnums)(*p.xs)
    for g, x in zip(second, p.xs, strict=True):
        same_kind(g, x, "second derivative")
    rise = along(*p.moved(STEP)) - along(*p.moved(-STEP))
    close(dot(second, p.vs), rise / (2 * STEP), p.entry.rtol, "second derivative against differences", atol=1e-7)
    _, tangents = gv.jvp(first, p.xs, p.vs)
    close(dot(ws, tangents), dot(second, p.vs), 1e-9, "forward over reverse against reverse over reverse")


def check_forward_mode(p: Point) -> None:
    """Tangents and cotangents are transposes of each other, and tangents have the kind of their values."""
    cts = cotangents(p)
    ys, dys = gv.jvp(p.floats, p.xs, p.vs)
    for y, dy in zip(ys, dys, strict=True):
        same_kind(dy, y, "tangent")
    close(dot(cts, dys), dot(gradients(p, cts), p.vs), 1e-9, "tangent against cotangent")


def check_batches(p: Point) -> None:
    """Many cotangents pulled back at once, and many tangents pushed forward, give what they give one by one."""
    _, pull = gv.vjp(p.floats, *p.xs)
    cts = [cotangents(p) for _ in range(3)]
    together(pull(tuple(Batch(np.stack(c)) for c in zip(*cts, strict=True))), [pull(ct) for ct in cts], "cotangents")
    vs = [[p.random_like(x) for x in p.xs] for _ in range(3)]
    single = [gv.jvp(p.floats, p.xs, v)[1] for v in vs]
    with suppress(NotBatchedError):
        together(gv.jvp(p.floats, p.xs, [Batch(np.stack(v)) for v in zip(*vs, strict=True)])[1], single, "tangents")


def together(batches: Any, single: list[Any], what: str) -> None:
    for k, batch in enumerate(batches):
        want = np.stack([one[k] for one in single])
        got = as_batch(batch, len(single)).rows
        same_kind(got, want, f"a batch of {what}")
        close(got, want, 1e-9, f"a batch of {what}", atol=1e-9)


def check_single_precision(p: Point) -> None:
    """Single precision stays single, and is right to about that precision."""
    halves = [x.astype(np.complex64 if x.dtype.kind == "c" else np.float32) for x in p.xs]
    low, high = replace_xs(p, halves), replace_xs(p, [h.astype(x.dtype) for h, x in zip(halves, p.xs, strict=True)])
    check_value(low)
    cts = cotangents(high)
    got = gradients(low, tuple(c.astype(y.dtype) for c, y in zip(cts, low.floats(*low.xs), strict=True)))
    for g, w in zip(got, gradients(high, cts), strict=True):
        close(g, w, 2e-3, "single against double precision", atol=2e-3)
    _, dys = gv.jvp(low.floats, low.xs, low.vs)
    for dy, y in zip(dys, low.floats(*low.xs), strict=True):
        same_kind(dy, y, "tangent in single precision")
    check_inner_dtypes(low)


def check_inner_dtypes(p: Point) -> None:
    """What reaches the function's inputs has their dtype; the last step of a gradient would cast it in any case."""
    arrived: list[tuple[Any, Any]] = []

    @gv.rule
    def seen(x):
        return x.copy()

    @seen.pullback
    def seen_to_x(ct, x_like):
        arrived.append((ct.dtype, x_like.dtype))
        return ct

    def floats(*xs: Any) -> tuple[Any, ...]:
        return p.floats(*(seen(x) for x in xs))

    _, pull = gv.vjp(floats, *p.xs)
    pull(cotangents(p))
    for got, want in arrived:
        assert got == want, f"a pullback made {got} for an input of {want}"


def replace_xs(p: Point, xs: list[Any]) -> Point:
    return Point(p.entry, xs, np.random.default_rng(1))


def check_layouts(p: Point) -> None:
    """Column order, negative strides and gaps change nothing."""
    cts = cotangents(p)
    want = gradients(p, cts)
    for name, laid in LAYOUTS.items():
        got = gradients(replace_xs(p, [laid(x) for x in p.xs]), cts)
        for g, w in zip(got, want, strict=True):
            close(g, w, 1e-10, f"gradient with {name}", atol=1e-12)


def gaps(x: np.ndarray) -> np.ndarray:
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    view = wide[(slice(None, None, 2),) * x.ndim]
    view[...] = x
    return view


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "column order": np.asfortranarray,
    "negative strides": lambda x: np.flip(np.flip(x).copy()) if x.ndim else x,
    "gaps": lambda x: gaps(x) if x.ndim else x,
}


def shapes(entry: Entry) -> list[list[Any]]:
    """Other shapes for the arguments of an elementwise function: scalars, broadcasting, nothing at all."""
    one = [[()], [(0, 3)], [(1,)]]
    two = [[(), ()], [(3, 1), (4,)], [(2, 3), ()], [(), (2, 3)], [(1, 3), (2, 1)], [(0, 3), (3,)], [(2, 3), (1, 1)]]
    count = len(entry.wrt)
    return one if count == 1 else two if count == 2 else [[()] * count, [(3, 1), (4,), *[()] * (count - 2)]]


def check_shapes(entry: Entry) -> None:
    for kinds in shapes(entry):
        args = list(entry.args)
        for k, shape in zip(entry.wrt, kinds, strict=True):
            args[k] = replace(entry.args[k], shape=shape)
        p = point(replace(entry, args=tuple(args)))
        check_value(p)
        check_first_order(p)
        if entry.single:
            check_single_precision(p)
    check_scalars(entry)


OTHER_SHAPES: dict[str, Callable[[tuple[int, ...]], tuple[int, ...]]] = {
    "ones": lambda shape: (1,) * len(shape),
    "twos": lambda shape: (2,) * len(shape),
    "nothing along the first axis": lambda shape: (0, *shape[1:]) if shape else (),
    "nothing along the last axis": lambda shape: (*shape[:-1], 0) if shape else (),
    "0-d": lambda shape: (),
}


def check_other_shapes(entry: Entry) -> None:
    """Short, empty and 0-d arguments, wherever NumPy takes them without a warning."""
    for shape_of in OTHER_SHAPES.values():
        args = tuple(replace(a, shape=shape_of(a.shape)) if isinstance(a, Real) else a for a in entry.args)
        p = point(replace(entry, args=args))
        try:
            outs = p.floats(*p.xs)
        except Exception:  # noqa: BLE001 - then there is nothing to compare with
            continue
        if outs and all(np.all(np.isfinite(y)) for y in outs):
            check_value(p)
            check_forward_mode(p)
            check_first_order(p)


def check_scalars(entry: Entry) -> None:
    """Python numbers, NumPy scalars, and a Python number beside a float32 array."""
    args = list(entry.args)
    for k in entry.wrt:
        args[k] = replace(entry.args[k], shape=())
    p = point(replace(entry, args=tuple(args)))
    for kind in (float, np.float64):
        check_first_order(replace_xs(p, [kind(x) for x in p.xs]))
    if entry.single and len(p.xs) == 2:
        for array in (0, 1):
            xs = [np.full(3, x, np.float32) if k == array else float(x) for k, x in enumerate(p.xs)]
            mixed = replace_xs(p, xs)
            for dtype_of, x in zip(gradients(mixed, cotangents(mixed)), xs, strict=True):
                assert type(dtype_of) is type(x)


def check_device(p: Point) -> None:
    """On a simulated GPU the gradient is the same, and its backward pass neither waits for the device nor uploads."""
    from gradviz.devices.sim import simulate

    xp = simulate("a100")
    xs = [xp.asarray(x) for x in p.xs]
    on_device = Point(
        replace(p.entry, args=tuple(xp.asarray(a) if isinstance(a, np.ndarray) else a for a in p.entry.args)), xs
    )
    cts = cotangents(p)
    _, pull = gv.vjp(on_device.floats, *xs)
    sent = tuple(xp.asarray(c) for c in cts)
    xp.device.counts.reset()
    got = pull(sent)
    caused = [what for what in xp.device.counts.log if what[0] != "launch"]
    for g, w in zip(got, gradients(p, cts), strict=True):
        close(g.get(), w, 1e-9, "gradient on the device")
    assert not caused, f"the backward pass made the host wait, or sent data: {caused}"
