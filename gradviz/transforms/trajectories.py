"""Solutions of ordinary differential equations as functions of where they start, of parameters, and of times.

A solver's steps are taken again, with the arrays that are being differentiated: first it runs on plain numbers and says where its steps
end, then these steps are plain NumPy arithmetic with a Runge-Kutta formula. So the gradient is that of the discrete solution to the last
bit, of any order and in both modes, and agrees with differences of the solver's own solution to its tolerance (discretize, then
differentiate). The choice of steps is not differentiated. Formulas: Hairer, Nørsett and Wanner, *Solving Ordinary Differential
Equations*, I (1993) and II (1996).

Steps end at every time that was asked for. Between two of these times they divide the interval in fixed proportions, so that they move
along when the times do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gradviz.engine.array import bottom
from gradviz.errors import ConvergenceError
from gradviz.transforms.implicit import custom_root
from gradviz.transforms.jacobian import jacobian

Slope = Callable[..., Any]  # (t, y) -> dy/dt, a vector
Step = Callable[[Slope, Any, Any, Any], Any]  # (slope, t, h, y) -> y at t + h

NEWTON_STEPS = 20


class Formula(NamedTuple):
    """A Runge-Kutta formula in Butcher's notation: nodes, weights of earlier stages, weights of the result."""

    nodes: Any
    stages: Any
    result: Any


# Radau IIA of order 5: stable however stiff the equation, and its last stage is the result (II, table IV.5.6)
R = np.sqrt(6.0)
RADAU = Formula(
    np.array([(4 - R) / 10, (4 + R) / 10, 1.0]),
    np.array(
        [
            [(88 - 7 * R) / 360, (296 - 169 * R) / 1800, (-2 + 3 * R) / 225],
            [(296 + 169 * R) / 1800, (88 + 7 * R) / 360, (-2 - 3 * R) / 225],
            [(16 - R) / 36, (16 + R) / 36, 1 / 9],
        ]
    ),
    None,
)


def explicit(formula: Formula) -> Step:
    """Steps by a formula whose stages follow from earlier ones."""

    def step(slope: Slope, t: Any, h: Any, y: Any) -> Any:
        slopes = [slope(t, y)]
        for k in range(1, len(formula.nodes)):
            move = np.tensordot(formula.stages[k][:k], np.stack(slopes), 1)
            slopes.append(slope(t + formula.nodes[k] * h, y + h * move))
        return y + h * np.tensordot(formula.result, np.stack(slopes), 1)

    return step


def radau(slope: Slope, t: Any, h: Any, y: Any) -> Any:
    """A step of Radau IIA: its stages solve an equation, and have the derivatives that this gives them."""

    def equation(moves: Any, t: Any, h: Any, y: Any) -> Any:
        slopes = np.stack([slope(t + RADAU.nodes[k] * h, y + moves[k]) for k in range(3)])
        return moves - h * np.matmul(RADAU.stages, slopes)

    def newton(moves: Any, t: Any, h: Any, y: Any) -> Any:
        def at(x: Any) -> Any:
            return np.ravel(equation(np.reshape(x, moves.shape), t, h, y))

        x = np.ravel(moves)
        matrix = jacobian(at)(x)
        for _ in range(NEWTON_STEPS):
            change = np.linalg.solve(matrix, at(x))
            x = x - change
            size = np.max(np.abs(change))
            if size <= 1e-13 * (1.0 + np.max(np.abs(y))):
                return np.reshape(x, moves.shape)
            if size > 1e-4:
                matrix = jacobian(at)(x)
        raise ConvergenceError(
            f"the equation of a step of Radau's formula from t = {t} was not solved in {NEWTON_STEPS} steps"
        )

    start = np.zeros((3, *np.shape(y)))
    return y + custom_root(equation)(newton)(start, t, h, y)[2]


def along(slope: Slope, step: Step, times: Sequence[Any], ends: Any, y: Any) -> list[Any]:
    """The solution at each of ``times``, of which the first is where ``y`` is; ``ends`` are plain times at which steps end."""
    made = [y]
    plain = [float(bottom(time)) for time in times]
    for k in range(1, len(times)):
        here, there = plain[k - 1], plain[k]
        if there != here:
            y = across(slope, step, times[k - 1], times[k], shares(ends, here, there), y)
        else:
            y = y + (times[k] - times[k - 1]) * slope(times[k], y)  # nothing, but the times may part
        made.append(y)
    return made


def shares(ends: Any, here: float, there: float) -> Any:
    """Where steps divide the way from ``here`` to ``there``, as parts of it from 0 to 1."""
    parts = (np.asarray(ends) - here) / (there - here)
    return np.concatenate([[0.0], np.sort(parts[(parts > 1e-9) & (parts < 1 - 1e-9)]), [1.0]])


def across(slope: Slope, step: Step, here: Any, there: Any, parts: Any, y: Any) -> Any:
    """The solution at ``there`` from ``y`` at ``here``."""
    way = there - here
    for k in range(len(parts) - 1):
        y = step(slope, here + parts[k] * way, float(parts[k + 1] - parts[k]) * way, y)
    return y
