"""Did a function draw random numbers while it was captured? A plan would repeat them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from gradviz.errors import CaptureError
from gradviz.plan.capture.references import References


class Randomness:
    """The state of all sources of random numbers that a function can reach by name."""

    def __init__(self, references: References) -> None:
        self.references = references
        self.before = self._states()

    def check(self) -> None:
        """Refuse a function that has drawn numbers since."""
        drawn = [name for name, state in self._states().items() if state != self.before.get(name)]
        if drawn or self.references.unseeded:
            where = self.references.draws[0] if self.references.draws else ""
            raise CaptureError(
                f"random numbers were drawn inside a compiled function, from {(drawn or self.references.unseeded)[0]}"
                f"{f', at {where}' if where else ''}: a plan would repeat those it was captured with. Draw them before the call and "
                f"pass them as an array."
            )

    def _states(self) -> dict[str, Any]:
        states: dict[str, Any] = {
            "np.random": repr_of(np.random.get_state(legacy=False)),  # noqa: NPY002 - it is what programs draw from
            "random": hash(random.getstate()),
        }
        for found in self.references.generators:
            generator = found.value
            state = (
                generator.bit_generator.state
                if isinstance(generator, np.random.Generator)
                else generator.get_state(legacy=False)
            )
            states[found.name] = repr_of(state)
        return states


def repr_of(state: Any) -> Any:
    """A state in a form that can be compared."""
    if isinstance(state, dict):
        return {key: repr_of(value) for key, value in state.items()}
    return state.tobytes() if isinstance(state, np.ndarray) else state
