"""How cotangents add up: nothing, part of an array, or a whole array that is shared or ours alone.

A variable's cotangent is in one of four states: zero (``None``), indexed (`Indexed`), borrowed (a dense array somebody else may
hold too) or owned (nobody else holds it, so others are added in place). Ownership is not declared by rules. It is asked of CPython
at the moment it matters: an array that only we refer to may be written to. A rule that hands out a saved value, its own argument
or a view of either is therefore safe, whatever its author thought.
"""

from __future__ import annotations

import sys
from operator import getitem
from typing import Any

import numpy as np

from gradviz.engine.rule import Like, Rule, Step, like

ndarray = np.ndarray


class Indexed:
    """A cotangent that is zero outside one or several parts of the variable.

    ``parts`` holds (views, value): apply the views to a whole array, one after the other, and the value belongs there. The last
    view may be any index, repeated positions included, which then add up.
    """

    __slots__ = ("like", "parts")

    def __init__(self, like: Like, value: Any, view: tuple[Rule, tuple[Any, ...]]) -> None:
        self.like = like
        self.parts: list[tuple[tuple[tuple[Rule, tuple[Any, ...]], ...], Any]] = [((view,), value)]

    def behind(self, like: Like, view: tuple[Rule, tuple[Any, ...]]) -> Indexed | None:
        """The same cotangent, of the array that ``view`` was taken of; None where a view of a view could be a copy."""
        if view[0].function not in STACKING and any(views[0][0].function in RESHAPING for views, _ in self.parts):
            return None
        seen = Indexed.__new__(Indexed)
        seen.like = like
        seen.parts = [((view, *views), value) for views, value in self.parts]
        return seen

    def dense(self) -> Any:
        """The whole array, owned."""
        value = self.parts[0][1]
        whole = zeros(self.like, value)
        for views, value in self.parts:
            whole = add_part(whole, views, value)
        return whole

    @property
    def useful_nbytes(self) -> int:
        return sum(value.nbytes for _, value in self.parts)


RESHAPING: set[Any] = {np.reshape, np.ravel}  # views only of contiguous memory
STACKING: set[Any] = {np.reshape, np.ravel, np.expand_dims, np.squeeze}  # keep contiguous memory contiguous


class Picked:
    """The cotangent of one output of a function that returns several."""

    __slots__ = ("count", "k", "value")

    def __init__(self, k: int, count: int, value: Any) -> None:
        self.k, self.count, self.value = k, count, value


def zeros(shape: Like, near: Any) -> Any:
    """Writable zeros of that shape and dtype, on the device of ``near``."""
    if isinstance(near, (ndarray, np.generic)):
        return np.zeros(*shape)
    return np.zeros(*shape, like=near)


def _references(array: Any) -> int:
    return sys.getrefcount(array)


# What `_references` answers for an array that one local variable of the asking function holds. CPython 3.11 to 3.13 say 3;
# later versions borrow some references, so it is measured.
def _measure() -> int:
    mine = np.empty(1)
    return _references(mine)


ALONE = _measure()


def owned(array: Any, extra: int = 0) -> bool:
    """Whether only the asking function's variable and ``extra`` other references lead to this memory, and it can be written to."""
    if _references(array) > ALONE + 1 + extra:
        return False
    if type(array) is not ndarray:
        check = getattr(array, "_owned", None)
        return check is not None and check()
    if 0 in array.strides or not array.flags.writeable:
        return False
    base = array.base
    while base is not None:
        if type(base) is not ndarray or _references(base) > ALONE + 1:
            return False
        base = base.base
    return True


def own(array: Any) -> Any:
    """``array`` itself if only the asking function's variable leads to it, else a copy."""
    if type(array) is Indexed:
        return array.dense()
    return array if owned(array, 1) else array.copy()


def add(cts: list[Any], variable: int, new: Any) -> None:
    """Add a cotangent to what has arrived at a variable so far."""
    old = cts[variable]
    kind = type(new)
    if kind is Picked:
        if old is None:
            old = cts[variable] = [None] * new.count
        add(old, new.k, new.value)
    elif old is None:
        cts[variable] = new
    elif kind is Indexed:
        if type(old) is Indexed:
            whole, parts = old.dense(), new.parts
            cts[variable] = old = None
        elif owned(old, 1):
            whole, parts = old, new.parts
        else:
            whole, parts = old.copy(), new.parts
            cts[variable] = old = None
        for views, value in parts:
            whole = add_part(whole, views, value)
        cts[variable] = whole
    elif kind is list:
        for k, value in enumerate(new):
            if value is not None:
                add(old, k, value)
    elif type(old) is Indexed:
        cts[variable] = new = new if owned(new, 1) else new.copy()
        for views, value in old.parts:
            cts[variable] = add_part(new, views, value)
    elif type(old) is ndarray and old.ndim and owned(old, 1):
        np.add(old, new, out=old)
    elif kind is ndarray and new.ndim and new.shape == old.shape and owned(new, 1):
        np.add(old, new, out=new)
        cts[variable] = new
    else:
        cts[variable] = old + new


def pass_on(step: Step, record: tuple[Any, ...], ct: Indexed, cts: list[Any]) -> bool:
    """Hand an indexed cotangent on through a view as it is, where that is possible."""
    if not step.view:
        return False
    behind = ct.behind(record[3], (step.rule, record[2]))
    if behind is None:
        return False
    add(cts, record[1], behind)
    return True


def add_part(whole: Any, views: tuple[tuple[Rule, tuple[Any, ...]], ...], value: Any) -> Any:
    """Add ``value`` to a part of ``whole``, in place where that is possible, and give the result."""
    if not whole.shape:
        return whole + value.reshape(())
    target = whole
    for rule, rest in views[:-1]:
        target = rule.run(target, *rest)
    rule, rest = views[-1]
    if rule.function is not getitem:
        target = rule.run(target, *rest)
        target += value
        return whole
    index = rest[0]
    if may_repeat(index):
        add_at(target, index, value)
    else:
        target[index] += value
    return whole


def may_repeat(index: Any) -> bool:
    """Whether an index can name one position twice: only integer arrays and lists can."""
    if type(index) is tuple:
        return any(may_repeat(i) for i in index)
    if index is None or index is Ellipsis or isinstance(index, (int, np.integer, slice)):
        return False
    dtype = getattr(index, "dtype", None)
    if dtype is None:
        dtype = np.asarray(index).dtype
    return dtype.kind != "b" and getattr(index, "size", 2) > 1


def add_at(target: Any, index: Any, value: Any) -> None:
    """``np.add.at``; CuPy's takes no complex numbers, so there the two halves go separately."""
    if type(target) is not ndarray and target.dtype.kind == "c":
        np.add.at(target.real, index, value.real)
        np.add.at(target.imag, index, value.imag)
    else:
        np.add.at(target, index, value)


def fit(ct: Any, shape: Like) -> Any:
    """Undo broadcasting and type promotion: sum the cotangent down to the input's shape, and give it the input's dtype.

    The cotangent of a real input is real: the imaginary part of what arrives would change nothing in it.
    """
    if type(ct) is Indexed:
        if ct.like == shape:
            return ct
        ct = ct.dense()
    if ct is None:
        return None
    want, dtype = shape
    if ct.shape != want:
        ct = unbroadcast(ct, want)
    if ct.dtype != dtype:
        if ct.dtype.kind == "c" and (dtype is float or (dtype is not complex and dtype.kind != "c")):
            ct = ct.real
        if dtype is not float and dtype is not complex and ct.dtype != dtype:
            ct = ct.astype(dtype)
    return ct


def unbroadcast(ct: Any, shape: tuple[int, ...]) -> Any:
    """Sum over the axes along which an array of ``shape`` was repeated to get the shape of ``ct``."""
    lead = ct.ndim - len(shape)
    if lead < 0:
        return np.broadcast_to(ct, shape)
    axes = (*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 and ct.shape[lead + i] != 1))
    if axes:
        ct = np.sum(ct, axis=axes, keepdims=True)
        ct = ct[(0,) * lead] if lead else ct
    return ct if ct.shape == shape else np.broadcast_to(ct, shape)


__all__ = ["ALONE", "Indexed", "Picked", "add", "add_at", "add_part", "fit", "like", "own", "owned", "unbroadcast", "zeros"]
