"""Entries for `gradviz.rules.elementwise`."""

from __future__ import annotations

import numpy as np

from tests.rules.check import each, entry, positive, real

inside = real(2, 3, low=-0.9, high=0.9)
above_one = real(2, 3, low=1.2, high=3.0)
two = (real(2, 3), positive(2, 3))

ENTRIES = [
    # arithmetic
    each(np.add, real(2, 3), real(2, 3), is_complex=True),
    each(np.subtract, real(2, 3), real(2, 3), is_complex=True),
    each(np.multiply, real(2, 3), real(2, 3), is_complex=True),
    each(np.divide, *two, is_complex=True),
    each(np.negative, is_complex=True),
    each(np.positive, is_complex=True),
    each(np.reciprocal, positive(2, 3), is_complex=True),
    each(np.square, is_complex=True),
    each(np.remainder, *two),
    entry("remainder by a number", lambda x: x % 0.7, real(2, 3)),
    each(np.fmod, *two),
    each(np.divmod, *two),
    entry("divmod operator", lambda x, y: divmod(x, y)[1], *two),
    each(np.modf),
    each(np.frexp, positive(2, 3)),
    entry("ldexp", np.ldexp, real(2, 3), np.array([1, 2, -3])),
    # powers and logarithms
    each(np.power, positive(2, 3), real(2, 3), is_complex=True),
    each(np.float_power, positive(2, 3), real(2, 3), is_complex=True, single=False),
    *(
        entry(f"power {n}", lambda x, n=n: x**n, real(2, 3, low=0.3, high=2), is_complex=True)
        for n in (-2, -1, 0, 0.5, 1, 2, 3, 2.5)
    ),
    entry("power of a negative base", lambda x: x**3, real(2, 3, low=-2, high=-0.5), is_complex=True),
    entry("power of integers", np.power, real(2, 3), np.array([0, 1, 2]), single=False, is_complex=True),
    entry("power of a number", lambda y: 2.0**y, real(2, 3), is_complex=True),
    entry(
        "real base, complex exponent", lambda x, y: x ** (1j * y), positive(3), real(3), single=False, is_complex=True
    ),
    each(np.sqrt, positive(2, 3), is_complex=True),
    each(np.cbrt, positive(2, 3)),
    each(np.exp, is_complex=True),
    each(np.exp2, is_complex=True),
    each(np.expm1, is_complex=True),
    each(np.log, positive(2, 3), is_complex=True),
    each(np.log2, positive(2, 3), is_complex=True),
    each(np.log10, positive(2, 3), is_complex=True),
    each(np.log1p, positive(2, 3), is_complex=True),
    each(np.logaddexp, real(2, 3), real(2, 3)),
    each(np.logaddexp2, real(2, 3), real(2, 3)),
    # trigonometry
    each(np.sin, is_complex=True),
    each(np.cos, is_complex=True),
    each(np.tan, inside, is_complex=True),
    each(np.arcsin, inside, is_complex=True),
    each(np.arccos, inside, is_complex=True),
    each(np.arctan, inside, is_complex=True),
    each(np.sinh, is_complex=True),
    each(np.cosh, is_complex=True),
    each(np.tanh, inside, is_complex=True),
    each(np.arcsinh, inside, is_complex=True),
    each(np.arccosh, above_one, is_complex=True),
    each(np.arctanh, inside, is_complex=True),
    each(np.deg2rad),
    each(np.rad2deg),
    each(np.degrees),
    each(np.radians),
    each(np.hypot, real(2, 3), real(2, 3)),
    each(np.arctan2, real(2, 3), real(2, 3)),
    each(np.sinc, is_complex=True),
    entry("sinc near 0", np.sinc, real(2, 3, low=-0.05, high=0.05), is_complex=True),
    # sign and size
    each(np.absolute, is_complex=True),
    each(np.fabs),
    entry("sign", lambda x: x * np.sign(x), real(2, 3), is_complex=True, exact=False),
    entry("copysign", np.copysign, real(2, 3), np.array([1.0, -2.0, 3.0]), single=False),
    entry("nextafter", np.nextafter, real(2, 3), np.array([0.0, 9.0, 1.0]), single=False),
    entry("heaviside", np.heaviside, np.array([0.0, 1.0, 0.0]), real(2, 3), single=False),
    each(np.maximum, real(2, 3), real(2, 3), is_complex=True),
    each(np.minimum, real(2, 3), real(2, 3), is_complex=True),
    each(np.fmax, real(2, 3), real(2, 3), is_complex=True),
    each(np.fmin, real(2, 3), real(2, 3), is_complex=True),
    # complex numbers
    each(np.conjugate, is_complex=True),
    each(np.real, is_complex=True),
    each(np.imag, is_complex=True),
    each(np.angle, is_complex=True),
    entry("angle in degrees", lambda z: np.angle(z, deg=True), real(2, 3), is_complex=True),
    entry("real and imaginary part", lambda z: z.real * z.imag, real(2, 3), is_complex=True),
    entry("real_if_close", lambda z: np.real_if_close(z) ** 2, real(2, 3), is_complex=True),
    # replacing
    each(np.nan_to_num, is_complex=True),
    entry(
        "nan_to_num by values",
        lambda x, h, a, b, c: np.nan_to_num(x + h, nan=a, posinf=b, neginf=c),
        real(4),
        np.array([0.0, np.nan, np.inf, -np.inf]),
        real(),
        real(),
        real(),
    ),
    entry("where", np.where, np.array([True, False, True]), real(2, 3), real(2, 3), is_complex=True),
    entry("where with a scalar", lambda x: np.where(x > 0, x, 0.0), real(2, 3), is_complex=True),
    entry("where broadcasts", lambda x, y: np.where(x > 0, x, y), real(2, 1), real(3), is_complex=True),
    entry(
        "clip",
        lambda x, a, b: np.clip(x, a, b),
        real(2, 3),
        real(3, low=-1, high=-0.5),
        real(2, 1, low=0.5, high=1),
        is_complex=True,
    ),
    entry("clip by numbers", lambda x: np.clip(x, -0.5, 1), real(2, 3), is_complex=True),
    entry("clip from below", lambda x: np.clip(x, 0.1, None), real(2, 3), is_complex=True),
    entry("clip by keywords", lambda x: np.clip(x, max=0.1), real(2, 3), is_complex=True),
    entry("clip with crossed bounds", lambda x, a: np.clip(x, a, 0.1), real(2, 3), real(3), is_complex=True),
    # options of ufuncs
    entry(
        "ufunc where",
        lambda x, m: np.exp(x, where=m, out=np.zeros_like(x)),
        real(2, 3),
        np.array([True, False, True]),
        is_complex=True,
    ),
    entry("ufunc dtype", lambda x: np.multiply(x, 2, dtype=np.float64), real(2, 3), single=False),
]
