"""Whole derivative matrices: `jacobian` by either mode, `hessian`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Literal

import numpy as np

from gradviz.engine.batch import Batch, as_batch
from gradviz.errors import NotDifferentiableError
from gradviz.record.current import current_recorder
from gradviz.transforms.gradient import check_argnum, grad, vjp, where_argument
from gradviz.transforms.tangent import jvp
from gradviz.transforms.trees import check_leaf, flatten, unflatten

Mode = Literal["auto", "forward", "reverse"]
SWEEP_NBYTES = 1 << 24  # of the directions of one sweep; the values on their way take a multiple
MOST_ROWS = 512


def jacobian(f: Callable[..., Any], argnums: int = 0, mode: Mode = "auto") -> Callable[..., Any]:
    """All derivatives of the outputs of ``f`` with respect to one argument.

    Parameters
    ----------
    f : a function that returns an array, or a tree of arrays
    argnums : position of the argument
    mode : "reverse" pulls back from each output entry, "forward" pushes forward from each input entry; "auto" takes the cheaper one,
        which it knows after a first run in reverse. Entries go together in few sweeps (`gradviz.engine.batch`); one by one inside
        another derivative, on a device, and while a profile records

    Returns
    -------
    A function of the same arguments. Its result has shape ``y.shape + x.shape``, and ``result[i, j] = dy[i]/dx[j]``. Where the output
    or the argument is a tree, the result is the output's tree with the argument's tree at each leaf.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    if mode not in ("auto", "forward", "reverse"):
        raise NotDifferentiableError(f"mode={mode!r} is not known; it is one of 'auto', 'forward', 'reverse'")

    @functools.wraps(f)
    def matrix(*args: Any, **kwargs: Any) -> Any:
        argnum = check_argnum(argnums, args, f)
        x = args[argnum]
        for k, leaf in enumerate(flatten(x)[0]):
            check_leaf(leaf, where_argument, f, argnum, x, k)

        def of_one(x: Any) -> Any:
            return f(*args[:argnum], x, *args[argnum + 1 :], **kwargs)

        if mode == "forward":
            return _by_columns(of_one, x)
        y, pull = vjp(of_one, x)
        if mode == "auto" and 2 * _size(x) < _size(y):
            return _by_columns(of_one, x)
        return _by_rows(y, pull, x)

    return matrix


def hessian(f: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """Second derivatives of a scalar function, as forward mode over reverse mode: ``result[i, j] = d²f / dx[i] dx[j]``.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> gv.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    return jacobian(grad(f, argnums), argnums, mode="forward")


def _size(tree: Any) -> int:
    return sum(int(np.size(leaf)) for leaf in flatten(tree)[0])


def _basis(leaves: list[Any]) -> Iterator[tuple[int, tuple[int, ...], list[Any]]]:
    """Every unit direction of a list of arrays: (leaf, position, direction)."""
    for k, leaf in enumerate(leaves):
        for position in np.ndindex(np.shape(leaf)):
            direction = [np.zeros_like(other) for other in leaves]
            if position:
                direction[k][position] = 1
            else:
                direction[k] = np.ones_like(leaf)
            yield k, position, direction


def _by_rows(y: Any, pull: Callable[[Any], tuple[Any, ...]], x: Any) -> Any:
    outs, out_structure = flatten(y)
    leaves, structure = flatten(x)

    def pulled(directions: list[Any]) -> list[Any]:
        return flatten(pull(unflatten(out_structure, directions))[0])[0]

    blocks = _mapped(pulled, outs, leaves)
    made = [
        unflatten(
            structure,
            [_stacked(b, np.shape(out) + np.shape(leaf), leaf) for b, leaf in zip(block, leaves, strict=True)],
        )
        for block, out in zip(blocks, outs, strict=True)
    ]
    return unflatten(out_structure, made)


def _by_columns(f: Callable[[Any], Any], x: Any) -> Any:
    leaves, structure = flatten(x)
    outs: list[Any] = []
    out_structure: Any = None

    def pushed(directions: list[Any]) -> list[Any]:
        nonlocal outs, out_structure
        y, along = jvp(f, (x,), (unflatten(structure, directions),))
        outs, out_structure = flatten(y)
        return flatten(along)[0]

    blocks = _mapped(pushed, leaves, None)
    if not any(blocks):
        return _by_rows(*vjp(f, x), x)
    made = []
    for k, out in enumerate(outs):
        parts = []
        for block, leaf in zip(blocks, leaves, strict=True):
            joined = _stacked(block[k] if block else [], np.shape(leaf) + np.shape(out), out)
            n, m = np.ndim(leaf), np.ndim(out)
            parts.append(np.transpose(joined, (*range(n, n + m), *range(n))))
        made.append(unflatten(structure, parts))
    return unflatten(out_structure, made)


def _mapped(linear: Callable[[list[Any]], list[Any]], leaves: list[Any], near: list[Any] | None) -> list[list[Any]]:
    """A linear function of all unit directions of ``leaves``: for each leaf, for each result, a list of arrays or one of all of them."""
    if (
        sum(np.size(leaf) for leaf in leaves) > 1
        and current_recorder() is None
        and all(map(_is_plain, (*leaves, *(near or []))))
    ):
        with suppress(Exception):  # whatever it is, single directions show whether it is the program's fault
            return _in_sweeps(linear, leaves)
    blocks: list[list[Any]] = [[[] for _ in near or []] for _ in leaves]
    for k, _, direction in _basis(leaves):
        results = linear(direction)
        blocks[k] = blocks[k] or [[] for _ in results]
        for block, result in zip(blocks[k], results, strict=True):
            block.append(result)
    return blocks


def _in_sweeps(linear: Callable[[list[Any]], list[Any]], leaves: list[Any]) -> list[list[Any]]:
    """As `_mapped`, with as many directions at a time as memory allows."""
    sizes = [np.size(leaf) for leaf in leaves]
    starts = np.cumsum([0, *sizes])
    total = int(starts[-1])
    largest = max(np.asarray(leaf).nbytes for leaf in leaves)
    step = int(np.clip(SWEEP_NBYTES // max(largest, 1), 1, MOST_ROWS))
    found: list[Any] = []
    for first in range(0, total, step):
        count = min(step, total - first)
        directions = []
        for leaf, start in zip(leaves, starts, strict=False):
            rows = np.zeros((count, np.size(leaf)), getattr(leaf, "dtype", type(leaf)))
            at = np.arange(count) + first - start
            inside = (at >= 0) & (at < np.size(leaf))
            rows[np.flatnonzero(inside), at[inside]] = 1
            directions.append(Batch(rows.reshape((count, *np.shape(leaf)))))
        found.append([as_batch(result, count).rows for result in linear(directions)])
    whole = [np.concatenate(parts) for parts in zip(*found, strict=True)]
    return [[rows[start : start + n] for rows in whole] for start, n in zip(starts, sizes, strict=False)]


def _is_plain(leaf: Any) -> bool:
    return isinstance(leaf, (np.ndarray, np.generic, float, complex))


def _stacked(rows: Any, shape: tuple[int, ...], near: Any) -> Any:
    if not len(rows):
        return np.zeros(shape, getattr(near, "dtype", type(near)))
    return np.reshape(rows if isinstance(rows, np.ndarray) else np.stack(rows), shape)
