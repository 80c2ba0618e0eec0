"""How ``ufunc.at`` lets a place that is named several times count several times.

In the first round every place takes the first value meant for it, in the second its second one, and so on. Within a round no place
occurs twice, so each is one indexed update; the number of rounds is how often the commonest place is named.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.engine.array import Array


def update_in_rounds(ufunc: np.ufunc, target: Array, index: Any, values: tuple[Any, ...]) -> None:
    """``ufunc.at(target, index, *values)``: the value, or none for a ufunc of one argument."""
    places = np.atleast_1d(np.arange(target.size).reshape(target.shape)[index])
    values = tuple(np.broadcast_to(value, places.shape) for value in values)
    for which in rounds(places):
        where = np.unravel_index(places[which], target.shape)
        target[where] = ufunc(target[where], *(value[which] for value in values))


def rounds(places: Any) -> list[tuple[Any, ...]]:
    """Indices into ``places``: those that occur for the first time in the order of memory, for the second time, and so on."""
    flat = np.ravel(places)
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if flat.size else np.zeros(0, int)
    times = np.empty_like(flat)
    times[order] = np.arange(flat.size) - np.repeat(starts, np.diff(np.append(starts, flat.size)))
    return [np.nonzero(np.reshape(times, np.shape(places)) == k) for k in range(int(times.max(initial=-1)) + 1)]
