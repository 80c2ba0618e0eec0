"""What the result of a call is known to be: a constant, an operand, or what a shorter call gives.

Only algebra that is exact is used: x * 1, x + 0 (which turns -0.0 into 0.0 at most), an entry of what was just put there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradviz.engine.entering import entering
from gradviz.plan.program.operation import Items, Meta, Sliced, Slot, filled, meta_of, put, take, take_number
from gradviz.plan.simplify.block import NOTHING, Node, Value, integer
from gradviz.plan.simplify.rows import joined_puts, joined_terms

FOLDED = 1024  # entries of a result that is computed beforehand
MOST_RUNS = 4  # pieces that a stack is put together from


def full(shape: tuple[int, ...], number: Any, dtype: Any) -> Any:
    """An array of one number."""
    return np.full(shape, number, dtype)


def key_of(value: Any) -> Any:
    if type(value) is Value and value.constant is not NOTHING:
        constant = value.constant
        return (type(constant), repr(constant)) if np.ndim(constant) == 0 else id(constant)
    return id(value)


def folded(node: Node) -> Value | None:
    """The result, where it depends on constants only and is small."""
    meta = node.outputs[0].meta
    for v in node.inputs:
        if v.constant is NOTHING:
            return None
    if node.several or not isinstance(meta, Meta) or not node.inputs or meta.nbytes > FOLDED * 8:
        return None
    values = [v.constant for v in node.inputs]
    with np.errstate(all="ignore"):
        found = node.function(*(filled(a, values) for a in node.args), **{n: filled(a, values) for n, a in node.kwargs})
    return Value(meta_of(found), found)


def uniform(value: Value) -> Any:
    """The number that every entry of a value is, or `NOTHING`."""
    if value.constant is not NOTHING:
        return value.constant if np.ndim(value.constant) == 0 else NOTHING
    maker = value.maker
    return maker.args[1] if maker is not None and maker.function is full else NOTHING


def is_number(value: Value, number: float) -> bool:
    found = uniform(value)
    return found is not NOTHING and bool(found == number)


RULES: dict[Any, Callable[[Node], Value | list[Node] | None]] = {}
rule = entering(RULES)  # what the result is, or nodes of which the last gives it, or None


def full_node(meta: Meta, number: Any) -> Any:
    number = meta.dtype.type(number)
    if meta.kind != "array" or meta.shape == ():
        return Value(meta, np.asarray(number) if meta.kind == "array" else number)
    return [Node(full, (meta.shape, number, meta.dtype), (), [], [meta])]


@rule(np.zeros, np.zeros_like, np.empty, np.empty_like)
def known_zeros(node: Node) -> Any:
    return full_node(node.out.meta, 0)


@rule(np.ones, np.ones_like)
def known_ones(node: Node) -> Any:
    return full_node(node.out.meta, 1)


@rule(np.broadcast_to)
def broadcast(node: Node) -> Any:
    (x, *_), meta = node.inputs, node.out.meta
    if x.meta == meta:
        return x
    number = uniform(x)
    return full_node(meta, number) if number is not NOTHING else None


@rule(np.copy, np.positive, np.ascontiguousarray)
def same(node: Node) -> Any:
    return node.inputs[0] if node.inputs and node.inputs[0].meta == node.out.meta else None


@rule(np.reshape, np.ravel, np.expand_dims, np.squeeze, np.atleast_1d)
def reshaped(node: Node) -> Any:
    if not node.inputs or dict(node.kwargs).get("order", "C") != "C":
        return None
    x, meta = node.inputs[0], node.out.meta
    if x.meta == meta:
        return x
    number = uniform(x)
    if number is not NOTHING and meta.kind == "array":
        return full_node(meta, number)
    if x.maker is not None and x.maker.function is np.reshape and x.maker.kwargs == ():
        x = x.maker.inputs[0]
        return x if x.meta == meta else [Node(np.reshape, (Slot(0), meta.shape), (), [x], [meta])]
    if node.function is np.reshape and node.kwargs == ():
        return None
    return [Node(np.reshape, (Slot(0), meta.shape), (), [x], [meta])]


@rule(np.transpose, np.swapaxes, np.moveaxis)
def transposed(node: Node) -> Any:
    x = node.inputs[0]
    number = uniform(x)
    if number is not NOTHING:
        return full_node(node.out.meta, number)
    if node.function is np.transpose and len(node.args) > 1 and node.args[1] is not None:
        axes = tuple(a % len(x.meta.shape) for a in node.args[1])
    else:
        axes = axes_of(node)
    if axes == tuple(range(len(axes))):
        return x
    if x.maker is not None and x.maker.function is np.transpose:
        inner = x.maker.args[1]
        axes = tuple(inner[a] for a in axes)
        x = x.maker.inputs[0]
        return x if axes == tuple(range(len(axes))) else [Node(np.transpose, (Slot(0), axes), (), [x], [node.out.meta])]
    if node.function is np.transpose and len(node.args) > 1 and node.args[1] == axes:
        return None
    return [Node(np.transpose, (Slot(0), axes), (), [x], [node.out.meta])]


def axes_of(node: Node) -> tuple[int, ...]:
    """The order of axes that a function of the transposing kind gives."""
    ndim = len(node.inputs[0].meta.shape)
    tagged = np.empty(tuple(range(2, ndim + 2)), np.bool_)  # each length tells its axis
    args = [tagged, *node.args[1:]]
    return tuple(n - 2 for n in node.function(*args, **dict(node.kwargs)).shape)


@rule(np.real, np.conj, np.conjugate)
def real(node: Node) -> Any:
    x = node.inputs[0]
    return x if x.meta.dtype.kind != "c" and x.meta == node.out.meta else None


@rule(np.astype)
def cast(node: Node) -> Any:
    return node.inputs[0] if node.inputs[0].meta == node.out.meta else None


def operands(node: Node) -> list[Any] | None:
    """The operands of a ufunc called without options: values, and numbers written in the program as constants."""
    if node.kwargs:
        return None
    found: list[Any] = []
    for a in node.args:
        if type(a) is Slot:
            found.append(node.inputs[a.k])
        elif isinstance(a, (int, float, complex)):
            found.append(Value(meta_of(a), a))
        else:
            return None
    return found


NEUTRAL = {np.add: 0, np.subtract: 0, np.multiply: 1, np.true_divide: 1}


@rule(np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.conjugate)
def arithmetic(node: Node) -> Any:
    values, meta = operands(node), node.out.meta
    if values is None:
        return None
    numbers = [uniform(v) for v in values]
    unknown = sum(n is NOTHING for n in numbers)
    if not unknown:
        return full_node(meta, node.function(*numbers))
    if len(values) != 2:
        return None
    if (
        node.function is np.add
        and len(node.inputs) == 2
        and len(meta.shape) == 2
        and (found := joined_terms(node)) is not None
    ):
        return found
    if unknown == 2:
        return None
    x, y = values
    if numbers[1] is NOTHING:
        if node.function not in (np.add, np.multiply):
            return None
        x, y = y, x
        numbers.reverse()
    if numbers[1] != NEUTRAL[node.function]:
        return None
    if x.meta == meta:
        return x
    return [Node(np.broadcast_to, (Slot(0), meta.shape), (), [x], [meta])] if broadcastable(x.meta, meta) else None


def broadcastable(small: Meta, meta: Meta) -> bool:
    return small.dtype == meta.dtype and meta.kind == "array" and small.kind != "weak"


@rule(np.power)
def power(node: Node) -> Any:
    values = operands(node)
    if values is None or values[0].meta.dtype.kind not in "fc" or values[0].is_constant:
        return None
    if is_number(values[1], 2):
        return [Node(np.multiply, (Slot(0), Slot(1)), (), [values[0]] * 2, [node.out.meta])]
    if is_number(values[1], 1) and values[0].meta == node.out.meta:
        return values[0]
    return None


@rule(np.square)
def square(node: Node) -> Any:
    if node.kwargs:
        return None
    return [Node(np.multiply, (Slot(0), Slot(1)), (), [node.inputs[0]] * 2, [node.out.meta])]


@rule(np.mean)
def mean(node: Node) -> Any:
    """A sum, divided: what `np.mean` does."""
    x, meta = node.inputs[0], node.out.meta
    options = dict(node.kwargs)
    if (
        len(node.args) > 2
        or options.keys() - {"axis", "keepdims"}
        or x.meta.dtype != meta.dtype
        or meta.dtype.itemsize < 4
    ):
        return None
    n = x.meta.nbytes // max(meta.nbytes, 1)
    if not n:
        return None
    axis = () if "axis" in options or len(node.args) > 1 else (("axis", None),)
    total = Node(np.add.reduce, node.args, (*node.kwargs, *axis), [x], [meta])
    return [total, Node(np.true_divide, (Slot(0), float(n)), (), total.outputs, [meta])]


@rule(put)
def written(node: Node) -> Any:
    return joined_puts(node)


@rule(np.matmul)
def product(node: Node) -> Any:
    """A matrix times a column, as a row times the transposed matrix: rows of one product are then all written alike."""
    x, y = node.inputs
    if node.kwargs or len(x.meta.shape) != 2 or y.meta.shape[1:] != (1,) or x.meta.shape[0] == 1:
        return None
    m, k = x.meta.shape
    row = Node(np.reshape, (Slot(0), (k,)), (), [y], [Meta((k,), y.meta.dtype, "array")])
    turned = Node(np.transpose, (Slot(0), (1, 0)), (), [x], [Meta((k, m), x.meta.dtype, "array")])
    made = Node(np.matmul, (Slot(0), Slot(1)), (), [row.out, turned.out], [Meta((m,), node.out.meta.dtype, "array")])
    return [row, turned, made, Node(np.reshape, (Slot(0), (m, 1)), (), [made.out], [node.out.meta])]


@rule(np.add.reduce, np.sum, np.multiply.reduce, np.prod, np.maximum.reduce, np.max, np.minimum.reduce, np.min)
def reduced(node: Node) -> Any:
    """Of one number nothing is reduced."""
    (x, *more), meta = node.inputs, node.out.meta
    if (
        more
        or x.meta.shape != ()
        or x.meta.dtype != meta.dtype
        or not {name for name, _ in node.kwargs} <= {"axis", "keepdims"}
    ):
        return None
    return x if x.meta == meta else [Node(np.positive, (Slot(0),), (), [x], [meta])]


@rule(take, take_number)
def taken(node: Node) -> Any:
    x, meta = node.inputs[0], node.out.meta
    number = uniform(x)
    if number is not NOTHING and x.meta.kind == "array":
        return full_node(meta, number)
    if (
        isinstance(node.args[1], Sliced)
        and len(node.inputs) == 1
        and x.meta == meta
        and range(meta.shape[0])[slice(*node.args[1])] == range(meta.shape[0])
    ):
        return x
    if x.maker is not None and x.maker.function is put and node.function is take:
        return taken_of_put(node, x.maker)
    if x.maker is not None and x.maker.function is take and isinstance(node.args[1], Slot) and node.args[1].integer:
        return taken_of_rows(node, x.maker)
    if x.maker is not None and x.maker.function is np.reshape and x.meta.shape == (*meta.shape, 1):
        column = type(node.args[1]) is tuple and node.args[1][:-1] in ((Ellipsis,), (Sliced(None, None, None),))
        if column and meta.kind == "array":
            return [Node(np.reshape, (Slot(0), meta.shape), (), [x], [meta])]
    return None


@rule(np.stack)
def stacked(node: Node) -> Any:
    """Entries of an array put into one again, as a list does that a loop has filled: rows of that array."""
    values, meta = node.inputs, node.out.meta
    slots = tuple(Slot(k) for k in range(len(values)))
    if (
        node.kwargs
        or len(node.args) != 1
        or tuple(node.args[0]) != slots
        or any(v.meta.dtype != meta.dtype for v in values)
    ):
        return None
    if all(v.is_constant and v.meta.shape == () for v in values) and len(set(map(key_of, values))) == 1:
        return full_node(meta, values[0].constant)
    runs: list[list[Value]] = []
    step: int | None = None
    for v in values:
        following = step_between(runs[-1][-1], v) if runs else None
        if following is None or (len(runs[-1]) > 1 and following != step):
            runs.append([])
        runs[-1].append(v)
        step = following
    if len(runs) > MOST_RUNS or len(runs) == len(values):
        return None
    nodes = [rows_of_run(run, meta) for run in runs]
    if len(nodes) > 1:
        joined = tuple(Slot(k) for k in range(len(nodes)))
        nodes.append(Node(np.concatenate, (Items(joined),), (), [made.out for made in nodes], [meta]))
    return nodes


def step_between(before: Value, value: Value) -> int | None:
    """How far on the second of two entries of one array is, 1 or -1; None for anything else."""
    x, y = before.maker, value.maker
    if x is None or y is None or x.function is not take or y.function is not take or x.inputs[0] is not y.inputs[0]:
        return None
    if not all(m.args == (Slot(0), Slot(1, True)) and m.inputs[1].is_constant for m in (x, y)):
        return None
    first, second = x.inputs[1].constant, y.inputs[1].constant
    return second - first if min(first, second) >= 0 and abs(second - first) == 1 else None


def rows_of_run(run: list[Value], meta: Meta) -> Node:
    """Entries that follow each other, as rows of the array they are from."""
    rows = Meta((len(run), *meta.shape[1:]), meta.dtype, "array")
    if len(run) == 1:
        return Node(np.reshape, (Slot(0), rows.shape), (), run, [rows])
    assert run[0].maker is not None
    whole, first = run[0].maker.inputs
    step = step_between(*run[:2]) or 1
    end = first.constant + step * len(run)
    at = Sliced(first.constant, end if end >= 0 else None, step)
    return Node(take, (Slot(0), at), (), [whole], [rows])


def taken_of_put(node: Node, maker: Node) -> Any:
    """A part of what a part was just put into: that part, or what was there before."""
    whole, value, *into = maker.inputs
    where, meta = node.inputs[1:], node.out.meta
    alike = shapes_of(node.args[1]) == shapes_of(maker.args[2]) and is_basic(
        node.args[1]
    )  # others may name a place twice
    if alike and [key_of(v) for v in where] == [key_of(v) for v in into] and value.meta == meta:
        return value
    if isinstance(node.args[1], Sliced) and not where:
        return rows_of_put(node, maker)
    if not (isinstance(node.args[1], Slot) and node.args[1].integer and all(v.is_constant for v in (*where, *into))):
        return None
    n = whole.meta.shape[0]
    at = where[0].constant % n
    if isinstance(maker.args[2], Slot) and maker.args[2].integer:
        if at != into[0].constant % n:
            return [Node(take, node.args, (), [whole, *where], [meta])]
    elif isinstance(maker.args[2], Sliced) and not into:
        rows = range(n)[slice(*maker.args[2])]
        if at not in rows:
            return [Node(take, node.args, (), [whole, *where], [meta])]
        if value.meta.shape == (len(rows), *whole.meta.shape[1:]) and value.meta.dtype == meta.dtype:
            return [Node(take, node.args, (), [value, integer(rows.index(at))], [meta])]
    return None


def rows_of_put(node: Node, maker: Node) -> Any:
    """Some rows of what other rows were put into."""
    whole, _, *into = maker.inputs
    n = whole.meta.shape[0]
    if isinstance(maker.args[2], Slot) and maker.args[2].integer and into[0].is_constant:
        written = range(into[0].constant % n, into[0].constant % n + 1)
    elif isinstance(maker.args[2], Sliced) and not into:
        written = range(n)[slice(*maker.args[2])]
    else:
        return None
    if set(range(n)[slice(*node.args[1])]).isdisjoint(written):
        return [Node(take, node.args, (), [whole], [node.out.meta])]
    return None


def taken_of_rows(node: Node, maker: Node) -> Any:
    """An entry of some rows of an array: a row of the array."""
    if isinstance(maker.args[1], Sliced) and len(maker.inputs) == 1 and node.inputs[1].is_constant:
        rows = range(maker.inputs[0].meta.shape[0])[slice(*maker.args[1])]
        return [
            Node(
                node.function, node.args, (), [maker.inputs[0], integer(rows[node.inputs[1].constant])], [node.out.meta]
            )
        ]
    return None


def is_basic(template: Any) -> bool:
    """Whether an index is made of integers and slices."""
    items = template if type(template) is tuple else (template,)
    return all(
        i.integer if isinstance(i, Slot) else i is None or i is Ellipsis or isinstance(i, (Sliced, slice))
        for i in items
    )


def shapes_of(template: Any) -> Any:
    """An index without regard to which operand is which."""
    if isinstance(template, Slot):
        return Slot(0, template.integer)
    if type(template) is tuple:
        return tuple(shapes_of(item) for item in template)
    return template


@rule(np.where)
def chosen(node: Node) -> Any:
    if len(node.args) != 3:
        return None
    condition = node.inputs[0]
    number = uniform(condition) if isinstance(node.args[0], Slot) else NOTHING
    if number is NOTHING:
        return None
    pick = node.args[1 if number else 2]
    if isinstance(pick, Slot) and node.inputs[pick.k].meta == node.out.meta:
        return node.inputs[pick.k]
    return None
