"""``axis``, ``axes`` and ``keepdims`` of generalized ufuncs, whose rules know products along the last axes only."""

from __future__ import annotations

from typing import Any

import numpy as np

Axes = tuple[int, ...]


def along_last(ufunc: np.ufunc, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``ufunc(*inputs, **options)`` by a call without these options, which are taken out: axes are moved to the end, and back."""
    axis, axes, keepdims = (options.pop(name, None) for name in ("axis", "axes", "keepdims"))
    if axis is None and axes is None and not keepdims:
        return ufunc(*inputs)
    *into, out = places_of(ufunc, inputs, axis, axes, bool(keepdims))
    made = ufunc(*(np.moveaxis(x, places, _last(places)) for x, places in zip(inputs, into, strict=True)))
    if keepdims:
        made = np.expand_dims(made, -1)
    return np.moveaxis(made, _last(out), out) if out else made


def places_of(ufunc: np.ufunc, inputs: tuple[Any, ...], axis: Any, axes: Any, keepdims: bool) -> list[Axes]:
    """For each argument, and for the result, where its own axes are, as NumPy understands the options."""
    *cores, result = _cores(str(ufunc.signature))
    if (axes is None or keepdims) and ({*cores} != {"n"} or result):
        raise TypeError(
            f"np.{ufunc.__name__} takes axes=, but no axis= and no keepdims=: its arguments have different axes"
        )
    if axes is not None and axis is not None:
        raise TypeError("cannot specify both 'axis' and 'axes'")
    if axes is None:
        axes = [-1 if axis is None else axis] * len(inputs)
    made = [tuple(entry) if isinstance(entry, (tuple, list)) else (entry,) for entry in axes]
    if len(made) == len(inputs) and not result:
        made.append(made[0] if keepdims else ())
    if len(made) != len(inputs) + 1:
        raise ValueError(f"np.{ufunc.__name__}: axes= has an entry for each argument and for the result")
    for x, places, core in zip(inputs, made[:-1], cores, strict=True):
        count = core.count(",") + 1
        if len(places) != (min(count, np.ndim(x)) if "?" in core else count):
            raise ValueError(f"np.{ufunc.__name__}: axes {places} for an argument with {count} axes of its own")
    return made


def _cores(signature: str) -> list[str]:
    """``(m,n),(n)->(m)`` as what stands in its brackets."""
    return [group.strip("()") for group in signature.replace("->", ",").replace("),(", ")|(").split("|")]


def _last(places: Axes) -> Axes:
    return tuple(range(-len(places), 0))
