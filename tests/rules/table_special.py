"""Entries for `gradviz.rules.scipy.special`: every ufunc of `scipy.special` that has a derivative, and its Python functions."""

from __future__ import annotations

from collections import Counter
from functools import partial

import numpy as np
from scipy import special

from gradviz import Array
from gradviz.engine.rule import COMPOSED
from tests.rules.check import Real, entry, positive, real

unit = real(2, 3, low=0.1, high=0.9)
two = real(2, 3)
plus = positive(2, 3)
beyond_one = real(2, 3, low=1.2, high=2.0)


def scipy(name: str, *args, **options):
    """Those that CuPy has, with all that their pullbacks call, it has in a module of its own, which NumPy's protocol finds."""
    NAMES[name] += 1
    label = name + f" ({NAMES[name]})" * (NAMES[name] > 1)
    options = {"device": label in ON_DEVICE, "complex_device": label not in REAL_ON_DEVICE, **options}
    return entry(f"special.{label}", traceable(getattr(special, name)), *args, **options)


NAMES: Counter[str] = Counter()
REAL_ON_DEVICE = {"erf", "erfc", "erfcx", "exp1", "expi"}
ON_DEVICE = {
    "bdtr", "bdtrc", "bdtri", "beta", "betainc", "betaincinv", "betaln", "binom", "boxcox", "boxcox (2)", "boxcox1p", "cbrt",
    "chdtr", "chdtrc", "chdtri", "comb", "cosdg", "cosm1", "cotdg", "entr", "erf", "erfc", "erfcinv", "erfcx", "erfinv", "exp1",
    "exp10", "exp2", "expi", "expit", "expm1", "expn (2)", "expn (3)", "exprel", "factorial", "fdtr", "fdtrc", "fdtri", "gamma",
    "gammainc", "gammainc (2)", "gammaincc", "gammainccinv", "gammaincinv", "gammaincinv (2)", "gammaln", "gdtr", "gdtrc",
    "huber", "i0", "i0e", "inv_boxcox", "inv_boxcox1p", "j0", "k0", "k0e", "kl_div", "log1p", "log_expit", "log_ndtr",
    "log_softmax", "loggamma", "logit", "logsumexp", "logsumexp, weighted", "lpmv", "multigammaln", "nbdtr", "nbdtrc", "nbdtri",
    "ndtr", "ndtri", "pdtr", "pdtrc", "pdtri", "perm", "poch", "pseudo_huber", "radian", "rel_entr", "rgamma", "sindg", "softmax",
    "tandg", "xlog1py", "xlogy", "y0",
}  # fmt: skip


def traceable(function):
    """SciPy's ufuncs take traced arrays; its Python functions do not, so there our definition answers for them."""
    if isinstance(function, np.ufunc):
        return function
    ours = COMPOSED[function]
    return lambda *xs, **options: (ours if any(isinstance(x, Array) for x in xs) else function)(*xs, **options)


def elementwise(name: str, *args: Real, **options):
    return scipy(name, *args, elementwise=True, **options)


def all_of(names: str, *args, **options):
    return [scipy(name, *args, **options) for name in names.split()]


def each_of(names: str, *args, **options):
    return [elementwise(name, *args, **options) for name in names.split()]


def of_real_part(function):
    """Spherical harmonics and others that are complex for real arguments."""
    return lambda *xs: np.real(function(*xs)) + 2 * np.imag(function(*xs))


NORMAL = [
    *each_of("erf erfc erfi erfcx dawsn wofz", two, is_complex=True),
    *each_of("ndtr log_ndtr", two),
    *each_of("erfinv erfcinv ndtri", unit),
    *each_of("expit log_expit", two),
    *each_of("logit", unit),
    elementwise("ndtri_exp", real(2, 3, low=-3, high=-0.2)),
    elementwise("nrdtrimn", unit, plus, two),
    elementwise("nrdtrisd", two, real(2, 3, low=0.6, high=0.9), two),
    elementwise("owens_t", two, two),
    elementwise("voigt_profile", two, plus, plus),
    elementwise("kolmogorov", real(2, 3, low=0.3, high=2.0)),
    elementwise("kolmogi", unit, order=1),
]

GAMMA = [
    *each_of("gammaln digamma psi", plus),
    *each_of("gamma loggamma rgamma", plus),
    *each_of("beta betaln poch binom", plus, plus),
    *all_of("gammainc gammaincc", 1.5, plus),
    *all_of("gammaincinv gammainccinv", 1.5, unit),
    *all_of("betainc betaincc betaincinv betainccinv", 1.5, 2.5, unit),
    *(scipy(f"{name}", np.array([1.5, 2.0, 3.0]), unit, single=False) for name in ("gammainc", "gammaincinv")),
    scipy("multigammaln", real(3, low=2, high=4), 3, exact=False, single=False),
    scipy("zeta", 2.5, plus),
    scipy("comb", real(3, low=4, high=6), real(3, low=1, high=3)),
    scipy("perm", real(3, low=4, high=6), real(3, low=1, high=3)),
    scipy("factorial", plus, exact=False),
    *(
        entry(f"special.polygamma {n}", partial(traceable(special.polygamma), n), plus, single=False, device=False)
        for n in (0, 1, 3)
    ),
]

DISTRIBUTIONS = [
    *all_of("bdtr bdtrc bdtri", 2, 5, unit, single=False),  # SciPy itself calls a float32 n deprecated
    scipy("nbdtri", 2, 5, unit),
    *all_of("nbdtr nbdtrc", 2, 5, unit),
    *all_of("pdtr pdtrc", 2, plus),
    scipy("pdtri", 2, unit),
    *all_of("chdtr chdtrc", 3.5, plus),
    scipy("chdtri", 3.5, unit),
    *(scipy(name, real(2, 3, low=0.5, high=2), 1.5, plus) for name in ("gdtr", "gdtrc")),
    scipy("gdtria", unit, 1.5, plus, rtol=1e-5, single=False),
    scipy("gdtrix", plus, 1.5, unit, rtol=1e-5, single=False),
    *all_of("fdtr fdtrc", 3.5, 2.5, plus),
    scipy("fdtri", 3.5, 2.5, unit),
    scipy("stdtr", 3.5, two),
    scipy("stdtrit", 3.5, unit),
    scipy("chndtr", plus, 3.5, plus),
    scipy("chndtrix", unit, 3.5, plus, rtol=1e-5, single=False),
    scipy("chndtrinc", real(2, 3, low=3, high=5), 3.5, real(2, 3, low=0.2, high=0.3), rtol=1e-5, single=False),
    scipy("ncfdtr", 3.5, 2.5, plus, plus),
    scipy("ncfdtri", 3.5, 2.5, plus, unit, rtol=1e-5, single=False),
    scipy("ncfdtrinc", 3.5, 2.5, real(2, 3, low=0.2, high=0.3), real(2, 3, low=2, high=4), rtol=2e-3, single=False),
    scipy("nctdtr", 3.5, 0.7, two),
    scipy("nctdtrit", 3.5, 0.7, unit, rtol=1e-5, single=False),
    scipy("tklmbda", two, 0.3, rtol=1e-5),
    scipy("smirnov", 5, unit, order=1),
    scipy("smirnovi", 5, unit, order=1),
]

ELEMENTARY = [
    *each_of("cbrt exp2 exp10 cosm1 exprel", two),
    *each_of("expm1", two, is_complex=True),
    *each_of("log1p", plus, is_complex=True),
    *each_of("sindg cosdg tandg", real(2, 3, low=-80, high=80)),
    *each_of("cotdg", real(2, 3, low=10, high=80)),
    elementwise("radian", two, two, two),
    *each_of("powm1 xlogy xlog1py rel_entr kl_div", plus, plus),
    elementwise("entr", unit),
    elementwise("huber", plus, two),
    elementwise("pseudo_huber", plus, two),
    *each_of("boxcox boxcox1p", plus, two),
    *each_of("inv_boxcox inv_boxcox1p", unit, real(2, 3, low=-0.9, high=2.0)),
    scipy("boxcox", plus, np.array([-0.5, 0.0, 1e-3]), single=False),
    elementwise("wrightomega", two, is_complex=True),
    scipy("lambertw", plus, exact=False, is_complex=True, single=False),
    scipy("diric", two, 4, exact=False),
]

BESSEL = [
    *each_of("j0 j1 i0 i1 i0e i1e", two),
    *each_of("y0 y1 k0 k1 k0e k1e", plus),
    *all_of("jv yv iv kv kve", 1.5, plus, is_complex=True),
    *all_of("ive jve yve", 1.5, plus, is_complex=True),
    *all_of("hankel1 hankel2 hankel1e hankel2e", 1.5, plus),
    *all_of("yn kn", 2, plus),
    *all_of("jvp yvp h1vp h2vp", 1.5, plus, 2, exact=False),
    *all_of("ivp kvp", 1.5, plus, 2, exact=False),
    *all_of("spherical_jn spherical_yn spherical_in spherical_kn", 2, plus),
    *all_of("spherical_jn spherical_yn spherical_in spherical_kn", 0, plus),
    *all_of("spherical_jn spherical_yn spherical_in spherical_kn", 1, plus, True),
    *all_of("spherical_jn spherical_yn spherical_in spherical_kn", 1, real(2, 3, low=-2, high=-0.5), exact=False),
    *all_of("spherical_jn spherical_yn spherical_in spherical_kn", 2, real(2, 3, low=-2, high=-0.5), True, exact=False),
    *all_of("itj0y0 iti0k0 it2j0y0 it2i0k0", plus, rtol=1e-5),
    scipy("besselpoly", plus, 1.5, 2.5),
    entry("i0", np.i0, two, single=False),
]

AIRY = [
    elementwise("airy", two, is_complex=True),
    elementwise("airye", plus),
    scipy("itairy", plus, rtol=1e-5),
    elementwise("kelvin", plus, single=False),
    *each_of("ber bei berp beip ker kei kerp keip", plus),
    *all_of("struve modstruve", 0.5, plus),
    *all_of("itstruve0 it2struve0 itmodstruve0", plus, rtol=1e-5),
]

INTEGRALS = [
    *each_of("exp1 expi spence", plus, is_complex=True),
    *(scipy("expn", n, plus) for n in (0, 1, 3)),
    *each_of("sici shichi", plus, is_complex=True),
    elementwise("fresnel", two, is_complex=True),
    *each_of("modfresnelp modfresnelm", plus, single=False),
]

ELLIPTIC = [
    *each_of("ellipk ellipe", real(2, 3, low=-0.9, high=0.9)),
    elementwise("ellipkm1", real(2, 3, low=0.1, high=1.5)),
    *each_of("ellipkinc ellipeinc", two, real(2, 3, low=-0.9, high=0.9)),
    scipy("ellipkinc", two, np.array([0.0, 1e-3, -1e-2]), single=False),
    entry("special.ellipkinc in small m", lambda phi, m: special.ellipkinc(phi, m / 100), two, two, device=False),
    entry("special.ellipeinc in small m", lambda phi, m: special.ellipeinc(phi, m / 100), two, two, device=False),
    elementwise("ellipj", two, unit, rtol=1e-5),
    elementwise("elliprc", plus, beyond_one),
    elementwise("elliprf", plus, plus, plus),
    elementwise("elliprd", plus, real(2, 3, low=2, high=3), real(2, 3, low=4, high=5)),
    elementwise("elliprg", plus, plus, plus),
    elementwise("agm", plus, plus),
    scipy("elliprj", plus, plus, plus, real(2, 3, low=3, high=4)),
    scipy("elliprc", plus, real(2, 3, low=-2, high=-1)),
    entry("special.elliprc of close numbers", lambda x, y: special.elliprc(x, x + y / 20), plus, two, device=False),
]

HYPERGEOMETRIC = [
    scipy("hyp0f1", 1.5, plus),
    scipy("hyp1f1", 1.5, 2.5, unit, is_complex=True),
    scipy("hyp2f1", 1.5, 0.5, 2.5, unit),
    scipy("hyperu", 1.5, 0.7, plus),
    *all_of("wright_bessel log_wright_bessel", 1.5, 0.7, plus),
]

POLYNOMIALS = [
    *(
        scipy("eval_" + name, n, *rest, unit)
        for n in (0, 3)
        for name, *rest in (
            ("jacobi", 0.5, 1.5),
            ("sh_jacobi", 2.5, 1.5),
            ("gegenbauer", 0.7),
            ("legendre",),
            ("sh_legendre",),
            ("chebyt",),
            ("chebyu",),
            ("chebyc",),
            ("chebys",),
            ("sh_chebyt",),
            ("sh_chebyu",),
            ("laguerre",),
            ("genlaguerre", 0.5),
        )
    ),
    scipy("eval_legendre", np.array([0, 1, 4]), unit),
    scipy("eval_chebyt", 2.5, unit),
    *all_of("eval_hermite eval_hermitenorm", 3, two, single=False),
    *all_of("eval_hermite eval_hermitenorm", 0, two, single=False),
    scipy("lpmv", 1, 2.5, unit),
    *(scipy("sph_harm_y", n, m, plus, two) for n, m in ((0, 0), (3, 1), (3, -3), (2, 2))),
]

WAVES = [
    *all_of("pbdv pbvv", 1.5, plus),
    scipy("pbwa", 1.5, plus, rtol=1e-5),
    # SciPy's float32 versions of these give NaN, or never return
    *all_of("mathieu_cem mathieu_sem", 2, 0.7, real(2, 3, low=-80, high=80), rtol=1e-5, single=False),
    *all_of("mathieu_modcem1 mathieu_modcem2 mathieu_modsem1 mathieu_modsem2", 2, 0.7, plus, rtol=1e-5, single=False),
    *all_of("pro_ang1 obl_ang1", 1, 2, 0.7, unit, rtol=1e-5, single=False),
    *all_of("pro_rad1", 1, 2, 3.0, beyond_one, rtol=1e-5, single=False),
    *all_of("obl_rad1", 1, 2, 3.0, plus, rtol=1e-5, single=False),
    *all_of("pro_ang1_cv", 1, 2, 0.7, float(special.pro_cv(1, 2, 0.7)), unit, rtol=1e-5, single=False),
    *all_of("obl_ang1_cv", 1, 2, 0.7, float(special.obl_cv(1, 2, 0.7)), unit, rtol=1e-5, single=False),
    *all_of("pro_rad1_cv", 1, 2, 3.0, float(special.pro_cv(1, 2, 3.0)), beyond_one, rtol=1e-5, single=False),
    *all_of("obl_rad1_cv", 1, 2, 3.0, float(special.obl_cv(1, 2, 3.0)), plus, rtol=1e-5, single=False),
]

SUMS = [
    scipy("logsumexp", real(2, 3), exact=False, is_complex=True),
    scipy("softmax", real(2, 3), exact=False),
    scipy("log_softmax", real(2, 3), exact=False),
    entry(
        "special.logsumexp, weighted",
        lambda a, b: traceable(special.logsumexp)(a, axis=1, b=b),
        real(2, 3),
        positive(3),
        exact=False,
    ),
]

ENTRIES = [
    *NORMAL,
    *GAMMA,
    *DISTRIBUTIONS,
    *ELEMENTARY,
    *BESSEL,
    *AIRY,
    *INTEGRALS,
    *ELLIPTIC,
    *HYPERGEOMETRIC,
    *POLYNOMIALS,
    *WAVES,
    *SUMS,
]
