"""How a column becomes few bytes.

Two encodings, named in the manifest in the order in which they were applied, make columns easy to deflate:

``delta``    each value becomes its difference from the one before (the first from 0), modulo 2**bits
``shuffle``  the bytes are regrouped by significance: first the lowest byte of every value, then the next, ...

Both are undone with a few lines of NumPy or JavaScript.
"""

from __future__ import annotations

import zlib

import numpy as np

ENCODINGS = ("delta", "shuffle")

_SAMPLE_ROWS = 8192
_SAMPLES = 3


def encode(column: np.ndarray, encoding: list[str]) -> bytes:
    """The bytes of ``column`` after ``encoding``, ready to be deflated.

    Examples
    --------
    >>> list(encode(np.array([5, 6, 8], "<i2"), ["delta", "shuffle"]))
    [5, 1, 2, 0, 0, 0]
    """
    values = np.ascontiguousarray(column)
    for step in encoding:
        values = _delta(values) if step == "delta" else _shuffle(values)
    return values.tobytes()


def decode(data: bytes | bytearray, dtype: np.dtype, encoding: list[str]) -> np.ndarray:
    """The column that `encode` turned into ``data``; ``len(data)`` must be a multiple of ``dtype.itemsize``."""
    values = np.frombuffer(data, np.uint8)
    if "shuffle" in encoding:
        values = np.ascontiguousarray(values.reshape(dtype.itemsize, -1).T)
    values = values.reshape(-1).view(dtype)
    if "delta" in encoding:
        unsigned = values.view(_unsigned(dtype))
        values = np.cumsum(unsigned, dtype=unsigned.dtype).view(dtype)
    return values if values.flags.writeable else values.copy()


def best_encoding(column: np.ndarray) -> list[str]:
    """The encoding under which a sample of ``column`` deflates best."""
    wide = column.dtype.itemsize > 1
    candidates: list[list[str]] = [[]]
    if wide:
        candidates.append(["shuffle"])
    if column.dtype.kind in "iu":
        candidates.append(["delta"])
        if wide:
            candidates.append(["delta", "shuffle"])
    samples = _samples(column)
    return min(candidates, key=lambda encoding: sum(len(zlib.compress(encode(s, encoding), 1)) for s in samples))


def _samples(column: np.ndarray) -> list[np.ndarray]:
    if len(column) <= _SAMPLES * _SAMPLE_ROWS:
        return [column]
    starts = np.linspace(0, len(column) - _SAMPLE_ROWS, _SAMPLES).astype(int)
    return [column[start : start + _SAMPLE_ROWS] for start in starts]


def _unsigned(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"<u{dtype.itemsize}")


def _delta(values: np.ndarray) -> np.ndarray:
    unsigned = values.view(_unsigned(values.dtype))
    differences = unsigned.copy()
    np.subtract(unsigned[1:], unsigned[:-1], out=differences[1:])
    return differences


def _shuffle(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values.view(np.uint8).reshape(-1, values.dtype.itemsize).T)
