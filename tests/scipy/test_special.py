"""Does `scipy.special` differentiate as JAX does, and does it say so where it cannot?"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.special

import gradviz as gv
from gradviz.engine.rule import COMPOSED, RULES
from gradviz.errors import MissingRuleError, NotDifferentiableError
from gradviz.scipy import special

X = np.array([0.3, 0.6, 0.8])
Y = np.array([1.4, 0.7, 2.2])

AS_JAX = {
    **dict.fromkeys(["erf", "erfc", "erfinv", "ndtr", "log_ndtr", "ndtri", "expit", "logit", "entr"], (X,)),
    **dict.fromkeys(["gamma", "gammaln", "digamma", "exp1", "expi", "i0", "i1", "i0e", "i1e", "spence"], (X,)),
    **dict.fromkeys(["beta", "betaln", "xlogy", "xlog1py", "rel_entr", "kl_div", "poch"], (X, Y)),
    "logsumexp": (X,),
    "softmax": (X,),
    "log_softmax": (X,),
    "sici": (X,),
    "fresnel": (X,),
}


@pytest.mark.parametrize("name", AS_JAX)
def test_as_jax(name):
    import jax

    args = AS_JAX[name]
    weights = np.array([1.0, -2.0, 0.5])

    def loss(m, function):
        def total(*xs):
            out = function(*xs)
            return sum(m.sum(weights * o) for o in (out if isinstance(out, tuple) else (out,)))

        return total

    every = tuple(range(len(args)))
    with jax.enable_x64(True):
        want = jax.grad(loss(jax.numpy, getattr(jax.scipy.special, name)), every)(*map(jax.numpy.asarray, args))
    got = gv.grad(loss(np, getattr(special, name)), every)(*args)
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("jv", "v"),
        ("betainc", "a"),
        ("gammainc", "a"),
        ("expn", "n"),
        ("stdtr", "df"),
        ("eval_legendre", "n"),
        ("hyp2f1", "c"),
    ],
)
def test_a_parameter_without_a_closed_form_is_named(name, parameter):
    function = getattr(scipy.special, name)
    rule = RULES[function]
    position = rule.parameters.index(parameter)
    args = [0.5] * len(rule.parameters)
    with pytest.raises(NotDifferentiableError, match=f"{name} has no derivative with respect to '{parameter}'"):
        gv.grad(function, position)(*args)
    with pytest.raises(NotDifferentiableError, match=f"{name} has no derivative with respect to '{parameter}'"):
        gv.jvp(lambda x: function(*args[:position], x, *args[position + 1 :]), (0.5,), (1.0,))


def test_airye_of_complex_numbers_is_refused():
    with pytest.raises(NotDifferentiableError, match=r"Use special\.airy"):
        gv.vjp(lambda z: scipy.special.airye(z)[0], 1 + 1j)[1](1.0 + 0j)


def test_what_has_no_rule_says_so():
    with pytest.raises(MissingRuleError, match=r"scipy\.special\.zetac has no derivative"):
        gv.grad(special.zetac)(2.0)
    with pytest.raises(MissingRuleError, match=r"scipy\.special\.ellip_harm has no derivative"):
        gv.grad(lambda s: special.ellip_harm(1.0, 2.0, 1, 1, s))(0.5)


def test_most_ufuncs_have_a_derivative():
    ufuncs = [f for name in dir(scipy.special) if isinstance(f := getattr(scipy.special, name), np.ufunc)]
    assert sum(u in RULES or u in COMPOSED for u in ufuncs) >= 195


def test_plain_arrays_give_what_scipy_gives():
    np.testing.assert_array_equal(special.logsumexp(X), scipy.special.logsumexp(X))
    assert special.erf is scipy.special.erf
