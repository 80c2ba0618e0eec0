"""A rule for one array, applied to a tree of parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.errors import OptimizerError
from gradviz.transforms.trees import flatten, paths, unflatten

Schedule = Callable[[Any], Any]
Rule = Callable[..., tuple[Any, ...]]


class Optimizer:
    """An update rule for trees of parameters. `sgd`, `adam`, `adamw`, `rmsprop` and `lion` make one.

    Attributes
    ----------
    init : makes the state that belongs to some parameters
    step : one update
    """

    def __init__(
        self, rule: Rule, begin: Callable[[Callable[..., Any]], Any], learning_rate: float | Schedule, name: str
    ) -> None:
        self._rule = rule
        self._begin = begin
        self._learning_rate = learning_rate
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def init(self, params: Any) -> Any:
        """The state before the first step: a named tuple with ``count`` and trees of zeros like ``params``.

        Parameters
        ----------
        params : floating or complex arrays or numbers, in dicts, lists, tuples or dataclasses
        """
        leaves, structure = flatten(params)
        for leaf, path in zip(leaves, paths(params), strict=True):
            if not floating(leaf):
                raise OptimizerError(
                    f"params{path} is of type {getattr(leaf, 'dtype', type(leaf).__name__)}: steps are taken in floating or complex "
                    f"numbers. Convert it with astype(float), or leave it out of the parameters."
                )
        return self._begin(lambda like=np.zeros_like: unflatten(structure, [zero(leaf, like) for leaf in leaves]))

    def step(self, params: Any, grads: Any, state: Any) -> tuple[Any, Any]:
        """One update, in place.

        Parameters
        ----------
        params : what is changed; its arrays are written into
        grads : gradients in the structure of ``params``
        state : what `init` or the step before returned; its arrays are written into

        Returns
        -------
        (params, state) : the same arrays in the same structures, with ``state.count`` one higher. The dtypes stay as they are;
            numbers that are no arrays come back as new ones of NumPy's.

        Raises
        ------
        OptimizerError : the three don't belong together
        """
        leaves, structure = flatten(params)
        given, grad_structure = flatten(grads)
        if not hasattr(state, "count"):
            raise OptimizerError(
                f"{self._name}.step takes (params, grads, state), with the state that init made; the third argument is a "
                f"{type(state).__name__}"
            )
        if structure != grad_structure:
            raise OptimizerError(
                f"grads holds {places(grads)}, params holds {places(params)}: a step needs one gradient for each parameter, in the same "
                f"structure. Take them with gv.grad of a function of params."
            )
        for k, (leaf, g) in enumerate(zip(leaves, given, strict=True)):
            if np.shape(leaf) != np.shape(g):
                raise OptimizerError(f"grads{paths(params)[k]} has shape {np.shape(g)}, its parameter {np.shape(leaf)}")
        kept = [flatten(tree)[0] for tree in state[1:]]
        if any(len(tree) not in (0, len(leaves)) for tree in kept):
            raise OptimizerError("the state belongs to other parameters: it has another number of arrays")
        rate = self._learning_rate(state.count) if callable(self._learning_rate) else self._learning_rate
        count = state.count + 1
        columns = [tree or [None] * len(leaves) for tree in kept]
        rows = [
            self._rule(count, weak(rate, p), p, g, *slots) for p, g, *slots in zip(leaves, given, *columns, strict=True)
        ]
        after = [list(column) for column in zip(*rows, strict=True)] or [[], *kept]
        trees = [
            unflatten(structure, column) if tree else old
            for tree, old, column in zip(kept, state[1:], after[1:], strict=True)
        ]
        return unflatten(structure, after[0]), type(state)(count, *trees)


def places(tree: Any) -> str:
    """The leaves of a tree, by where they stand."""
    names = paths(tree)
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "") or type(tree).__name__


def floating(leaf: Any) -> bool:
    """Whether a leaf is a floating or complex number or array."""
    kind = getattr(getattr(leaf, "dtype", None), "kind", None)
    return kind in ("f", "c") if kind else isinstance(leaf, (float, complex))


def zero(leaf: Any, like: Callable[..., Any]) -> Any:
    """What a sum over the steps begins with."""
    made = like(leaf if hasattr(leaf, "dtype") else np.asarray(leaf)[()])
    return made if isinstance(leaf, np.ndarray) or not hasattr(made, "__array__") else made[()]


def weak(number: Any, array: Any) -> Any:
    """A number in the precision of an array, so that a double one does not turn the array into doubles.

    NumPy's own numbers are not weak, as Python's are (NEP 50).
    """
    dtype = getattr(array, "dtype", None)
    if dtype is None or not hasattr(number, "dtype"):
        return number
    precision = np.finfo(dtype).dtype
    return number if number.dtype == precision else number.astype(precision)


def squared(x: Any) -> Any:
    """``|x|²`` of each entry, real."""
    return (x * np.conj(x)).real if np.iscomplexobj(x) else x * x


def real_zeros(leaf: Any) -> Any:
    """Zeros for squares: real where ``leaf`` is complex."""
    return np.zeros_like(leaf.real) if np.iscomplexobj(leaf) else np.zeros_like(leaf)
