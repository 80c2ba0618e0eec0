"""Rows that are made alike, made together: the odd first and last iterations of a loop join those that were done all at once.

put(put(c, a[0] @ m, 0), a[1:] @ m, 1:)     is   a @ m
outer(a[0], b[0]) + a[1:].T @ b[1:]         is   a.T @ b
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.program.operation import Meta, Sliced, Slot, put, take
from gradviz.plan.simplify.block import Node, Value


class Rows(NamedTuple):
    """Rows ``first`` up to ``end`` along the first axis; ``single`` for one row without that axis."""

    first: int
    end: int
    single: bool

    def joined(self, other: Rows) -> Rows | None:
        """Both, if one follows the other."""
        if self.end == other.first or other.end == self.first:
            return Rows(min(self.first, other.first), max(self.end, other.end), False)
        return None


class NotAlike(Exception):  # noqa: N818 - not an error: the rows stay apart
    """Two values are not made alike."""


def rows_of_index(template: Any, operands: list[Value], n: int) -> Rows | None:
    """The rows that an index means, if it is an integer or a slice of following rows."""
    if isinstance(template, Slot) and template.integer:
        if not operands[0].is_constant:
            return None
        at = operands[0].constant % n
        return Rows(at, at + 1, True)
    if isinstance(template, Sliced) and not operands:
        rows = range(n)[slice(*template)]
        return Rows(rows.start, rows.stop, False) if rows.step == 1 and len(rows) else None
    return None


class Joining:
    """Makes one value of two that are made alike from neighbouring rows."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []

    def emit(self, function: Any, args: Any, inputs: list[Value], meta: Meta) -> Value:
        self.nodes.append(Node(function, args, (), inputs, [meta]))
        return self.nodes[-1].out

    def take(self, whole: Value, rows: Rows) -> Value:
        n = whole.meta.shape[0]
        if (rows.first, rows.end) == (0, n):
            return whole
        meta = Meta((rows.end - rows.first, *whole.meta.shape[1:]), whole.meta.dtype, "array")
        return self.emit(take, (Slot(0), Sliced(rows.first, rows.end, 1)), [whole], meta)

    def value(self, a: Value, at: Rows, b: Value, bt: Rows) -> Value:
        """What is ``a`` in some rows and ``b`` in the next or previous ones."""
        rows = at.joined(bt)
        if rows is None:
            raise NotAlike
        return self._value(a, at, b, bt, rows)

    def _value(self, a: Value, at: Rows, b: Value, bt: Rows, rows: Rows) -> Value:
        x, y = a.maker, b.maker
        if x is None or y is None or x.function is not y.function or x.kwargs != y.kwargs:
            raise NotAlike
        shape = (rows.end - rows.first, *(a.meta.shape if at.single else a.meta.shape[1:]))
        meta = Meta(shape, a.meta.dtype, "array")
        if x.function is take and x.inputs[0] is y.inputs[0]:
            n = x.inputs[0].meta.shape[0]
            if rows_of_index(x.args[1], x.inputs[1:], n) == at and rows_of_index(y.args[1], y.inputs[1:], n) == bt:
                return self.take(x.inputs[0], rows)
            raise NotAlike
        if x.args != y.args or len(x.inputs) != len(y.inputs):
            raise NotAlike
        if x.function is np.matmul and x.inputs[1] is y.inputs[1] and len(x.inputs[1].meta.shape) == 2:
            return self.emit(
                np.matmul, x.args, [self._value(x.inputs[0], at, y.inputs[0], bt, rows), x.inputs[1]], meta
            )
        if isinstance(x.function, np.ufunc) and x.function.signature is None:
            inputs = [self._operand(u, at, v, bt, rows, a, b) for u, v in zip(x.inputs, y.inputs, strict=True)]
            return self.emit(x.function, x.args, inputs, meta)
        raise NotAlike

    def _operand(self, u: Value, at: Rows, v: Value, bt: Rows, rows: Rows, a: Value, b: Value) -> Value:
        if u is v and len(u.meta.shape) < len(shape_with_rows(a, at)):
            return u
        if u.meta.shape != a.meta.shape or v.meta.shape != b.meta.shape:
            raise NotAlike
        return self._value(u, at, v, bt, rows)


def shape_with_rows(value: Value, rows: Rows) -> tuple[int, ...]:
    return (1, *value.meta.shape) if rows.single else value.meta.shape


def joined_puts(node: Node) -> list[Node] | Value | None:
    """One write for two that put neighbouring rows, made alike, into one array."""
    whole, value, *into = node.inputs
    before = whole.maker
    if before is None or before.function is not put or not whole.meta.shape:
        return None
    n = whole.meta.shape[0]
    mine = rows_of_index(node.args[2], into, n)
    other = rows_of_index(before.args[2], before.inputs[2:], n)
    if (
        mine is None
        or other is None
        or not (full_rows(value, mine, whole) and full_rows(before.inputs[1], other, whole))
    ):
        return None
    joining = Joining()
    try:
        made = joining.value(before.inputs[1], other, value, mine)
    except NotAlike:
        return None
    rows = mine.joined(other)
    assert rows is not None
    if (rows.first, rows.end) == (0, n) and made.meta == node.out.meta:
        return joining.nodes or made
    at = Sliced(rows.first, rows.end, 1)
    joining.emit(put, (Slot(0), Slot(1), at), [before.inputs[0], made], node.out.meta)
    return joining.nodes


def full_rows(value: Value, rows: Rows, whole: Value) -> bool:
    """Whether a value fills its rows without being broadcast or cast."""
    shape = whole.meta.shape[1:] if rows.single else (rows.end - rows.first, *whole.meta.shape[1:])
    return value.meta.shape == shape and value.meta.dtype == whole.meta.dtype


class Term(NamedTuple):
    """``left[rows].T @ right[rows]``."""

    left: Value
    right: Value
    rows: Rows


def term_of(value: Value) -> Term | None:
    """A product of rows, or of one row with one row."""
    maker = value.maker
    if maker is None or maker.kwargs or len(maker.inputs) != 2:
        return None
    x, y = (v.maker for v in maker.inputs)
    if x is None:
        return None
    if maker.function is np.matmul and x.function is np.transpose and x.args[1] == (1, 0):
        left, right = rows_of(x.inputs[0]), rows_of(maker.inputs[1])
    elif maker.function is np.multiply and y is not None and x.function is np.reshape is y.function:
        u, v = maker.inputs
        if u.meta.shape[1:] != (1,) or v.meta.shape[:1] != (1,) or len(v.meta.shape) != 2:
            return None
        left, right = rows_of(x.inputs[0]), rows_of(y.inputs[0])
        if left is None or right is None or not (left[1].single and right[1].single):
            return None
    else:
        return None
    if left is None or right is None or left[1] != right[1]:
        return None
    return Term(left[0], right[0], left[1])


def rows_of(value: Value) -> tuple[Value, Rows] | None:
    """Of which array a value is some rows."""
    if value.maker is not None and value.maker.function is take:
        whole, *operands = value.maker.inputs
        if len(whole.meta.shape) == 2:
            rows = rows_of_index(value.maker.args[1], operands, whole.meta.shape[0])
            if rows is not None:
                return whole, rows
    if len(value.meta.shape) == 2:
        return value, Rows(0, value.meta.shape[0], False)
    return None


def joined_terms(node: Node) -> list[Node] | None:
    """One product for the sum of two over neighbouring rows."""
    a, b = node.inputs
    last = term_of(b)
    if last is None:
        return None
    base = None
    first = term_of(a)
    if (
        first is None
        and a.maker is not None
        and a.maker.function is np.add
        and not a.maker.kwargs
        and len(a.maker.inputs) == 2
    ):
        base, first = a.maker.inputs[0], term_of(a.maker.inputs[1])
    if first is None or first.left is not last.left or first.right is not last.right:
        return None
    rows = first.rows.joined(last.rows)
    if rows is None:
        return None
    joining = Joining()
    left, right = joining.take(first.left, rows), joining.take(first.right, rows)
    d = node.out.meta.shape[0]
    turned = joining.emit(
        np.transpose, (Slot(0), (1, 0)), [left], Meta((d, rows.end - rows.first), left.meta.dtype, "array")
    )
    made = joining.emit(np.matmul, (Slot(0), Slot(1)), [turned, right], node.out.meta)
    if base is not None:
        joining.emit(np.add, (Slot(0), Slot(1)), [base, made], node.out.meta)
    return joining.nodes
