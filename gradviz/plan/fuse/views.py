"""Values that are parts of others: where they lie, without a call at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from gradviz.engine.entering import entering
from gradviz.plan.program.operation import filled, take
from gradviz.plan.simplify.block import Node, Value


class Place(NamedTuple):
    """Where a value lies: ``offset`` bytes into the memory of ``root``, with these strides in bytes."""

    root: Value
    offset: int
    strides: tuple[int, ...]


class Places(dict[Value, Place]):
    """Where each value lies; those that nobody has said anything about own their memory, in C order."""

    def __init__(self) -> None:
        super().__init__()
        self.copied: list[int] = []  # inputs that are copied first

    def arrive(self, inputs: Sequence[Value], layouts: Sequence[str]) -> None:
        """Enter how the entries of the inputs follow each other."""
        for n, (value, layout) in enumerate(zip(inputs, layouts, strict=False)):
            if layout == "F":
                turned = c_strides(value.meta._replace(shape=value.meta.shape[::-1]))
                self[value] = Place(value, 0, turned[::-1])
            elif layout == "any":
                self.copied.append(n)

    def __missing__(self, value: Value) -> Place:
        strides = np.shape(value.constant) and value.constant.strides if value.is_constant else c_strides(value.meta)
        self[value] = place = Place(value, 0, tuple(strides))
        return place

    def look(self, node: Node) -> bool:
        """Enter a node whose result is a view; False if it is none."""
        rule = VIEWS.get(node.function)
        if rule is None or not node.inputs:
            return False
        place = rule(node, self[node.inputs[0]])
        if place is not None:
            self[node.out] = place
        return place is not None


@lru_cache(maxsize=1024)
def c_strides(meta: Any) -> tuple[int, ...]:
    """Strides of an array in C order."""
    strides: list[int] = []
    step = meta.dtype.itemsize
    for n in reversed(meta.shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def layout_of(value: Any) -> str:
    """How the entries of an input follow each other: "C", "F", or "any"."""
    flags = getattr(value, "flags", None)
    if flags is None or flags.c_contiguous:
        return "C"
    return "F" if flags.f_contiguous else "any"


def is_contiguous(meta: Any, strides: tuple[int, ...]) -> bool:
    return all(n == 1 or s == t for n, s, t in zip(meta.shape, strides, c_strides(meta), strict=True))


VIEWS: dict[Any, Callable[[Node, Place], Place | None]] = {}
view = entering(VIEWS)  # where the result of a function lies, given where its first input does; None if it is no view


@view(np.reshape)
def reshaped(node: Node, place: Place) -> Place | None:
    x, meta = node.inputs[0].meta, node.out.meta
    if dict(node.kwargs).get("order", "C") != "C" or x.kind == "weak":
        return None
    if is_contiguous(x, place.strides):
        return place._replace(strides=c_strides(meta))
    kept = iter([s for n, s in zip(x.shape, place.strides, strict=True) if n != 1])
    if [n for n in x.shape if n != 1] == [n for n in meta.shape if n != 1]:
        return place._replace(strides=tuple(0 if n == 1 else next(kept) for n in meta.shape))
    return None


@view(np.transpose)
def transposed(node: Node, place: Place) -> Place:
    return place._replace(strides=tuple(place.strides[a] for a in node.args[1]))


@view(np.broadcast_to)
def broadcast(node: Node, place: Place) -> Place | None:
    x, shape = node.inputs[0].meta, node.out.meta.shape
    if x.kind == "weak" or x.dtype != node.out.meta.dtype:
        return None
    lead = len(shape) - len(x.shape)
    strides = tuple(0 if n == 1 else s for n, s in zip(x.shape, place.strides, strict=True))
    return place._replace(strides=(0,) * lead + strides)


@view(np.real, np.imag)
def half(node: Node, place: Place) -> Place | None:
    x = node.inputs[0].meta
    if x.dtype.kind != "c" or x.kind == "weak":
        return None
    return place._replace(offset=place.offset + (x.dtype.itemsize // 2 if node.function is np.imag else 0))


@view(take)
def taken(node: Node, place: Place) -> Place | None:
    """Parts by integers and slices."""
    x = node.inputs[0].meta
    if not all(v.is_constant and isinstance(v.constant, int) for v in node.inputs[1:]):
        return None
    index = filled(node.args[1], [None, *(v.constant for v in node.inputs[1:])])
    items = list(index) if type(index) is tuple else [index]
    if not all(i is None or i is Ellipsis or isinstance(i, (int, slice)) for i in items) or any(
        i is True or i is False for i in items
    ):
        return None
    if Ellipsis in items:
        at = items.index(Ellipsis)
        items[at : at + 1] = [slice(None)] * (len(x.shape) - sum(i is not None and i is not Ellipsis for i in items))
    items += [slice(None)] * (len(x.shape) - sum(i is not None for i in items))
    offset, strides, axis = place.offset, [], 0
    for item in items:
        if item is None:
            strides.append(0)
            continue
        n, stride = x.shape[axis], place.strides[axis]
        axis += 1
        if isinstance(item, int):
            offset += (item % n) * stride
            continue
        rows = range(n)[item]
        offset += (rows.start if len(rows) else 0) * stride
        strides.append(rows.step * stride)
    return place._replace(offset=offset, strides=tuple(strides))
