"""Do columns come back as they went in, and small?"""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gradviz.record.columns import best_encoding, decode, encode

DTYPES = ("u1", "<u2", "<i2", "<i4", "<i8", "<f8")
ENCODINGS = ([], ["delta"], ["shuffle"], ["delta", "shuffle"])


@given(
    st.sampled_from(DTYPES).flatmap(lambda dtype: hnp.arrays(dtype, st.integers(0, 200))),
    st.sampled_from(ENCODINGS),
)
def test_any_column_comes_back(column, encoding):
    if column.dtype.kind == "f":
        encoding = [step for step in encoding if step != "delta"]
    data = encode(column, encoding)
    assert len(data) == column.nbytes
    back = decode(data, column.dtype, encoding)
    assert back.dtype == column.dtype
    assert back.tobytes() == column.tobytes()
    assert back.flags.writeable


def test_delta_wraps_around():
    column = np.array([0, -(2**63), 2**63 - 1, 5], "<i8")
    assert np.array_equal(decode(encode(column, ["delta"]), column.dtype, ["delta"]), column)


def test_strided_columns_are_encoded():
    column = np.arange(20, dtype="<i4")[::2]
    assert np.array_equal(decode(encode(column, ["delta", "shuffle"]), column.dtype, ["delta", "shuffle"]), column)


@pytest.mark.parametrize("dtype", ["<i8", "<i4"])
def test_the_encoding_fits_the_data(dtype):
    rising = np.cumsum(np.random.default_rng(0).integers(0, 900, 100_000)).astype(dtype)
    best = best_encoding(rising)
    assert best == ["delta", "shuffle"]
    assert len(zlib.compress(encode(rising, best))) < 0.6 * len(zlib.compress(rising.tobytes()))


def test_floats_are_never_differenced():
    assert "delta" not in best_encoding(np.arange(1000, dtype="<f8"))
