"""Entries for `gradviz.rules.shapes`, `joining`, `padding` and `indexing`."""

from __future__ import annotations

import numpy as np

import gradviz.numpy as gnp
from tests.rules.check import entry, positive, real

CUBE = real(2, 3, 4)
PAIR = real(2, 3), real(2, 3)
rows = np.array([[0, 1], [1, 1]])
picks = np.array([0, 3])
mask = np.array([True, False, True])


def cube(name, f, **options):
    """A function of one array with three axes."""
    return entry(name, f, CUBE, **{"is_complex": True, **options})


def pair(name, f, **options):
    """A function of two matrices of one shape."""
    return entry(name, f, *PAIR, **{"is_complex": True, **options})


def mirror(vector, width, axis, options):
    """A mode of `numpy.pad`: the first entry in front, times a factor; nothing behind."""
    vector[: width[0]] = vector[width[0]] * options["scale"]


ENTRIES = [
    # axes
    cube("reshape", lambda x: np.reshape(x, (4, 6))),
    cube("reshape -1", lambda x: x.reshape(-1, 4)),
    cube("reshape as Fortran", lambda x: np.reshape(x, (6, -1), order="F")),
    cube("ravel as Fortran", lambda x: np.ravel(x, "F")),
    cube("ravel a view", lambda x: np.ravel(np.transpose(x)[1:])),
    cube("flatten", lambda x: x.flatten()),
    cube("transpose", lambda x: np.transpose(x, (1, -1, 0))),
    cube("T", lambda x: x.T),
    cube("mT", lambda x: x.mT),
    cube("matrix_transpose", np.matrix_transpose),
    cube("linalg.matrix_transpose", np.linalg.matrix_transpose),
    cube("swapaxes", lambda x: np.swapaxes(x, 0, -1)),
    cube("moveaxis", lambda x: np.moveaxis(x, (0, 1), (-1, 0))),
    cube("rollaxis", lambda x: np.rollaxis(x, 2, 1)),
    cube("expand_dims", lambda x: np.expand_dims(x, (0, -1))),
    cube("squeeze", lambda x: np.squeeze(x[:1], 0)),
    cube("atleast", lambda x: (np.atleast_1d(x[0, 0, 0]), np.atleast_2d(x[0, 0]), np.atleast_3d(x[0]))),
    # order
    cube("roll", lambda x: np.roll(x, (1, -2), (0, 2))),
    cube("roll flat", lambda x: np.roll(x, 3)),
    cube("flip", lambda x: np.flip(x, (0, 2))),
    cube("flip all", np.flip),
    cube("fliplr", np.fliplr),
    cube("flipud", np.flipud),
    cube("rot90", np.rot90),
    cube("rot90 twice", lambda x: np.rot90(x, 2)),
    cube("rot90 back", lambda x: np.rot90(x, 3, (1, 2))),
    # repetition
    cube("broadcast_to", lambda x: np.broadcast_to(x, (5, 2, 3, 4))),
    cube("broadcast_to along an axis", lambda x: np.broadcast_to(x[:, :1], (2, 3, 4))),
    pair("broadcast_arrays", lambda a, b: np.broadcast_arrays(a[:1], b)),
    pair("meshgrid", lambda a, b: np.meshgrid(a[0], b[:, 0])),
    pair("meshgrid sparse", lambda a, b: np.meshgrid(a[0], b[:, 0], indexing="ij", sparse=True)),
    cube("tile", lambda x: np.tile(x, (2, 1, 3))),
    cube("tile to more axes", lambda x: np.tile(x[0, 0], (2, 2))),
    cube("repeat", lambda x: np.repeat(x, 3, 1)),
    cube("repeat flat", lambda x: np.repeat(x, 2)),
    cube("repeat differently", lambda x: np.repeat(x, [1, 0, 2], axis=1)),
    # diagonals and triangles
    cube("diagonal", lambda x: np.diagonal(x, 1, 0, 2)),
    cube("diagonal below", lambda x: np.diagonal(x, -1, 1, 2)),
    cube("diagonal of swapped axes", lambda x: np.diagonal(x, 0, 2, 1)),
    cube("linalg.diagonal", lambda x: np.linalg.diagonal(x, offset=1)),
    cube("trace", lambda x: np.trace(x, 1, 1, 2)),
    cube("linalg.trace", np.linalg.trace),
    cube("diag of a matrix", lambda x: np.diag(x[0], -1)),
    cube("diag of a vector", lambda x: np.diag(x[0, 0], 2)),
    cube("diagflat", lambda x: np.diagflat(x[0], 1)),
    cube("triu", lambda x: np.triu(x, 1)),
    cube("tril", lambda x: np.tril(x, -1)),
    cube("tril of a vector", lambda x: np.tril(x[0, 0])),
    # copies, dtypes, ranges
    cube("copy", np.copy),
    cube("astype", lambda x: np.astype(x, np.complex128), single=False),
    cube("array of a list", lambda x: gnp.array([[x[0, 0, 0], 1.0], [x[1, 1], 2.0]][0]), device=False),
    cube("asarray of lists", lambda x: gnp.asarray([[x[0, 0, 0], 1.0], [2.0, x[1, 1, 1]]]), device=False),
    cube("asanyarray", lambda x: gnp.asanyarray(x, order="F") * 2),
    cube("ascontiguousarray", lambda x: gnp.ascontiguousarray(x.T) * 2),
    cube("asfortranarray", lambda x: gnp.asfortranarray(x) * 2),
    cube("asarray_chkfinite", lambda x: gnp.asarray_chkfinite(x) * 2),
    cube("require", lambda x: gnp.require(x, requirements=["F", "W"]) * 2),
    cube("full", lambda x: gnp.full((2, 4), x[0, 1])),
    pair("full_like", lambda a, b: np.full_like(a, b[0])),
    cube("vander", lambda x: np.vander(x[0, 0], 3), exact=False),
    cube("vander increasing", lambda x: np.vander(x[0, 0], increasing=True), exact=False),
    pair("linspace", lambda a, b: np.linspace(a, b, 5), exact=False),
    pair("linspace open", lambda a, b: np.linspace(a, b, 4, endpoint=False, axis=1), exact=False),
    entry("logspace", lambda a: np.logspace(a, 1.5, 4), real(2), exact=False, is_complex=True),
    entry("geomspace", lambda a, b: np.geomspace(a, b, 4), positive(2), positive(2), exact=False, is_complex=True),
    entry(
        "geomspace open",
        lambda a: np.geomspace(a, 9.0, 3, endpoint=False, axis=1),
        positive(2),
        exact=False,
        is_complex=True,
    ),
    cube("resize", lambda x: np.resize(x, (5, 7))),
    cube("resize smaller", lambda x: np.resize(x, 5)),
    # together
    pair("concatenate", lambda a, b: np.concatenate([a, b])),
    pair("concatenate axis -1", lambda a, b: np.concatenate((a, b[:, :1], a), axis=-1)),
    pair("concatenate flat", lambda a, b: np.concatenate([a, b[0]], axis=None)),
    cube("concatenate an array", lambda x: np.concatenate(x, 1)),
    pair("stack", lambda a, b: np.stack([a, b], -1)),
    pair("stack with numbers", lambda a, b: np.stack([a[0, 0], 1, b[1, 1]]), device=False),
    pair("vstack", lambda a, b: np.vstack([a[0], b])),
    pair("hstack", lambda a, b: np.hstack([a, b])),
    pair("hstack vectors", lambda a, b: np.hstack([a[0], b[0]])),
    pair("dstack", lambda a, b: np.dstack([a, b])),
    pair("column_stack", lambda a, b: np.column_stack([a[:, 0], b])),
    pair("block", lambda a, b: np.block([[a, b], [b * 2, a]])),
    pair("append", lambda a, b: np.append(a, b, 0)),
    pair("append flat", np.append),
    pair("insert", lambda a, b: np.insert(a, 1, b[0], 0), device=False),
    pair("insert several", lambda a, b: np.insert(a, [1, 2], b[:, :2], 1), device=False),
    pair("insert a column", lambda a, b: np.insert(a, 1, b[:, 0], 1), device=False),
    pair("insert flat", lambda a, b: np.insert(a, [0, 3], b[0, :2]), device=False),
    # apart
    cube("split", lambda x: np.split(x, 2, -1)),
    cube("array_split", lambda x: np.array_split(x, 3, 2)),
    cube("array_split at", lambda x: np.array_split(x, [1, 2], 1)),
    cube("vsplit", lambda x: np.vsplit(x, 2)),
    cube("hsplit", lambda x: np.hsplit(x, 3)),
    cube("dsplit", lambda x: np.dsplit(x, 2)),
    cube("unstack", lambda x: np.unstack(x, axis=1)),
    cube("delete", lambda x: np.delete(x, [0, 2], 1)),
    cube("delete flat", lambda x: np.delete(x, 1)),
    # padding
    cube("pad", lambda x: np.pad(x, ((1, 2), (0, 1), (2, 0)))),
    cube("pad a constant", lambda x: np.pad(x, 1, constant_values=2.0)),
    cube("pad edge", lambda x: np.pad(x, 2, mode="edge")),
    cube("pad reflect", lambda x: np.pad(x, ((1, 1), (2, 5), (0, 3)), mode="reflect")),
    cube("pad reflect odd", lambda x: np.pad(x, ((1, 1), (2, 5), (0, 3)), "reflect", reflect_type="odd"), exact=False),
    cube("pad symmetric", lambda x: np.pad(x, 3, mode="symmetric")),
    cube(
        "pad symmetric odd", lambda x: np.pad(x, ((0, 0), (1, 2), (0, 0)), "symmetric", reflect_type="odd"), exact=False
    ),
    cube("pad wrap", lambda x: np.pad(x, 3, mode="wrap")),
    cube(
        "pad ramp",
        lambda x: np.pad(x, ((1, 2), (2, 0), (0, 3)), "linear_ramp", end_values=((1, 2), (3, 4), (5, 6))),
        exact=False,
    ),
    cube("pad mean", lambda x: np.pad(x, 2, mode="mean", stat_length=2), exact=False),
    entry("pad maximum", lambda x: np.pad(x, 2, mode="maximum"), CUBE, is_complex=True),
    entry("pad minimum", lambda x: np.pad(x, 2, mode="minimum", stat_length=1), CUBE, is_complex=True),
    entry("pad median", lambda x: np.pad(x, 2, mode="median"), CUBE, is_complex=True),
    pair(
        "pad traced constants",
        lambda a, b: np.pad(a, ((1, 2), (0, 1)), constant_values=((b[0, 0], 1.0), (b[0, 1], b[1, 1]))),
        device=False,
    ),
    pair("pad one traced constant", lambda a, b: np.pad(a, 1, constant_values=b[0, 0])),
    pair("pad a traced ramp", lambda a, b: np.pad(a, 2, "linear_ramp", end_values=b[0, :2]), exact=False),
    cube("pad by a function", lambda x: np.pad(x[0], ((1, 2), (0, 1)), mirror, scale=2.0), device=False),
    cube("sliding_window_view", lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 3), (1, 2)), device=False),
    cube(
        "sliding_window_view twice",
        lambda x: np.lib.stride_tricks.sliding_window_view(x[0, 0], (2, 2), (0, 0)),
        device=False,
    ),
    # indices
    cube("index a list", lambda x: x[:, [0, 0, 2]], device=False),
    cube("index an array", lambda x: x[rows, :, picks], device=False),
    cube("index and new axis", lambda x: x[1, rows, None], device=False),
    cube("index a mask", lambda x: x[:, mask, [1, 1]], device=False),
    cube("index nothing", lambda x: x[np.zeros((2, 3, 4), bool)], device=False),
    cube("index backward", lambda x: x[..., None, ::-2]),
    cube("index around", lambda x: x[-1, ..., -2]),
    cube("index True", lambda x: x[True], device=False),
    entry("index on the device", lambda x, i: x[i], real(5, 3), np.array([0, 4, 4, -1]), is_complex=True),
    # views of views
    cube("index of slices of slices", lambda x: x[::-1, 1:][:, 0][::-1][0]),
    cube("index of a gather", lambda x: x[:, [0, 0, 2]][:, 1], device=False),
    cube("index of a reshape", lambda x: np.reshape(x[:, 1:], (2, -1))[0][1:4]),
    cube("index of a transposed reshape", lambda x: np.transpose(np.reshape(np.swapaxes(x, 0, 1), (6, 4)))[1, ::2]),
    cube("index of broadcast", lambda x: np.broadcast_to(x, (3, 2, 3, 4))[1, 0] + x[0]),
    cube("index of a diagonal", lambda x: np.diagonal(x, 0, 1, 2)[1][1:]),
]
