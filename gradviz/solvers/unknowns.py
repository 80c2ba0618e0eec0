"""A tree of unknowns, and the real vector that a solver works with in its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy

from gradviz.transforms.trees import check_leaf, flatten, paths, unflatten

if TYPE_CHECKING:  # SciPy brings a part in when it is first named, so that `import gradviz` need not wait 0.14 s for it
    import scipy.optimize


class Part(NamedTuple):
    """Where one leaf lies in the vector; complex ones as all real parts, then all imaginary ones."""

    start: int
    size: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    number: bool

    @property
    def stop(self) -> int:
        """The end of its entries."""
        return self.start + self.size * (2 if self.dtype.kind == "c" else 1)


class Unknowns:
    """The structure of ``x0``.

    Attributes
    ----------
    start : ``x0`` as a vector of doubles
    """

    def __init__(self, x0: Any, name: str) -> None:
        leaves, self.structure = flatten(x0)
        where = paths(x0)
        for k, leaf in enumerate(leaves):
            check_leaf(leaf, lambda k: f"x0{where[k]} of {name}", k)
        self.parts: list[Part] = []
        at = 0
        for leaf in leaves:
            value = np.asarray(leaf)
            part = Part(at, value.size, value.shape, value.dtype, not isinstance(leaf, np.ndarray))
            self.parts.append(part)
            at = part.stop
        self.where = where
        self.start = self.vector(x0)

    def vector(self, tree: Any) -> np.ndarray:
        """A tree of the structure of ``x0`` as a vector of doubles."""
        pieces: list[Any] = [np.empty(0)]
        for leaf in flatten(tree)[0]:
            flat: Any = np.ravel(leaf)
            pieces += [flat.real, flat.imag] if flat.dtype.kind == "c" else [flat]
        return np.concatenate(pieces).astype(float)

    def tree(self, vector: Any) -> Any:
        """A vector, also one that is being traced, in the structure, shapes and dtypes of ``x0``."""
        return unflatten(self.structure, [self._leaf(vector, part) for part in self.parts])

    def of_vector(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """``f`` as a function of the vector."""

        def of_vector(vector: Any, *args: Any) -> Any:
            return f(self.tree(vector), *args)

        of_vector.__name__ = getattr(f, "__name__", "f")
        return of_vector

    def pairs(self, given: Any) -> Any:
        """Bounds as `scipy.optimize.minimize` takes them; they may be a tree like ``x0`` with a pair (low, high) or None at each leaf."""
        pairs = self._leaves(given)
        if pairs is None:
            return given
        ends = [(None, None) if pair is None else tuple(pair) for pair in pairs]
        return scipy.optimize.Bounds(
            self._limit([low for low, _ in ends], -np.inf), self._limit([high for _, high in ends], np.inf)
        )

    def limits(self, given: Any) -> Any:
        """Bounds as `scipy.optimize.least_squares` takes them; either side may be a tree like ``x0``."""
        if isinstance(given, scipy.optimize.Bounds):
            return given
        low, high = (self._leaves(side) for side in given)
        return (
            given[0] if low is None else self._limit(low, -np.inf),
            given[1] if high is None else self._limit(high, np.inf),
        )

    def _leaves(self, given: Any) -> list[Any] | None:
        """What stands in a tree where ``x0`` has leaves; None if it isn't one, or ``x0`` is a lone array."""
        if self.structure is None or isinstance(given, scipy.optimize.Bounds):
            return None
        try:
            return self.structure.flatten_up_to(given)
        except ValueError:
            return None

    def _limit(self, leaves: list[Any], none: float) -> Any:
        """One side of the bounds, as a vector."""
        limit = np.full(len(self.start), none)
        for part, bound, where in zip(self.parts, leaves, self.where, strict=True):
            if bound is None:
                continue
            if part.dtype.kind == "c":
                raise ValueError(f"x0{where} is complex and cannot have bounds: complex numbers have no order")
            limit[part.start : part.stop] = np.broadcast_to(bound, part.shape).ravel()
        return limit

    def _leaf(self, vector: Any, part: Part) -> Any:
        middle = part.start + part.size
        value = vector[part.start : middle]
        if part.dtype.kind == "c":
            value = value + 1j * vector[middle : part.stop]
        value = np.reshape(value, part.shape)
        if value.dtype != part.dtype:
            value = value.astype(part.dtype)
        return value[()] if part.number else value
