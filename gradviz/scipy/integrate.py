"""`scipy.integrate` for traced arrays: rules for samples (`gradviz.rules.scipy.integrate`), integrals, and initial value problems."""

from __future__ import annotations

from scipy import integrate

from gradviz.rules.scipy import integrate as rules  # noqa: F401 - fills the table
from gradviz.scipy.initial_values import odeint, solve_ivp
from gradviz.scipy.namespace import attribute_of
from gradviz.scipy.quadrature import dblquad, fixed_quad, nquad, quad, quad_vec

__getattr__ = attribute_of(integrate)


def __dir__() -> list[str]:
    return sorted({*globals(), *dir(integrate)})


__all__ = ["dblquad", "fixed_quad", "nquad", "odeint", "quad", "quad_vec", "solve_ivp"]
