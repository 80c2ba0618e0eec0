"""Entries for `gradviz.rules.ufunc_methods` and `gradviz.engine.rounds`."""

from __future__ import annotations

import numpy as np

from tests.rules.check import apart, entry, positive, real

# every ufunc of two arguments, and arguments for which its accumulation is smooth
UFUNCS = {
    np.add: real, np.subtract: real, np.multiply: real, np.true_divide: positive, np.power: positive, np.float_power: positive,
    np.remainder: positive, np.fmod: positive, np.hypot: real, np.arctan2: positive, np.logaddexp: real, np.logaddexp2: real,
    np.maximum: apart, np.minimum: apart, np.fmax: apart, np.fmin: apart, np.copysign: real, np.nextafter: real, np.heaviside: real,
}  # fmt: skip
REAL = (
    np.remainder,
    np.fmod,
    np.hypot,
    np.arctan2,
    np.logaddexp,
    np.logaddexp2,
    np.copysign,
    np.nextafter,
    np.heaviside,
)
ONE_SIDED = (np.copysign, np.nextafter, np.heaviside)  # constant in the other argument
REDUCES_ON_DEVICE = (np.add, np.multiply, np.maximum, np.minimum, np.fmax, np.fmin)
IN_DOUBLE = (np.float_power, np.nextafter, np.heaviside)
places = np.array([0, 1, 0, 0])


def methods(ufunc, make):
    """Along the first axis and in pieces of two: along the last one NumPy 2.4 gives ``a ** c`` for ``(a ** b) ** c`` with AVX-512."""
    name = ufunc.__name__
    options = {"is_complex": ufunc not in REAL, "single": ufunc not in IN_DOUBLE, "rtol": 1e-5}
    there = {"device": ufunc in REDUCES_ON_DEVICE}
    yield entry(f"{name}.reduce", lambda a: ufunc.reduce(a, keepdims=True), make(3, 2), exact=False, **options, **there)
    yield entry(f"{name}.accumulate", ufunc.accumulate, make(4, 2), **options, device=ufunc in (np.add, np.multiply))
    yield entry(
        f"{name}.reduceat", lambda a: ufunc.reduceat(a, [0, 2, 1, 3]), make(4, 2), exact=False, **options, **there
    )
    if ufunc not in ONE_SIDED:
        yield entry(f"{name}.outer", ufunc.outer, make(2), make(3), **options)
        yield entry(
            f"{name}.at",
            lambda a, b: written(ufunc.at, a, places, b),
            make(3),
            make(4),
            exact=False,
            device=False,
            **options,
        )


def written(write, a, *rest):
    copied = a * 1.0
    write(copied, *rest)
    return copied


# every ufunc of one argument, where it is smooth; those of the second line take their results again
ONCE = (
    np.absolute, np.arccos, np.arcsin, np.arcsinh, np.arctan, np.arctanh, np.cbrt, np.cosh, np.deg2rad, np.exp2, np.expm1,
    np.fabs, np.log, np.log10, np.log1p, np.log2, np.positive, np.rad2deg, np.reciprocal, np.sinh, np.tan,
)  # fmt: skip
AGAIN = (np.negative, np.sin, np.cos, np.square, np.sqrt, np.exp, np.tanh, np.conjugate, np.degrees, np.radians)

ENTRIES = [
    *(each for ufunc, make in UFUNCS.items() for each in methods(ufunc, make)),
    *(
        entry(
            f"{f.__name__}.at",
            lambda a, f=f, i=i: written(f.at, a, i),
            real(3, low=0.2, high=0.8),
            exact=False,
            device=False,
            is_complex=f not in (np.cbrt, np.deg2rad, np.rad2deg, np.degrees, np.radians, np.fabs, np.absolute),
        )
        for functions, i in ((ONCE, [0, 2]), (AGAIN, places))
        for f in functions
    ),
    entry("arccosh.at", lambda a: written(np.arccosh.at, a, [0, 2]), real(3, low=1.5, high=3), device=False),
    *(
        entry(f"{ufunc.__name__}.{method}", f, real(3), np.array([1.0, -0.5]), device=method == "outer", single=False)
        for ufunc in (np.copysign, np.nextafter)
        for method, f in (("outer", ufunc.outer), ("at", lambda a, b, at=ufunc.at: written(at, a, [0, 2], b)))
    ),
    entry("heaviside.outer", np.heaviside.outer, np.array([0.0, 1.0]), real(3), single=False),
    entry("heaviside.at", lambda a, b: written(np.heaviside.at, 0 * a, [0, 2], b), real(3), real(2), device=False, single=False),
    entry("ldexp.outer", np.ldexp.outer, real(3), np.array([1, -2])),
    entry("ldexp.at", lambda a: written(np.ldexp.at, a, [0, 2, 2], [1, 2, -3]), real(3), device=False),
    entry("add.reduce kept", lambda a: np.add.reduce(a, axis=(0, 1), keepdims=True), real(2, 3)),
    entry("multiply.reduce of two axes", lambda a: np.multiply.reduce(a, axis=(0, 2)), real(2, 3, 2), exact=False),
    entry("maximum.reduce of all", lambda a: np.maximum.reduce(a, axis=None), apart(2, 3)),
    entry("logaddexp2.reduce of all", lambda a: np.logaddexp2.reduce(a, axis=None), real(2, 3), device=False),
    entry("subtract.reduce from a start", lambda a: np.subtract.reduce(a, initial=2.0), real(3, 2), device=False),
    entry(
        "divide.reduce where",
        lambda a, m: np.divide.reduce(a, axis=1, initial=1.5, where=m),
        positive(2, 3),
        np.array([True, False, True]),
    ),
    entry("divide.reduce of nothing", lambda a: np.divide.reduce(a, axis=1, initial=1.5), real(2, 0)),
    entry("subtract.reduce of a vector", np.subtract.reduce, positive(3), device=False),
    entry(
        "add.at a matrix",
        lambda a, b, i, j: written(np.add.at, a, (i, j), b),
        real(2, 3),
        real(4),
        places,
        np.array([2, 2, 1, 2]),
        is_complex=True,
    ),
    entry("add.at a slice", lambda a, b: written(np.add.at, a, (slice(None), 1), b), real(2, 3), real(2)),
    entry("add.reduceat of pieces", lambda a: np.add.reduceat(a, [1, 2, 4], axis=1), real(2, 6), device=False),
    entry("add.reduceat of no pieces", lambda a: np.add.reduceat(a, np.zeros(0, int), axis=1), real(2, 6)),
    entry("multiply.at a matrix", lambda a, b: written(np.multiply.at, a, (places, [0, 1, 0, 1]), b), real(2, 2), real(4), device=False),
    entry("maximum.at a slice", lambda a, b: written(np.maximum.at, a, slice(1, None), b), apart(3, 2), apart(2), device=False),
    entry("divide.at a mask", lambda a, b: written(np.divide.at, a, [True, False, True], b), real(3), positive(2), device=False),
]  # fmt: skip
