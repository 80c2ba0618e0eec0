"""Has `gradviz.numpy` all of NumPy's functions, and those that NumPy does not send to traced arrays in its own way?"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import gradviz as gv
import gradviz.numpy as gnp
from gradviz.errors import ConversionError
from gradviz.numpy import undispatched

A = np.arange(6.0).reshape(2, 3)
OURS = [
    n for n in sorted(np.__all__) if getattr(getattr(gnp, n), "__module__", "") == undispatched.__name__ and n != "full"
]


@pytest.mark.parametrize("name", sorted(np.__all__))
def test_every_name_is_there(name):
    ours, theirs = getattr(gnp, name), getattr(np, name)
    assert ours is theirs or callable(ours) == callable(theirs)
    assert name in dir(gnp)


@pytest.mark.parametrize("name", OURS)
def test_parameters_are_called_as_in_numpy(name):
    theirs = inspect.signature(getattr(np, name)).parameters
    named = [p for p in inspect.signature(getattr(gnp, name)).parameters.values() if p.kind is not p.VAR_KEYWORD]
    assert [p.name for p in named] == [p for p in theirs if p in {q.name for q in named}]


PLAIN = {
    "asanyarray": lambda m: m.asanyarray([1, 2], dtype=float),
    "asanyarray in column order": lambda m: m.asanyarray(A, order="F"),
    "ascontiguousarray": lambda m: m.ascontiguousarray(A.T),
    "ascontiguousarray of a number": lambda m: m.ascontiguousarray(2.0),
    "asfortranarray": lambda m: m.asfortranarray(A, dtype=np.float32),
    "asarray_chkfinite": lambda m: m.asarray_chkfinite([1.0, 2.0]),
    "require": lambda m: m.require(A, np.float32, ["F", "W", "O"]),
    "full": lambda m: m.full((2, 3), 1.5, dtype=np.float32),
    "kaiser": lambda m: m.kaiser(5, 3.0),
    "interp": lambda m: m.interp([0.5, 3.0], [0, 1], [1, 2], right=7.0),
    "vectorize": lambda m: m.vectorize(lambda x, y: x + y)(A, [1, 2, 3]),
}


@pytest.mark.parametrize("f", PLAIN.values(), ids=PLAIN)
def test_of_plain_arrays_the_result_is_numpys(f):
    want, got = f(np), f(gnp)
    got = got.value if isinstance(got, gv.Array) else got
    np.testing.assert_array_equal(got, want, strict=True)
    assert got.flags.c_contiguous == want.flags.c_contiguous
    assert got.flags.f_contiguous == want.flags.f_contiguous


def test_layouts_of_traced_arrays():
    seen = []

    def f(x):
        seen.extend(
            [gnp.asfortranarray(x), gnp.ascontiguousarray(x.T), gnp.ascontiguousarray(x), gnp.require(x, None, "W")]
        )
        return np.sum(x)

    gv.grad(f)(A)
    assert [a.flags.c_contiguous for a in seen] == [False, True, True, True]


def test_an_array_that_is_right_already_is_not_copied():
    gv.grad(lambda x: np.sum(gnp.ascontiguousarray(x)) if gnp.ascontiguousarray(x) is x else 0 / 0)(A)


@pytest.mark.parametrize("convert", [gnp.asarray_chkfinite, np.asarray_chkfinite])
def test_asarray_chkfinite_refuses_nan(convert):
    with pytest.raises((ValueError, ConversionError)):
        gv.grad(lambda x: np.sum(convert(x * np.nan)))(A)


def test_require_refuses_two_orders():
    with pytest.raises(ValueError, match="both 'C' and 'F'"):
        gnp.require(A, requirements=["C", "F"])


@pytest.mark.parametrize(
    ("make", "want"),
    [
        (lambda x: gnp.vectorize(lambda a, b: a * b, excluded={1})(x, 3.0), 3.0),
        (lambda x: gnp.vectorize(lambda a, b=1.0: a * b)(x, b=2.0), 2.0),
        (lambda x: gnp.vectorize(lambda a: (a, 5 * a))(x)[1], 5.0),
        (
            lambda x: gnp.vectorize(lambda v: v @ v / 2 - v[0] * v[0] / 2, signature="(n)->()")(x[:, 1:]),
            [[0, 0, 2], [0, 0, 5]],
        ),
        (lambda x: gnp.vectorize(lambda a: 4 * a, otypes="f")(x), 4.0),
    ],
)
def test_vectorize(make, want):
    np.testing.assert_allclose(gv.grad(lambda x: np.sum(make(x)))(A), np.broadcast_to(want, A.shape))


def test_vectorize_has_nothing_to_ask_about_no_entries():
    with pytest.raises(ValueError, match="size 0"):
        gv.grad(lambda x: np.sum(gnp.vectorize(lambda a: a)(x)))(A[:0])


def test_a_traced_value_that_numpy_would_read_as_a_number():
    with pytest.raises(ConversionError, match=r"np\.interp was about to read .* gradviz\.numpy\.interp"):
        gv.grad(lambda x: np.interp(-1.0, A[0], A[1], left=x))(3.0)
    assert gv.grad(lambda x: gnp.interp(-1.0, A[0], A[1], left=x))(3.0) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axes": [0, (0, 1)]}, r"axes \(0, 1\) for an argument with 1"),
        ({"axes": [0]}, "an entry for each argument"),
        ({"axes": [0, 0], "axis": 0}, "both 'axis' and 'axes'"),
    ],
)
def test_axes_that_numpy_refuses(options, message):
    with pytest.raises(Exception):  # noqa: B017, PT011 - AxisError, ValueError, TypeError
        np.vecdot(A, A, **options)
    with pytest.raises((TypeError, ValueError), match=message):
        gv.grad(lambda x: np.sum(np.vecdot(x, A, **options)))(A)


def test_axis_is_for_products_along_one():
    with pytest.raises(TypeError, match="no axis="):
        gv.grad(lambda x: np.sum(np.matmul(x, A.T, axis=0)))(A)


@pytest.mark.parametrize(
    "pick", [np.unique, np.unique_values, lambda x: np.extract(True, x), lambda x: np.take(x, [0])]
)
def test_a_number_picked_from_itself(pick):
    assert gv.grad(lambda x: np.sum(5 * pick(x)))(2.0) == 5.0


def test_full_in_column_order_and_on_a_device():
    def f(x):
        made = gnp.full((2, 3), x, order="F", device="cpu")
        assert made.strides == (8, 16)
        return np.sum(made)

    assert gv.grad(f)(2.0) == 6.0
