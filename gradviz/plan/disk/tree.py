"""How the outputs of a plan make its result, as JSON: containers by kind, classes by their place among those that the function leads to."""

from __future__ import annotations

import dataclasses
from typing import Any

from gradviz.plan.disk.names import Damaged, Unnamed, told, value_of
from gradviz.transforms.trees import flatten, unflatten


class Leaf:
    """Stands for an output."""


LEAF = Leaf()


def told_structure(structure: Any, count: int, classes: list[type]) -> Any:
    """What `structure_of` makes the same structure of. Raises `Unnamed`."""
    return ["array"] if structure is None else told_tree(unflatten(structure, [LEAF] * count), classes)


def told_tree(tree: Any, classes: list[type]) -> Any:
    kind = type(tree)
    if kind is Leaf:
        return "*"
    if tree is None:
        return ["none"]
    if kind in (tuple, list):
        return [kind.__name__, *(told_tree(part, classes) for part in tree)]
    if kind is dict:
        return ["dict", *([told(key), told_tree(part, classes)] for key, part in tree.items())]
    if kind in classes and is_record(kind):
        return ["class", classes.index(kind), *(told_tree(part, classes) for part in parts_of(tree))]
    raise Unnamed(f"it returns a {kind.__qualname__}")


def is_record(kind: type) -> bool:
    """Whether a class is put together by its fields alone."""
    return dataclasses.is_dataclass(kind) or (issubclass(kind, tuple) and hasattr(kind, "_fields"))


def parts_of(record: Any) -> list[Any]:
    if isinstance(record, tuple):
        return list(record)
    return [getattr(record, field.name) for field in dataclasses.fields(record)]


def structure_of(said: Any, classes: list[type]) -> Any:
    """The structure that was told. Raises `Damaged`."""
    return None if said == ["array"] else flatten(tree_of(said, classes))[1]


def tree_of(said: Any, classes: list[type]) -> Any:
    match said:
        case "*":
            return 0.0
        case ["none"]:
            return None
        case ["tuple", *parts]:
            return tuple(tree_of(part, classes) for part in parts)
        case ["list", *parts]:
            return [tree_of(part, classes) for part in parts]
        case ["dict", *pairs]:
            return {value_of(key): tree_of(part, classes) for key, part in pairs}
        case ["class", int(k), *parts] if 0 <= k < len(classes) and is_record(classes[k]):
            return record_of(classes[k], [tree_of(part, classes) for part in parts])
    raise Damaged(said)


def record_of(kind: Any, parts: list[Any]) -> Any:
    names = getattr(kind, "_fields", None) or [field.name for field in dataclasses.fields(kind)]
    if len(names) != len(parts):
        raise Damaged(kind)
    if issubclass(kind, tuple):
        return tuple.__new__(kind, parts)
    made = object.__new__(kind)
    for name, part in zip(names, parts, strict=True):
        object.__setattr__(made, name, part)
    return made
