"""How cotangents add up: nothing, part of an array, or a whole array that is shared or ours alone.

A variable's cotangent is in one of four states: zero (``None``), indexed (`Indexed`), borrowed (a dense array that somebody else may
hold too) or owned (`Owned`: others are added to it in place). Ownership is not declared by rules. When a second cotangent arrives,
CPython is asked whether anybody but us refers to the first. A rule that hands out a saved value, its own argument or a view of
either is therefore safe, whatever its author thought.
"""

from __future__ import annotations

import math
import sys
from operator import getitem
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from gradviz.devices.find import namespace
from gradviz.engine.like import Like, like

if TYPE_CHECKING:
    from gradviz.engine.rule import Rule
    from gradviz.engine.step import Step

ndarray = np.ndarray


class Indexed:
    """A cotangent that is zero outside one or several parts of the variable.

    ``parts`` holds (views, value): apply the views to a whole array, one after the other, and the value belongs there. The last
    view may be any index, repeated positions included, which then add up.
    """

    __slots__ = ("like", "parts")

    def __init__(self, like: tuple[tuple[int, ...], Any], value: Any, view: tuple[Rule, tuple[Any, ...]]) -> None:
        self.like = like
        self.parts: list[tuple[tuple[tuple[Rule, tuple[Any, ...]], ...], Any]] = [((view,), value)]

    def behind(self, like: tuple[tuple[int, ...], Any], view: tuple[Rule, tuple[Any, ...]]) -> Indexed | None:
        """The same cotangent, of the array that ``view`` was taken of; None where a view of a view could be a copy."""
        if view[0].function in SPREADING or (view[0].function is np.imag and not is_complex(like[1])):
            return None
        if view[0].function is getitem and not is_basic(view[1][0]):
            return None
        if view[0].function not in STACKING and any(views[0][0].function in RESHAPING for views, _ in self.parts):
            return None
        seen = Indexed.__new__(Indexed)
        seen.like = like
        seen.parts = [((view, *views), value) for views, value in self.parts]
        return seen

    def dense(self) -> Any:
        """The whole array, owned."""
        value = self.parts[0][1]
        whole = lifted(zeros(self.like, value), *self.parts)
        for views, value in self.parts:
            whole = add_part(whole, views, value)
        return whole

    @property
    def useful_nbytes(self) -> int:
        return sum(value.nbytes for _, value in self.parts)


class Owned:
    """A whole cotangent in memory of our own, which others are added to in place."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def dense(self) -> Any:
        return self.array

    def include(self, new: Any) -> None:
        """Add another cotangent of the same variable."""
        if type(new) is Indexed:
            for views, value in new.parts:
                self.array = add_part(self.array, views, value)
        else:
            self.array += new


RESHAPING: set[Any] = {np.reshape, np.ravel}  # views only of contiguous memory
STACKING: set[Any] = {np.reshape, np.ravel, np.expand_dims, np.squeeze}  # keep contiguous memory contiguous
SPREADING: set[Any] = {np.broadcast_to, np.diagonal}  # views that NumPy lets nobody write to


class Picked:
    """The cotangent of one output of a function that returns several."""

    __slots__ = ("count", "k", "value")

    def __init__(self, k: int, count: int, value: Any) -> None:
        self.k, self.count, self.value = k, count, value


def memory_of(array: Any) -> Any:
    """The array that owns the memory of ``array``, whatever its level."""
    while hasattr(array, "level"):
        array = array.value
    while (base := getattr(array, "base", None)) is not None and hasattr(base, "strides"):
        array = base
    return array


def zeros(shape: tuple[tuple[int, ...], Any], near: Any) -> Any:
    """Writable zeros of that shape and dtype, on the device of ``near``."""
    if isinstance(near, (ndarray, np.generic)):
        return np.zeros(*shape)
    return np.zeros(*shape, like=near)


def lifted(value: Any, *near: Any) -> Any:
    """A plain value as one that is captured for a plan, if any of the others is or holds such a one."""
    if isinstance(value, (ndarray, np.generic, float, complex)) and not hasattr(value, "lift"):
        for other in near:
            lift = getattr(other, "lift", None)
            if lift is not None:
                return lift(value)
            if type(other) in (tuple, list) and (made := lifted(value, *other)) is not value:
                return made
    return value


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
        if check is not None:
            return check()
        if not hasattr(array, "strides"):
            return False
    elif not array.flags.writeable:
        return False
    if 0 in array.strides:  # broadcast views; a device's are writable
        return False
    base = array.base
    while base is not None:
        if not hasattr(base, "base") or _references(base) > ALONE + 1:  # a buffer of somebody else
            return False
        base = base.base
    return True


def own(array: Any) -> Any:
    """``array`` itself if only the asking function's variable leads to it, else a copy.

    In the same layout, here and in `gather`: a sum over the copy must round as one over the array itself.
    """
    return array if owned(array, 1) else array.copy("K")


def add(cts: list[Any], variable: int, new: Any) -> None:
    """Add a cotangent to what has arrived at a variable so far.

    Neither this function nor those it calls may hold the older cotangent in more names than they say to `owned`.
    """
    was, kind = type(cts[variable]), type(new)
    if kind is Picked:
        if was is NoneType:
            cts[variable] = [None] * new.count
        add(cts[variable], new.k, new.value)
    elif was is NoneType:
        cts[variable] = new
    elif kind is list:
        for k, value in enumerate(new):
            if value is not None:
                add(cts[variable], k, value)
    elif was is Owned:
        cts[variable].include(new)
    elif was is Indexed or kind is Indexed:
        gather(cts, variable, new)
    else:
        add_dense(cts, variable, new)


def gather(cts: list[Any], variable: int, new: Any) -> None:
    """Add two cotangents of which one or both are indexed, in a whole array of our own."""
    old = cts[variable]
    if type(old) is not Indexed:
        mine = Owned(old if owned(old, 1) else old.copy("K"))
    elif type(new) is not Indexed:
        mine, new = Owned(new if owned(new, 1) else new.copy("K")), old
    else:
        mine = Owned(old.dense())
    mine.include(new)
    cts[variable] = mine


def add_dense(cts: list[Any], variable: int, new: Any) -> None:
    """Add two whole cotangents, in the memory of one of them if nobody else holds that."""
    old = cts[variable]
    if isinstance(old, np.generic) or not hasattr(old, "strides") or not old.shape or hasattr(old, "level"):
        cts[variable] = old + new
    elif owned(old, 1):
        cts[variable] = Owned(np.add(old, new, out=old))
    elif new.shape == old.shape and owned(new, 1):
        cts[variable] = Owned(np.add(old, new, out=new))
    else:
        cts[variable] = Owned(old + new)


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
        number = np.sum(value)
        return whole + (1j * number if any(rule.function is np.imag for rule, _ in views) else number)
    if len(views) == 1 and views[0][0].function is getitem and type(views[0][1][0]) is int:
        whole[views[0][1][0]] += value
        return whole
    target = whole
    for rule, rest in views[:-1]:
        target = rule.run(target, *rest)
    rule, rest = views[-1]
    if len(views) > 1 and memory_of(target) is not memory_of(whole):  # a layout of which no such view exists
        whole += add_part(zeros(like(whole), whole), views, value)
        return whole
    if rule.function is getitem:
        index = rest[0]
        if may_repeat(index):
            add_at(target, index, value)
        else:
            target[index] += value
        return whole
    if rule.function is np.broadcast_to:
        target += unbroadcast(value, target.shape)
        return whole
    if rule.function is np.diagonal and hasattr(whole, "level"):
        return whole + rule.pullbacks["a"](value, Like(*like(whole)), *rest)
    target = rule.run(target, *rest)
    if (type(target) is ndarray or hasattr(target, "lift")) and not target.flags.writeable:  # np.diagonal's views
        target.flags.writeable = True
    if memory_of(target) is not memory_of(whole):  # a layout of which no such view exists
        whole += add_part(zeros(like(whole), whole), views, value)
        return whole
    target += value
    return whole


def is_complex(dtype: Any) -> bool:
    """Whether a dtype, or a type of Python numbers, is complex."""
    return dtype is complex or (dtype is not float and dtype.kind == "c")


def is_basic(index: Any) -> bool:
    """Whether an index makes a view."""
    if type(index) is tuple:
        return all(is_basic(i) for i in index)
    return (
        index is None
        or index is Ellipsis
        or (isinstance(index, (int, np.integer, slice)) and index is not True and index is not False)
    )


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


CHUNK = 1 << 15  # positions expanded at a time; what is expanded then stays in the cache


def add_at(target: Any, index: Any, value: Any) -> None:
    """``np.add.at``, by its fast path (flat positions) for whole rows too."""
    if type(target) is not ndarray:
        add_at_on_device(target, index, value)
        return
    rows = row_numbers(index, target.shape) if type(value) is ndarray and target.flags.c_contiguous else None
    if rows is None or value.dtype != target.dtype:
        np.add.at(target, index, value)
        return
    axes = len(index) if type(index) is tuple else 1
    length = math.prod(target.shape[axes:])
    flat = target.reshape(-1)
    value = np.broadcast_to(value, rows.shape + target.shape[axes:]).reshape(rows.size, length)
    rows = rows.reshape(-1)
    if length == 1:
        np.add.at(flat, rows, value.reshape(-1))
        return
    step = max(1, CHUNK // max(length, 1))
    within = np.arange(length)
    for at in range(0, rows.size, step):
        places = rows[at : at + step, None] * length + within
        np.add.at(flat, places.reshape(-1), value[at : at + step].reshape(-1))


def add_at_on_device(target: Any, index: Any, value: Any) -> None:
    """As `add_at`, by atomic additions on the device.

    By way of NumPy CuPy takes an array as the index, and nothing else; its own ``add.at`` takes all. Neither takes complex
    numbers, whose halves therefore go one by one.
    """
    if hasattr(target, "level"):
        np.add.at(target, index, value)
        return
    add = namespace(target).add
    if target.dtype.kind == "c":
        add.at(target.real, index, value.real)
        if np.iscomplexobj(value):
            add.at(target.imag, index, value.imag)
    else:
        add.at(target, index, value)


def row_numbers(index: Any, shape: tuple[int, ...]) -> Any:
    """The rows that integer arrays for the leading axes name, counted as in memory; None for any other index."""
    parts = index if type(index) is tuple else (index,)
    arrays = [
        np.asarray(part) for part in parts if not isinstance(part, slice) and part is not None and part is not Ellipsis
    ]
    if len(arrays) < len(parts) or any(a.dtype.kind not in "iu" for a in arrays):
        return None
    rows: Any = 0
    for n, a in zip(shape, arrays, strict=False):
        rows = rows * n + np.where(a < 0, a + n, a)
    return rows


def fit(ct: Any, shape: tuple[tuple[int, ...], Any]) -> Any:
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
    if lead < 0:  # an assignment drops leading axes of length 1
        ct, lead = ct[(None,) * -lead], 0
    axes = (*range(lead), *(lead + i for i, n in enumerate(shape) if n == 1 and ct.shape[lead + i] != 1))
    if axes:
        ct = np.sum(ct, axis=axes, keepdims=True)
        ct = ct[(0,) * lead] if lead else ct
    return ct if ct.shape == shape else np.broadcast_to(ct, shape)
