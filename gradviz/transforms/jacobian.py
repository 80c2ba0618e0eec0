"""Whole derivative matrices: `jacobian` by either mode, `hessian`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from gradviz.errors import NotDifferentiableError
from gradviz.transforms.gradient import check_argnum, grad, vjp, where_argument
from gradviz.transforms.tangent import jvp
from gradviz.transforms.trees import check_leaf, flatten, unflatten

Mode = Literal["auto", "forward", "reverse"]


def jacobian(f: Callable[..., Any], argnums: int = 0, mode: Mode = "auto") -> Callable[..., Any]:
    """All derivatives of the outputs of ``f`` with respect to one argument.

    Parameters
    ----------
    f : a function that returns an array, or a tree of arrays
    argnums : position of the argument
    mode : "reverse" does one backward pass per output entry, "forward" one run per input entry; "auto" takes the cheaper one,
        which it knows after a first run in reverse

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
    rows: list[list[list[Any]]] = [[[] for _ in leaves] for _ in outs]
    for k, _, direction in _basis(outs):
        pulled, _ = flatten(pull(unflatten(out_structure, direction))[0])
        for row, ct in zip(rows[k], pulled, strict=True):
            row.append(ct)
    made = [
        unflatten(
            structure,
            [_stacked(row, np.shape(out) + np.shape(leaf), leaf) for row, leaf in zip(rows[k], leaves, strict=True)],
        )
        for k, out in enumerate(outs)
    ]
    return unflatten(out_structure, made)


def _by_columns(f: Callable[[Any], Any], x: Any) -> Any:
    leaves, structure = flatten(x)
    columns: list[list[list[Any]]] = []
    outs: list[Any] = []
    out_structure = None
    for k, _, direction in _basis(leaves):
        y, along = jvp(f, (x,), (unflatten(structure, direction),))
        outs, out_structure = flatten(y)
        columns = columns or [[[] for _ in leaves] for _ in outs]
        for out, tangent in zip(columns, flatten(along)[0], strict=True):
            out[k].append(tangent)
    if not columns:
        return _by_rows(*vjp(f, x), x)
    made = []
    for out, tangents in zip(outs, columns, strict=True):
        parts = []
        for leaf, column in zip(leaves, tangents, strict=True):
            joined = _stacked(column, np.shape(leaf) + np.shape(out), out)
            n, m = np.ndim(leaf), np.ndim(out)
            parts.append(np.transpose(joined, (*range(n, n + m), *range(n))))
        made.append(unflatten(structure, parts))
    return unflatten(out_structure, made)


def _stacked(rows: list[Any], shape: tuple[int, ...], near: Any) -> Any:
    if not rows:
        return np.zeros(shape, getattr(near, "dtype", type(near)))
    return np.reshape(np.stack(rows), shape)
