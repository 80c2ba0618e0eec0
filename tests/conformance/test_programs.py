"""Are the problems of GradBench differentiated rightly: against central differences, and mode against mode? (JAX: `make conformance`.)"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import gradviz as gv
from tests.conformance.programs import PROGRAMS
from tests.conformance.programs.against_jax import weighted
from tests.conformance.programs.clustering import cost
from tests.conformance.programs.nested import MODES, particle, saddle


@pytest.fixture(params=PROGRAMS, ids=lambda program: program.name)
def program(request):
    return request.param


def test_gradient_as_by_differences(program):
    args, f = program.make(), weighted(program, np)
    rng = np.random.default_rng(1)
    steps = [rng.normal(size=np.shape(x)) for x in args]
    ahead, behind = (f(*(x + h * step for x, step in zip(args, steps, strict=True))) for h in (1e-6, -1e-6))
    gradients = gv.grad(f, tuple(range(len(args))))(*args)
    along = sum(np.sum(g * step) for g, step in zip(gradients, steps, strict=True))
    assert along == pytest.approx((ahead - behind) / 2e-6, rel=1e-5)
    assert gv.jvp(f, args, tuple(steps))[1] == pytest.approx(along, rel=1e-9)


def test_jacobian_by_either_mode(program):
    args = program.make()
    by_rows, by_columns = (
        gv.jacobian(lambda x: program.function(np, x, *args[1:]), mode=mode)(args[0]) for mode in ("reverse", "forward")
    )
    np.testing.assert_allclose(by_rows, by_columns, rtol=1e-9, atol=1e-9)


def test_newton_direction_of_kmeans():
    """The Hessian is diagonal, so one product with ones is all of it."""
    centres = np.random.default_rng(4).normal(size=(5, 4))
    diagonal = gv.hvp(lambda c: cost(np, c), (centres,), (np.ones_like(centres),))
    full = gv.hessian(lambda c: cost(np, c))(centres).reshape(20, 20)
    np.testing.assert_allclose(np.diag(full), diagonal.reshape(-1))
    assert np.count_nonzero(full - np.diag(np.diag(full))) == 0


@pytest.mark.parametrize("modes", [a + b for a, b in itertools.product(MODES, MODES)])
def test_particle(modes):
    assert particle(*modes) == pytest.approx(particle("r", "f"), rel=1e-9)


@pytest.mark.parametrize("modes", [a + b for a, b in itertools.product(MODES, MODES)])
def test_saddle(modes):
    np.testing.assert_allclose(saddle(*modes), np.zeros(4), atol=1e-4)
