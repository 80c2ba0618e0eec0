"""How an array is written to: NumPy's semantics on the outside, one new version per write on the tape.

Memory is really written in place. A value that somebody still needs is copied first, exactly that value and exactly once: the part
of it that a pullback saved, or the array that belongs to the caller. Writing N rows into a buffer therefore costs O(N), in both
directions, also when each row is computed from the previous one.
"""

from __future__ import annotations

import math
from operator import getitem
from typing import Any

import numpy as np

from gradviz.engine.array import FOREIGN, FRESH, USED, Array, Mark, View, bottom, constant, is_number, strip
from gradviz.engine.call import below, escaped, innermost, nested, stacked
from gradviz.engine.constants import copied, keep
from gradviz.engine.cotangent import add_at, fit, is_basic, lifted, may_repeat, zeros
from gradviz.engine.like import Like
from gradviz.engine.memory import born, held, memory_of, rescue
from gradviz.engine.rule import RULES, Rule, rule
from gradviz.engine.tape import Tape
from gradviz.errors import WriteError
from gradviz.record.events import Reason

Views = tuple[tuple[Rule, tuple[Any, ...]], ...]

take = rule(getitem, signature="a, index", name="getitem", view=True, linear="each", constant=("index",))
take.run = lambda a, index: (lifted(a, index) if type(a) is np.ndarray else a)[
    index
]  # an index may be captured for a plan


def assign(array: Array, index: Any, value: Any) -> None:
    """``array[index] = value``."""
    part = (take, (below_index(index),))
    if (
        type(value) is View
        and value.root is root_of(array)
        and is_basic(index)
        and value.views == (*views_of(array), part)
    ):
        return  # the second half of ``a[i] += v``: the view was written to already
    write(array, (part,), value)


def write(array: Array, views: Views, value: Any) -> None:
    """Write ``value`` into the part of ``array`` that ``views`` lead to; the last view is an index."""
    if type(value) in (list, tuple) and nested(value):
        value = stacked(value)
    root = root_of(array)
    if is_number(array):
        raise WriteError(
            "A number cannot be written to. Make a 0-d array of it with gradviz.numpy.array(x), or compute a new one."
        )
    if isinstance(value, Array) and value.tape is not None and array.dtype.kind not in "fc":
        raise WriteError(
            f"A value that depends on the inputs of the gradient was written into an array of dtype {array.dtype}, which would cut it "
            f"off from them. Make the array with a floating dtype."
        )
    if not is_writeable(array) and (is_writeable(root) or not is_foreign(root)):
        raise WriteError(
            "assignment destination is read-only: it is a broadcast or diagonal view. Write to x.copy() instead."
        )
    store(root, (*views_of(array), *views), value)


def is_writeable(array: Array) -> bool:
    """Whether NumPy lets one write into the memory; a device's arrays do not know, so there it is what repeats an entry."""
    value = array.value
    writeable = getattr(getattr(value, "flags", None), "writeable", None)
    if writeable is None and not isinstance(value, Array):
        return not any(n > 1 and not step for n, step in zip(array.shape, array.strides, strict=False))
    return writeable is not False


def store(root: Array, views: Views, value: Any) -> None:
    """Write into an array that is no view, on the innermost level that takes part."""
    top = innermost((root, value))
    if top is None:
        root.value = store_below(root.value, views, below(value, 0), is_foreign(root), None)
        root.index = FRESH
    elif not top.open:
        raise escaped("setitem")
    elif type(top) is not Tape:
        top.store(root, views, value)
    else:
        store_on_tape(top, root, views, value)


def store_on_tape(top: Tape, root: Array, views: Views, value: Any) -> None:
    inner = strip(value, top.level) if isinstance(value, Array) else value
    active, parents = [], []
    if root.tape is top:
        lower = root.value
        active.append("a")
        parents.append(root.index)
    else:
        lower = root.value if root.tape is None else Array(root.value, root.tape, root.index)
    if isinstance(value, Array) and value.tape is top:
        active.append("value")
        parents.append(value.index)
    foreign = is_foreign(root) or (root.tape is not top and root.tape is not None)
    since = (
        {top.level: born(top, root.index)}
        if root.tape is top
        else {top.level: len(top.log)}
        if root.index == FRESH
        else {}
    )
    recorder = top.recorder
    start_ns = 0 if recorder is None else recorder.clock()
    lower = store_below(lower, views, inner, foreign, recorder, since)
    end_ns = 0 if recorder is None else recorder.clock()
    record = written.variant((tuple(active), False)).keep(
        parents[0] if len(parents) == 1 else tuple(parents), None, lower, inner, views
    )
    top.log.append(record)
    root.value, root.tape, root.index = lower, top, len(top.log) - 1
    if recorder is not None and not isinstance(lower, Array):
        recorder.wrote(top, root.index, "setitem", lower, inner, written_nbytes(lower, views, inner), start_ns, end_ns)


def store_below(
    lower: Any, views: Views, value: Any, foreign: bool, recorder: Any, since: dict[int, int] | None = None
) -> Any:
    """Write one level down, and give what then stands there."""
    if foreign:
        lower = (
            lower.copy(order="K")
            if recorder is None or isinstance(lower, Array)
            else recorder.copy(Reason.CALLERS_ARRAY, lower)
        )
    if isinstance(lower, Array) or isinstance(value, Array):
        handle = (
            Array(lower.value, lower.tape, lower.index)
            if isinstance(lower, Array)
            else constant(lower, FRESH if foreign else USED)
        )
        store(handle, views, value)
        return handle
    index = views[-1][1][0]
    plain, lower = lower, lifted(lower, value, index)
    if lower is not plain:  # pullbacks that were recorded before keep the plain array
        rescue(plain, followed(plain, views[:-1]), index, since)
    target = followed(lower, views[:-1])
    rescue(lower, target, index, since)
    target[index] = value
    return lower


def followed(lower: Any, views: Views) -> Any:
    """The part of an array that views lead to."""
    for view, rest in views:
        lower = view.run(lower, *rest)
    return lower


def written_nbytes(whole: Any, views: Views, value: Any) -> int:
    """How many bytes a write changed; where only a copy could tell, those of the value."""
    if type(whole) is np.ndarray:
        target, index = part_of(whole, views)
        if is_basic(index):
            return target[index].nbytes
    return getattr(value, "nbytes", whole.itemsize)


def adopt(array: Array, result: Any) -> None:
    """``array[...] = result``; the array takes the result's memory over where that is fresh and as good: nothing is copied."""
    untraced = array.tape is None and getattr(result, "tape", None) is None
    if untraced or View in (type(array), type(result)) or not replaces(result, array):
        if not np.can_cast(result.dtype, array.dtype, "same_kind"):
            raise WriteError(
                f"cannot cast the result from {result.dtype} to {array.dtype} of the array it is written into"
            )
        if np.broadcast_shapes(result.shape, array.shape) != array.shape:
            raise WriteError(
                f"non-broadcastable output operand with shape {array.shape} doesn't match the shape {result.shape} of the result"
            )
        write(array, ((take, (Ellipsis,)),), result)
    elif isinstance(result, Array):
        array.value, array.tape, array.index = result.value, result.tape, result.index
    else:
        array.value, array.tape, array.index = result, None, Mark(FRESH)


def replaces(result: Any, array: Any) -> bool:
    """Whether memory of this shape, dtype and order of axes offers the same views; a writable 0-d array stays one."""
    if result.shape != array.shape or result.dtype != array.dtype or not array.shape:
        return False
    return result.strides == array.strides or axes_by_stride(result) == axes_by_stride(array)


def axes_by_stride(array: Any) -> list[int]:
    """The axes longer than 1, outermost first."""
    return sorted((axis for axis, n in enumerate(array.shape) if n > 1), key=lambda axis: -abs(array.strides[axis]))


def overwrite(array: Array, ufunc: Any, other: Any) -> bool:
    """Do ``array <ufunc>= other`` in the array's own memory, if no pullback needs what it holds, and say whether that was done."""
    found = RULES.get(ufunc)
    if found is None or not found.elementwise or not own_memory(array, other):
        return False
    tape, memory, traced = array.tape, array.value, isinstance(other, Array)
    y = other.value if traced else other
    active = ("x", "y") if traced else ("x",)
    kept = found.variant((active, False)).slots
    if "x" in kept or "out" in kept or not fits(y, memory) or held(memory, tape, array.index):
        return False
    start_ns = 0 if tape.recorder is None else tape.recorder.clock()
    ufunc(memory, y, out=memory)
    fitted = np.shape(y) != memory.shape or getattr(y, "dtype", memory.dtype) != memory.dtype
    overwritten(array, found, (active, fitted), other, (memory, y), start_ns)
    return True


def add_into(array: Array, index: Any, value: Any) -> bool:
    """Do ``np.add.at(array, index, value)`` as `overwrite` does; then rows added one by one cost what the rows do."""
    if not own_memory(array, value):
        return False
    found, tape, memory, traced = RULES[np.add.at], array.tape, array.value, isinstance(value, Array)
    y = value.value if traced else value
    if np.result_type(y, memory) != memory.dtype or held(memory, tape, array.index):
        return False
    start_ns = 0 if tape.recorder is None else tape.recorder.clock()
    add_at(memory, index, y)
    overwritten(array, found, (("a", "value") if traced else ("a",), False), value, (memory, index, y), start_ns)
    return True


def own_memory(array: Array, other: Any) -> bool:
    """Whether an array is all there is to its memory, on the host and on a tape that is also that of the other operand."""
    tape = array.tape
    if (
        type(array) is View
        or type(tape) is not Tape
        or not tape.open
        or type(array.value) is not np.ndarray
        or is_foreign(array)
    ):
        return False
    return not isinstance(other, Array) or (
        other.tape is tape and type(other) is not View and type(other.value) is np.ndarray
    )


def overwritten(array: Array, found: Rule, key: Any, other: Any, arguments: tuple[Any, ...], start_ns: int) -> None:
    """Write the record of a call whose result went into the memory of its first argument."""
    tape, memory = array.tape, array.value
    if tape.recorder is not None:
        end_ns = tape.recorder.clock()
        y, nbytes = (
            arguments[-1],
            memory.nbytes if len(arguments) == 2 else getattr(arguments[-1], "nbytes", memory.itemsize),
        )
        tape.recorder.wrote(tape, len(tape.log), found.name, memory, y, nbytes, start_ns, end_ns)
    parents = (array.index, other.index) if isinstance(other, Array) else array.index
    variant = found.variant(key)
    if type(other) is np.ndarray and len(arguments) - 1 in variant.kept:
        arguments = (*arguments[:-1], keep(tape, other, other))
    tape.log.append(variant.keep(parents, memory, *arguments))
    array.index = len(tape.log) - 1


def fits(y: Any, memory: Any) -> bool:
    """Whether the result of an operation with ``y`` has the shape and dtype of ``memory``."""
    if type(y) in (int, float):
        return True
    if type(y) is not np.ndarray:
        return False
    if y.dtype != memory.dtype and np.result_type(y, memory) != memory.dtype:
        return False
    return y.shape == memory.shape or (
        y.ndim <= memory.ndim and all(n in (1, m) for n, m in zip(y.shape[::-1], memory.shape[::-1], strict=False))
    )


def root_of(array: Array) -> Array:
    return array.root if type(array) is View else array


def views_of(array: Array) -> Views:
    return array.views if type(array) is View else ()


def is_foreign(root: Array) -> bool:
    """Whether the memory belongs to the caller: it is an input that has not been written to yet."""
    return root.index == FOREIGN if root.tape is None else root.tape.is_foreign(root)


def below_index(index: Any) -> Any:
    """An index with the arrays in it made plain, and our own: programs count on with the array they indexed by."""
    if isinstance(index, Array):
        return below_index(strip(index, index.level))
    if type(index) is tuple:
        return tuple(below_index(i) for i in index)
    if type(index) is list:
        return list(index)
    return copied(index) if type(index) is np.ndarray else index


def part_of(whole: Any, views: Views) -> tuple[Any, Any]:
    """The array that the last view indexes, and that index."""
    for view, rest in views[:-1]:
        whole = view.run(whole, *rest)
    return whole, views[-1][1][0]


def write_to_value(ct: Any, value_like: Like, views: Views) -> Any:
    target, index = part_of(ct, views)
    part = target[index]
    if may_repeat(index):
        part = part * last_writes(target, index)
    elif part is ct or getattr(part, "base", None) is not None or isinstance(part, View):
        part = part.copy()
    return fit(part, value_like)


def write_to_a(ct_owned: Any, views: Views) -> Any:
    if not ct_owned.shape:
        return outside(ct_owned, views)[()]
    target, index = part_of(ct_owned, views)
    if memory_of(target) is not memory_of(ct_owned):  # a layout of which no such view exists
        return outside(ct_owned, views)
    target[index] = 0
    return ct_owned


def outside(ct: Any, views: Views) -> Any:
    """``ct`` with 0 wherever a write through ``views`` goes."""
    halves: Any = reached(ct.shape, ct.dtype.kind == "c", views)
    if hasattr(bottom(ct), "__array_function__"):  # numbers have none
        halves = np.asarray(halves, like=bottom(ct))
    if ct.dtype.kind != "c":
        return np.where(halves[..., 0], 0, ct)
    return np.where(halves[..., 0], 0, np.real(ct)) + 1j * np.where(halves[..., 1], 0, np.imag(ct))


def reached(shape: tuple[int, ...], is_complex: bool, views: Views) -> Any:
    """Which numbers of an array of that shape a write through ``views`` changes: real and imaginary parts, along the last axis."""
    count = 2 if is_complex else 1
    numbers = lifted(np.arange(math.prod(shape) * count), *(rest for _, rest in views)).reshape((*shape, count))
    target, index = part_of(numbers[..., 0] + 1j * numbers[..., 1] if is_complex else numbers[..., 0] * 1.0, views)
    part = target[index]
    hit = (
        np.concatenate([np.ravel(np.real(part)), np.ravel(np.imag(part))]) if np.iscomplexobj(part) else np.ravel(part)
    )
    mask = lifted(np.zeros(numbers.size, bool), numbers)
    mask[hit.astype(int)] = True
    return mask.reshape(numbers.shape)


def last_writes(target: Any, index: Any) -> Any:
    """1 where an entry of ``target[index] = value`` is what remains, 0 where a later entry overwrote it."""
    numbers = zeros(Like(target.shape, np.dtype(np.int64)), bottom(target))
    shape = numbers[index].shape
    order = np.arange(1, numbers[index].size + 1, like=numbers).reshape(shape)
    numbers[index] = order
    return (numbers[index] == order).astype(target.dtype)


written = rule(lambda a, value, views: a, write_to_value, write_to_a, name="setitem")
