"""How sums of products by labels (`einsum`, `tensordot`) are done: as transposes, copies, reshapes, and one matmul for each pair.

NumPy does these inside one call, where nobody sees the copies it makes. As calls of their own each is recorded, and the gradient
is that of a matmul: two matmuls on views.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise, product
from math import prod
from typing import Any, NamedTuple

import numpy as np
import opt_einsum
from opt_einsum.parser import get_symbol, parse_einsum_input

from gradviz.engine.array import bottom
from gradviz.engine.call import call
from gradviz.engine.rule import RULES, Rule, composed
from gradviz.rules.shapes import reshape


@composed(np.einsum)
def einsum(
    *operands: Any, out: None = None, dtype: Any = None, order: str = "K", casting: str = "safe", optimize: Any = False
) -> Any:
    subscripts, arrays = _separated(operands)
    if len(arrays) == 2 and dtype is None:
        a, b = arrays
        plan = _plan_of_two(subscripts, _form(a), _form(b))
        if plan is not None:
            return multiplied(a, b, plan)
    labels, kept, path = _parsed(subscripts, tuple(_shape(a) for a in arrays))
    if dtype is not None:
        arrays = [a.astype(dtype) if hasattr(a, "dtype") else a for a in arrays]
    return contract(arrays, labels, kept, path)


@composed(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = (x if hasattr(x, "shape") else np.asarray(x) for x in (a, b))
    if hasattr(axes, "__iter__"):
        ours, theirs = axes
        ours, theirs = _listed(ours), _listed(theirs)
    else:
        n = len(a.shape)
        ours, theirs = tuple(range(n - int(axes), n)), tuple(range(int(axes)))
    (left, right, kept), plan = _plan_of_axes(ours, theirs, _form(a), _form(b))
    return pair(a, left, b, right, kept) if plan is None else multiplied(a, b, plan)


def _listed(axis: Any) -> tuple[int, ...]:
    """The axes of one operand, of which `numpy.tensordot` takes a single one as a number."""
    if type(axis) is tuple:
        return axis
    return (int(axis),) if np.ndim(axis) == 0 else tuple(int(k) for k in axis)


@lru_cache(maxsize=4096)
def _plan_of_axes(
    ours: tuple[int, ...], theirs: tuple[int, ...], a_form: Form, b_form: Form
) -> tuple[tuple[str, str, str], Layout | None]:
    """The labels of both operands and of the result, and what `_plan_of_two` finds."""
    left, right, kept = _axes_named(a_form[0], b_form[0], ours, theirs)
    return (left, right, kept), _plan_of_two(f"{left},{right}->{kept}", a_form, b_form)


def _axes_named(
    a_shape: tuple[int, ...], b_shape: tuple[int, ...], ours: tuple[int, ...], theirs: tuple[int, ...]
) -> tuple[str, str, str]:
    """The labels of both operands and of the result for `numpy.tensordot`'s lists of axes."""
    if len(ours) != len(theirs) or any(a_shape[i] != b_shape[j] for i, j in zip(ours, theirs, strict=True)):
        raise ValueError("shape-mismatch for sum")
    left = [get_symbol(k) for k in range(len(a_shape))]
    right = [get_symbol(len(a_shape) + k) for k in range(len(b_shape))]
    for i, j in zip(ours, theirs, strict=True):
        right[j] = left[i]
    summed = {left[i] for i in ours}
    kept = "".join(label for label in (*left, *right) if label not in summed)
    return "".join(left), "".join(right), kept


def _separated(operands: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """What names the axes, in a form that can be looked up, and the arrays."""
    if isinstance(operands[0], str):
        return operands[0], [_array(x) for x in operands[1:]]
    pairs = len(operands) // 2
    lists = (*operands[1 : 2 * pairs : 2], *operands[2 * pairs :])
    return tuple(tuple(axes) for axes in lists), [_array(x) for x in operands[: 2 * pairs : 2]]


def _shape(a: Any) -> tuple[int, ...]:
    """As `numpy.shape`, which would go through the protocols of traced arrays at each question."""
    return a.shape if hasattr(a, "shape") else ()


Form = tuple[tuple[int, ...], tuple[int, ...], int]


def _form(a: Any) -> Form:
    """Shape, strides and bytes of an entry, by which plans are looked up."""
    a = bottom(a)
    return (a.shape, a.strides, a.itemsize) if hasattr(a, "shape") and a.shape else ((), (), 1)


def _array(x: Any) -> Any:
    return x if hasattr(x, "shape") or isinstance(x, (float, complex)) else np.asarray(x)


@lru_cache(maxsize=4096)
def _parsed(
    subscripts: Any, shapes: tuple[tuple[int, ...], ...]
) -> tuple[tuple[str, ...], str, tuple[tuple[int, ...], ...]]:
    """Labels of each operand, those of the result, and which operands to contract one after the other."""
    if isinstance(subscripts, str):
        given: list[Any] = [subscripts.replace(" ", ""), *shapes]
    else:
        axes = [list(entry) for entry in subscripts]
        given = [part for pair in zip(shapes, axes, strict=False) for part in pair] + axes[len(shapes) :]
    text, kept, _ = parse_einsum_input(given, shapes=True)
    labels = tuple(text.split(","))
    _extents(labels, shapes)
    if len(shapes) < 3:
        return labels, kept, (tuple(range(len(shapes))),)
    path, _ = opt_einsum.contract_path(f"{text}->{kept}", *_full(labels, shapes), shapes=True, optimize="auto")
    return labels, kept, tuple(tuple(sorted(step)) for step in path)


def _extents(labels: tuple[str, ...], shapes: tuple[tuple[int, ...], ...]) -> dict[str, int]:
    extents: dict[str, int] = {}
    for names, shape in zip(labels, shapes, strict=True):
        if len(names) != len(shape):
            raise ValueError(f"einsum: {len(names)} subscripts {names!r} for an operand of shape {shape}")
        for label, n in zip(names, shape, strict=True):
            known = extents.get(label, 1)
            if n not in (known, 1) and known != 1:
                raise ValueError(f"einsum: subscript {label!r} stands for axes of length {known} and {n}")
            extents[label] = n if known == 1 else known
    return extents


def _full(labels: tuple[str, ...], shapes: tuple[tuple[int, ...], ...]) -> list[tuple[int, ...]]:
    extents = _extents(labels, shapes)
    return [tuple(extents[label] for label in names) for names in labels]


def contract(arrays: list[Any], labels: tuple[str, ...], kept: str, path: tuple[tuple[int, ...], ...]) -> Any:
    """The sum over all labels that are not kept of the product of all operands, in the order of ``path``."""
    long = {
        label
        for names, a in zip(labels, arrays, strict=True)
        for label, n in zip(names, _shape(a), strict=True)
        if n != 1
    }
    terms = [single(a, names, long) for a, names in zip(arrays, labels, strict=True)]
    for step in path:
        chosen = [terms.pop(k) for k in reversed(step)]
        while len(chosen) > 1:
            (b, b_labels), (a, a_labels) = chosen.pop(0), chosen.pop(0)
            wanted = {*kept, *"".join(names for _, names in (*terms, *chosen))}
            result = kept if not terms and not chosen else _order(a_labels, b_labels, wanted)
            chosen.insert(0, (pair(a, a_labels, b, b_labels, result), result))
        terms += chosen
    ((a, names),) = terms
    a, names = summed(a, names, kept)
    return turned(a, names, kept)


def _order(a_labels: str, b_labels: str, wanted: set[str]) -> str:
    """The labels of an intermediate result as a matmul gives them."""
    batch = [label for label in a_labels if label in b_labels]
    rows = [label for label in a_labels if label not in b_labels]
    columns = [label for label in b_labels if label not in a_labels]
    return "".join(label for label in (*batch, *rows, *columns) if label in wanted)


def single(a: Any, labels: str, long: set[str]) -> tuple[Any, str]:
    """An operand without axes that are only spread over others' lengths, and with the diagonal of each repeated label."""
    spread = tuple(axis for axis, label in enumerate(labels) if _shape(a)[axis] == 1 and label in long)
    if spread:
        a = np.squeeze(a, spread)
        labels = "".join(label for axis, label in enumerate(labels) if axis not in spread)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            a = np.diagonal(a, 0, first, second)
            labels = labels[:first] + labels[first + 1 : second] + labels[second + 1 :] + label
    return a, labels


def summed(a: Any, labels: str, wanted: Any) -> tuple[Any, str]:
    """An operand summed over the labels that nobody wants."""
    alone = tuple(axis for axis, label in enumerate(labels) if label not in wanted)
    if not alone:
        return a, labels
    return np.sum(a, axis=alone), "".join(label for label in labels if label in wanted)


def turned(a: Any, labels: str, kept: str) -> Any:
    return a if labels == kept else np.transpose(a, tuple(labels.index(label) for label in kept))


def pair(a: Any, a_labels: str, b: Any, b_labels: str, kept: str) -> Any:
    """The product of two operands, summed over the labels that are not kept."""
    a, a_labels = summed(a, a_labels, {*b_labels, *kept})
    b, b_labels = summed(b, b_labels, {*a_labels, *kept})
    layout = _layout(a_labels, _strides(a), _shape(a), b_labels, _strides(b), _shape(b), kept)
    if layout is None:
        return np.multiply(_spread(a, a_labels, kept), _spread(b, b_labels, kept))
    return multiplied(a, b, layout)


@lru_cache(maxsize=4096)
def _plan_of_two(subscripts: Any, a_form: Form, b_form: Form) -> Layout | None:
    """The layout for an ordinary pair; None where an operand needs something first: a diagonal, a sum, axes of length one."""
    (a_shape, a_strides, a_itemsize), (b_shape, b_strides, b_itemsize) = a_form, b_form
    (a_labels, b_labels), kept, _ = _parsed(subscripts, (a_shape, b_shape))
    repeated = len({*a_labels}) < len(a_labels) or len({*b_labels}) < len(b_labels)
    alone = {*a_labels} - {*b_labels, *kept} or {*b_labels} - {*a_labels, *kept}
    if repeated or alone or 1 in a_shape or 1 in b_shape:
        return None
    a_steps, b_steps = (stride // a_itemsize for stride in a_strides), (stride // b_itemsize for stride in b_strides)
    return _layout(a_labels, tuple(a_steps), a_shape, b_labels, tuple(b_steps), b_shape, kept)


def multiplied(a: Any, b: Any, layout: Layout) -> Any:
    """The product of two operands as one matmul."""
    if layout.swapped:
        a, b = b, a
    made = call(RULES[np.matmul], (matrix(a, layout.left), matrix(b, layout.right)))
    if layout.shape is not None:
        made = reshape(made, layout.shape)
    return made if layout.axes is None else np.transpose(made, layout.axes)


def _spread(a: Any, labels: str, kept: str) -> Any:
    """With the axes in the order of ``kept``, and one of length one for each label it lacks that comes after its first."""
    a = turned(a, labels, "".join(label for label in kept if label in labels))
    present = [label in labels for label in kept]
    lacking = tuple(axis for axis, there in enumerate(present) if not there and any(present[:axis]))
    return np.expand_dims(a, tuple(axis - present.index(True) for axis in lacking)) if lacking else a


def _strides(a: Any) -> tuple[int, ...]:
    """Strides in entries, so that plans for arrays of one layout are the same."""
    return tuple(stride // a.itemsize for stride in a.strides) if _shape(a) else ()


class Operand(NamedTuple):
    """How an operand becomes a matrix, or a stack of them."""

    axes: tuple[int, ...] | None
    copied: bool
    shape: tuple[int, ...] | None
    across: bool  # the matrix is the other way round
    vector: bool


class Layout(NamedTuple):
    """How a pair is multiplied."""

    left: Operand
    right: Operand
    shape: tuple[int, ...] | None
    axes: tuple[int, ...] | None
    swapped: bool


def _to_contiguous(a: Any) -> Any:
    return np.copy(a, order="C")


def contiguous_to_a(ct):
    return ct


_contiguous = Rule(_to_contiguous, name="ascontiguousarray", linear="each")
_contiguous.pullback(contiguous_to_a)


def matrix(a: Any, how: Operand) -> Any:
    if how.axes is not None:
        a = np.transpose(a, how.axes)
    if how.copied:
        a = _contiguous(a)
    if how.shape is not None:
        a = reshape(a, how.shape)
    return np.swapaxes(a, -1, -2) if how.across else a


@lru_cache(maxsize=4096)
def _layout(
    a_labels: str,
    a_strides: tuple[int, ...],
    a_shape: tuple[int, ...],
    b_labels: str,
    b_strides: tuple[int, ...],
    b_shape: tuple[int, ...],
    kept: str,
) -> Layout | None:
    """The cheapest way: the fewest entries copied, then a result whose axes are in order. None where plain multiplication does it."""
    contracted = [label for label in a_labels if label in b_labels and label not in kept]
    rows = [label for label in a_labels if label not in b_labels]
    columns = [label for label in b_labels if label not in a_labels]
    batch = [label for label in kept if label in a_labels and label in b_labels]
    if not contracted and not (rows and columns):
        return None
    extents = dict(zip(a_labels + b_labels, a_shape + b_shape, strict=True))
    best: tuple[Any, Layout] | None = None
    for summing, upright, wide in product(_orders(contracted, b_labels), _orders(rows, kept), _orders(columns, kept)):
        left = _operand(a_labels, a_strides, extents, batch, upright, summing, first=True)
        right = _operand(b_labels, b_strides, extents, batch, wide, summing, first=False)
        copied = left.copied * prod(a_shape) + right.copied * prod(b_shape)
        for swapped in (False, True):
            produced = [*batch, *wide, *upright] if swapped else [*batch, *upright, *wide]
            axes = tuple(produced.index(label) for label in kept)
            cost = (copied, axes != tuple(range(len(axes))), swapped)
            if best is None or cost < best[0]:
                best = (
                    cost,
                    _made(
                        left, right, [extents[label] for label in produced], axes, (len(batch), upright, wide), swapped
                    ),
                )
    assert best is not None
    return best[1]


def _orders(labels: list[str], like: str) -> list[list[str]]:
    other = sorted(labels, key=like.index) if all(label in like for label in labels) else labels
    return [labels] if other == labels else [labels, other]


def _made(left: Operand, right: Operand, shape: list[int], axes: tuple[int, ...], parts: Any, swapped: bool) -> Layout:
    batch, rows, columns = parts
    plain = (len(rows) < 2 and len(columns) < 2) and (not batch or (len(rows) == 1 and len(columns) == 1))
    if swapped:
        left, right = _across(right), _across(left)
    return Layout(
        left, right, None if plain else tuple(shape), None if axes == tuple(range(len(axes))) else axes, swapped
    )


def _across(operand: Operand) -> Operand:
    return operand if operand.vector else operand._replace(across=not operand.across)


def _operand(
    labels: str,
    strides: tuple[int, ...],
    extents: dict[str, int],
    batch: list[str],
    free: list[str],
    summing: list[str],
    first: bool,
) -> Operand:
    """An operand as (batch, free, summed), or, as the second factor, (batch, summed, free)."""
    stride = dict(zip(labels, strides, strict=True))
    vector = not batch and not free
    ways = ((free, summing), (summing, free)) if first else ((summing, free), (free, summing))
    for down, right in ways:
        shape = [prod(extents[label] for label in group) for group in (down, right)]
        steps = [_step(group, stride, extents) for group in (down, right)]
        if None not in steps and (vector or _fits_blas(shape, steps)):
            return _way(labels, extents, batch, down, right, (down, right) != ways[0], copied=False, vector=vector)
    down, right = ways[0]
    return _way(labels, extents, batch, down, right, False, copied=True, vector=vector)


def _way(
    labels: str,
    extents: dict[str, int],
    batch: list[str],
    down: list[str],
    right: list[str],
    across: bool,
    copied: bool,
    vector: bool,
) -> Operand:
    order = [*batch, *down, *right]
    axes = tuple(labels.index(label) for label in order)
    shape = [extents[label] for label in batch] + [prod(extents[label] for label in group) for group in (down, right)]
    if vector:
        shape, across = [prod(shape)], False
    same = shape == [extents[label] for label in order]
    return Operand(
        None if axes == tuple(range(len(axes))) else axes, copied, None if same else tuple(shape), across, vector
    )


def _step(group: list[str], stride: dict[str, int], extents: dict[str, int]) -> int | None:
    """The one stride of several axes taken together; None if they cannot be without a copy."""
    long = [label for label in group if extents[label] != 1]
    for outer, inner in pairwise(long):
        if stride[outer] != stride[inner] * extents[inner]:
            return None
    return stride[long[-1]] if long else 0


def _fits_blas(shape: list[int], steps: list[Any]) -> bool:
    """Whether one axis is contiguous and the other strides over it."""
    (rows, columns), (down, across) = shape, steps
    return ((across == 1 or columns == 1) and (down >= columns or rows == 1)) or (
        (down == 1 or rows == 1) and (across >= rows or columns == 1)
    )
