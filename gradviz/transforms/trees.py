"""How arguments made of dicts, lists, tuples, dataclasses and None are taken apart and put together again (optree)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import optree

from gradviz.engine.array import Array
from gradviz.errors import NotDifferentiableError

NAMESPACE = "gradviz"
_seen: set[type] = set()


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Leaves and structure. Dataclasses are entered as they are met; None has no leaves."""
    if type(tree) is np.ndarray or isinstance(tree, Array):
        return [tree], None
    while True:
        leaves, structure = optree.tree_flatten(tree, namespace=NAMESPACE)
        fresh = {type(leaf) for leaf in leaves if dataclasses.is_dataclass(type(leaf)) and type(leaf) not in _seen}
        if not fresh:
            return leaves, structure
        for kind in fresh:
            _register(kind)


def unflatten(structure: Any, leaves: list[Any]) -> Any:
    """The tree of that structure with other leaves."""
    return leaves[0] if structure is None else optree.tree_unflatten(structure, leaves)


def tree_map(function: Any, tree: Any) -> Any:
    """The tree with ``function`` applied to each leaf."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [function(leaf) for leaf in leaves])


def paths(tree: Any) -> list[str]:
    """Where each leaf stands, as one would write it: ``['w'][0]``."""
    if type(tree) is np.ndarray or isinstance(tree, Array):
        return [""]
    accessors = optree.tree_accessors(tree, namespace=NAMESPACE)
    return [accessor.codify("") for accessor in accessors]


def _register(kind: type) -> None:
    names = [field.name for field in dataclasses.fields(kind)]

    def take_apart(value: Any) -> tuple[list[Any], None, list[str]]:
        return [getattr(value, name) for name in names], None, names

    def put_together(_: Any, children: Any) -> Any:
        made = object.__new__(kind)
        for name, child in zip(names, children, strict=True):
            object.__setattr__(made, name, child)
        return made

    _seen.add(kind)
    optree.register_pytree_node(kind, take_apart, put_together, namespace=NAMESPACE)


def check_leaf(leaf: Any, name: Callable[..., str], *place: Any) -> None:
    """A leaf must be a floating or complex number or array, else the error names it, as ``name(*place)``."""
    if isinstance(leaf, (float, complex)):
        return
    dtype = getattr(leaf, "dtype", None)
    if dtype is not None and getattr(dtype, "kind", "") in "fc":
        return
    where = name(*place)
    if isinstance(leaf, (bool, int)) or dtype is not None:
        kind = dtype if dtype is not None else type(leaf).__name__
        raise NotDifferentiableError(
            f"{where} is of type {kind}: derivatives are taken with respect to floating or complex numbers. "
            f"Pass {'x.astype(float)' if np.shape(leaf) else f'{int(leaf)}.0'}, or leave it out of argnums."
        )
    raise NotDifferentiableError(
        f"{where} is a {type(leaf).__name__}, which cannot be differentiated. Put arrays and numbers into dicts, lists, tuples or "
        f"dataclasses, or leave the argument out of argnums."
    )
