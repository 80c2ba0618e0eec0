"""Is each thing that a plan was made for noticed when it is another?"""

from __future__ import annotations

import random
import types
import warnings
from typing import Any

import numpy as np
import pytest

import gradviz as gv
from gradviz.errors import CaptureError, CompileWarning, ConversionError, DonationError, EscapedArrayError

RATE = 0.5
TABLE = np.array([1.0, 2.0, 3.0])
SETTINGS = types.SimpleNamespace(power=2, weights=[np.array([1.0, 1.0, 1.0])])
X = np.array([0.1, 0.2, 0.3])


def plans(f: Any) -> int:
    return sum(map(len, f.plans.values()))


# ---- arguments


@pytest.mark.parametrize(
    "other",
    [
        np.ones(4), np.ones((3, 1)), np.ones(3, np.float32), np.ones(6)[::2], 2.0, [np.ones(3)], np.ones((3, 3)),
        np.ones(3, int), np.ones(3, complex),
    ],
    ids=str,
)  # fmt: skip
def test_another_kind_of_argument_is_another_plan(other: Any) -> None:
    f = gv.compile(lambda x: np.sum(x if isinstance(x, float) else x[0]) * 2)
    assert f(X) == X[0] * 2
    want = np.sum(other if isinstance(other, float) else other[0]) * 2
    got = f(other)
    assert got == want
    assert type(got) is type(want)
    assert plans(f) == 2


def test_layouts_are_told_apart() -> None:
    f = gv.compile(lambda x: x.ravel(order="K"))
    a = np.arange(6.0).reshape(2, 3)
    for given in (a, np.asfortranarray(a), a.T, a[:, ::-1], np.arange(12.0).reshape(2, 6)[:, ::2], a):
        np.testing.assert_array_equal(f(given), given.ravel(order="K"))


@pytest.mark.parametrize(
    ("one", "two"), [(2, 3), (True, False), ("sum", "mean"), (None, 1), (1, 1.0), (1, True), (0.0, -0.0)]
)
def test_fixed_arguments(one: Any, two: Any) -> None:
    def f(x: Any, how: Any) -> Any:
        if isinstance(how, str):
            return getattr(np, how)(x)
        return x * (1.0 if how is None else how), type(how).__name__ if not isinstance(how, float) else "float"

    g = gv.compile(f)
    for how in (one, two, one):
        got, want = g(X, how), f(X, how)
        for a, b in (
            zip(np.atleast_1d(got), np.atleast_1d(want), strict=True)
            if isinstance(how, str)
            else zip(got, want, strict=True)
        ):
            np.testing.assert_array_equal(a, b)
            assert isinstance(b, str) or (np.signbit(a) == np.signbit(b)).all()


def test_a_value_that_python_looks_at_takes_another_path() -> None:
    f = gv.compile(lambda x: x * 2 if np.sum(x) > 0 else -x)
    for sign in (1, -1, 1, -1):
        np.testing.assert_array_equal(f(sign * X), 2 * X if sign > 0 else X)
    assert plans(f) == 2


def test_an_integer_that_python_looks_at_takes_another_path() -> None:
    f = gv.compile(lambda x, n: sum((x * k for k in range(n[0])), 0 * x))
    for n in (2, 3, 2):
        np.testing.assert_array_equal(f(X, np.array([n])), sum(k * X for k in range(n)))
    assert plans(f) == 2


def test_too_many_paths_are_run_uncompiled_with_one_warning() -> None:
    f = gv.compile(lambda x: x * int(x[0]))
    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        for n in range(20):
            np.testing.assert_array_equal(f(np.array([float(n)])), [float(n * n)])
    (warning,) = met
    assert issubclass(warning.category, CompileWarning)
    assert "looked at a value (int)" in str(warning.message)
    assert "test_guards.py" in str(warning.message)
    assert plans(f) == 16


def test_counting_with_an_integer_argument_is_warned_of() -> None:
    f = gv.compile(lambda x, step: x / step)
    results = []
    with pytest.warns(CompileWarning, match="'step'"):
        results += [f(X, n) for n in range(1, 40)]
    np.testing.assert_array_equal(results, [X / n for n in range(1, 40)])


def test_an_array_with_another_shape_or_dtype_in_place_is_noticed() -> None:
    """The same object twice is not the same argument twice."""

    def step(x: Any) -> Any:
        x *= 2
        return np.sum(x, axis=0)

    f = gv.compile(step)
    x, y = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    for shape in ((2, 3), (2, 3), (3, 2), (3, 2), (2, 3)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy would rather have a reshape
            x.shape = y.shape = shape
        np.testing.assert_array_equal(f(x), step(y))
        np.testing.assert_array_equal(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x.dtype = y.dtype = np.int64
    got, want = f(x), step(y)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == want.dtype == np.int64


def test_a_list_that_is_shorter_and_a_dict_with_other_keys_are_other_arguments() -> None:
    f = gv.compile(lambda tree: sum(np.sum(x) * (k + 1) for k, x in enumerate(tree["x"])) + tree.get("y", 0.0))
    for tree in (
        {"x": [X, X]},
        {"x": [X, X]},
        {"x": [X]},
        {"x": [X, X], "y": 1.0},
        {"x": (X, X)},
        {"y": 2.0, "x": [X, X]},
    ):
        for _ in range(2):
            want = sum(np.sum(x) * (k + 1) for k, x in enumerate(tree["x"])) + tree.get("y", 0.0)
            np.testing.assert_allclose(f(tree), want)


def test_donated_arrays_come_back_beside_fixed_arguments() -> None:
    f = gv.compile(lambda how, x, n, y, z: (x * n, {"z": z + 1.0, "y": y - 1.0}, how), donate=("x", "y", "z"))
    x, y, z = np.arange(3.0), np.arange(3.0) + 10, np.arange(4.0)
    for k in range(4):
        a, rest, how = f("a", x, 2, y, z)
        np.testing.assert_array_equal(a, 2.0 ** (k + 1) * np.arange(3.0))
        np.testing.assert_array_equal(rest["y"], np.arange(3.0) + 9 - k)
        np.testing.assert_array_equal(rest["z"], np.arange(4.0) + 1 + k)
        assert how == "a"
        assert {id(a), id(rest["y"])} == {id(x), id(y)}
        assert rest["z"] is z
        x, y = a, rest["y"]


def test_what_is_overwritten_must_be_writeable_at_each_call() -> None:
    def step(x: Any) -> Any:
        x += 1
        return np.sum(x)

    f, x = gv.compile(step), np.zeros(3)
    assert [f(x), f(x)] == [3, 6]
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(x)
    np.testing.assert_array_equal(x, 2)


def test_arrays_that_come_to_overlap_are_noticed() -> None:
    f = gv.compile(lambda x, y: (x + y, np.sum(y)), donate="x")
    memory = np.arange(10.0)
    for start in (5, 5, 6):
        f(memory[:4], memory[start : start + 4])
    with pytest.raises(DonationError, match="shares memory"):
        f(memory[:4], memory[2:6])
    f(memory[:4], memory[5:9])
    with pytest.raises(DonationError, match="shares memory"):
        f(memory[:4], memory[:4])


# ---- what is no argument


def test_globals_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    f = gv.compile(gv.grad(lambda x: RATE * np.sum(TABLE * x**SETTINGS.power) + np.sum(SETTINGS.weights[0] * x)))

    def agrees() -> None:
        slope = RATE * TABLE * SETTINGS.power * X ** (SETTINGS.power - 1) + SETTINGS.weights[0]
        np.testing.assert_allclose(f(X), slope, rtol=1e-14)

    agrees()
    monkeypatch.setitem(globals(), "RATE", 0.25)
    agrees()
    monkeypatch.setitem(globals(), "TABLE", TABLE * 2)
    agrees()
    TABLE[1] = 7
    agrees()
    monkeypatch.setattr(SETTINGS, "power", 3)
    agrees()
    SETTINGS.weights[0][2] = 5
    agrees()
    SETTINGS.weights[0] = np.array([3.0, 2.0, 1.0])
    agrees()
    assert plans(f) == 3  # one for each number; arrays are read anew


def test_closures_and_helpers_are_followed() -> None:
    scale, shift, held = 2.0, np.array([1.0, 2.0, 3.0]), {"b": np.ones(3)}

    def helper(x: Any) -> Any:
        return scale * x + held["b"]

    f = gv.compile(lambda x: helper(x) + shift)
    np.testing.assert_array_equal(f(X), 2 * X + [2, 3, 4])
    scale = 3.0
    np.testing.assert_array_equal(f(X), 3 * X + [2, 3, 4])
    shift[:] = 0
    np.testing.assert_array_equal(f(X), 3 * X + 1)
    held["b"] = np.full(3, 5.0)
    np.testing.assert_array_equal(f(X), 3 * X + 5)
    held["b"] = np.full(3, 5.0, np.float32)
    np.testing.assert_array_equal(f(X), 3 * X + 5)
    helper = np.sin  # type: ignore[assignment]  # noqa: F811
    np.testing.assert_allclose(f(X), np.sin(X) + shift, rtol=1e-14)


def test_views_of_what_is_outside_are_read_anew() -> None:
    w = np.arange(9.0).reshape(3, 3)
    f = gv.compile(lambda x: w.T @ x + w[1])
    np.testing.assert_allclose(f(X), w.T @ X + w[1])
    w[1, 2] = 50
    np.testing.assert_allclose(f(X), w.T @ X + w[1])
    w = w + 1
    np.testing.assert_allclose(f(X), w.T @ X + w[1])


def test_arrays_without_a_name_are_read_anew() -> None:
    class Store:
        def __init__(self) -> None:
            self.arrays = {("a", 1): np.ones(3)}

        def get(self, key: str) -> Any:
            return self.arrays[key, 1]

    store = Store()
    f = gv.compile(lambda x: store.get("a") * x)
    np.testing.assert_array_equal(f(X), X)
    store.arrays["a", 1][0] = 4
    np.testing.assert_array_equal(f(X), X * [4, 1, 1])


def test_what_is_computed_from_outside_is_noticed() -> None:
    w, k = np.array([1.0, 2.0, 3.0]), 0
    f = gv.compile(lambda x: np.exp(w) * x + w[k])
    np.testing.assert_allclose(f(X), np.exp(w) * X + w[0])
    w[0] = 3
    np.testing.assert_allclose(f(X), np.exp(w) * X + w[0])


def test_attributes_of_objects_are_followed() -> None:
    class Model:
        def __init__(self) -> None:
            self.w, self.power = np.ones(3), 2

        @property
        def rate(self) -> float:
            return 0.5 * self.power

        @gv.compile
        def loss(self, x: Any) -> Any:
            return np.sum(self.w * x**self.power) * self.rate

    m, n = Model(), Model()
    for change in (
        lambda: None,
        lambda: setattr(m, "power", 3),
        lambda: m.w.__setitem__(0, 9.0),
        lambda: setattr(m, "w", np.zeros(3)),
    ):
        change()
        np.testing.assert_allclose(m.loss(X), np.sum(m.w * X**m.power) * m.rate)
        np.testing.assert_allclose(n.loss(X), np.sum(X**2))


def test_constants_are_listed() -> None:
    w = np.ones((2, 3))
    f = gv.compile(lambda x: w @ x + np.arange(2.0))
    referred, made = f.constants(X)
    assert referred == "w: float64[2, 3], read anew at each call"
    assert made.startswith("made at tests/plan/test_guards.py:")
    assert made.endswith("float64[2], kept")


def test_a_write_into_an_array_from_outside_is_refused() -> None:
    counts = np.zeros(3)

    def f(x: Any) -> Any:
        y = counts * x
        counts[0] += 1
        return y

    with pytest.raises(CaptureError, match="writes into counts, which"):
        gv.compile(f)(X)


# ---- what is refused


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda x: float(x[0]), "float"),
        (lambda x: x[0].item(), "item"),
        (lambda x: x.tolist(), "tolist"),
        (lambda x: f"{x[0]:.3f}", "0.3f|.3f"),
        (lambda x: gv.grad(lambda y: float(np.sum(y)) * np.sum(y))(x), "float"),
        (lambda x: gv.grad(lambda y: np.sum(y) * y[0].item())(x), "item"),
        (lambda x: complex(x[0]), "complex"),
        (lambda x: round(x[0], 2), "round"),
        (lambda x: x * np.random.rand(), "random"),  # noqa: NPY002
        (lambda x: x * random.random(), "random"),
        (lambda x: x * np.random.default_rng().normal(), "without a seed"),
        (lambda x: iter([x]), "returned a list_iterator"),
    ],
)  # fmt: skip
def test_refused(f: Any, says: str) -> None:
    with pytest.raises(CaptureError, match=says) as e:
        gv.compile(f)(X)
    assert says.startswith("returned") or "test_guards.py:" in str(e.value)


def test_a_seeded_generator_inside_is_the_same_at_each_call() -> None:
    def f(x: Any) -> Any:
        return x * np.random.default_rng(3).normal(size=3)

    g = gv.compile(f)
    np.testing.assert_array_equal(g(X), f(X))
    np.testing.assert_array_equal(g(2 * X), f(2 * X))


def test_a_generator_from_outside_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(CaptureError, match="from rng"):
        gv.compile(lambda x: x * rng.normal())(X)
    with pytest.raises(CaptureError, match="argument 'g'"):
        gv.compile(lambda x, g: x * g.normal())(X, rng)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.asarray(x),
        lambda x: np.add(x, 1, out=np.zeros(3)),
        lambda x: np.copyto(np.zeros(3), x),
        lambda x: np.sum(x, out=np.zeros(())),
        lambda x: np.zeros(3).__setitem__(slice(3), x),
    ],
)  # fmt: skip
def test_plain_arrays_take_no_values(f: Any) -> None:
    with pytest.raises(ConversionError):
        gv.compile(f)(X)


def test_a_value_kept_after_the_call_is_refused() -> None:
    kept = []
    gv.compile(lambda x: kept.append(x * 2))(X)
    with pytest.raises(EscapedArrayError):
        kept[0] + 1


@pytest.mark.parametrize("given", [np.array(["a"]), np.array([None]), np.ma.masked_array([1.0], [False])], ids=str)
def test_arguments_that_are_no_arrays_of_numbers(given: Any) -> None:
    with pytest.raises(CaptureError, match="argument 'x'"):
        gv.compile(lambda x: x)(given)


# ---- overwriting


def test_donated_arguments_are_named_as_parameters() -> None:
    with pytest.raises(DonationError, match="'nothing'"):
        gv.compile(lambda x: x + 1, donate="nothing")(X)
    for donate in ("x", 0, ["x"], (0,)):
        f = gv.compile(lambda x, y: x + y, donate=donate)
        np.testing.assert_array_equal(f(X.copy(), X), 2 * X)
        assert f.path(X.copy(), X).overwritten == {0}


def test_donated_arguments_share_no_memory_with_others() -> None:
    f = gv.compile(lambda x, y: x + y, donate="x")
    x = np.arange(6.0)
    for a, b in ((x, x), (x[:3], x[1:4]), (x[3:], x[::2])):
        with pytest.raises(DonationError, match=r"'x' of .* shares memory with argument 'y'"):
            f(a, b)
    np.testing.assert_array_equal(f(x[:3], x[3:]), [3.0, 5.0, 7.0])


def test_arguments_that_are_written_into() -> None:
    @gv.compile
    def step(params: Any, grads: Any) -> None:
        for p, g in zip(params, grads, strict=True):
            p -= 0.5 * g

    params, grads = [np.ones(3), np.ones(2)], [np.ones(3), np.zeros(2)]
    for k in (1, 2, 3):
        assert step(params, grads) is None
        np.testing.assert_array_equal(params[0], np.full(3, 1 - 0.5 * k))
    with pytest.raises(DonationError, match="'params'"):
        step(params, params)


def test_results_share_no_memory() -> None:
    shared = np.ones(3)
    f = gv.compile(lambda x: (x, x, x[1:], shared, np.ones(2), x * 2))
    for _ in range(2):
        results = f(X)
        for k, a in enumerate(results):
            assert not any(np.shares_memory(a, b) for b in (*results[:k], X, shared))
            a[...] = 0
    np.testing.assert_array_equal(f(X)[4], [1.0, 1.0])


# ---- where it is called


def test_traced_arguments_run_it_as_it_is() -> None:
    f = gv.compile(lambda x: np.sum(x**2))
    np.testing.assert_array_equal(gv.grad(f)(X), 2 * X)
    assert plans(f) == 0
    y = X * 3
    g = gv.compile(lambda x: f(x) + f(y))
    np.testing.assert_allclose(g(X), np.sum(X**2) + np.sum(y**2))
    np.testing.assert_allclose(gv.grad(lambda z: gv.compile(lambda x: np.sum(x * z))(X))(y), X)


def test_a_recording_sees_nothing_of_the_capture() -> None:
    f = gv.compile(gv.grad(lambda x: np.sum(x**2)))
    with gv.profile() as p:
        f(X)
    assert len(p.trace.events["kind"]) <= 1  # a step of the plan, and none of the calls that were captured


def test_it_looks_like_the_function() -> None:
    @gv.compile(donate="x")
    def named(x: Any) -> Any:
        """What it does."""
        return x + 1

    assert (named.__name__, named.__doc__) == ("named", "What it does.")
    np.testing.assert_array_equal(named(x=X.copy()), X + 1)
    assert "add" in str(named.program(x=X.copy()))


def test_errors_of_the_function_pass_through() -> None:
    def f(x: Any) -> Any:
        if np.sum(x) > 0:
            raise KeyError("no")
        return x

    g = gv.compile(f)
    with pytest.raises(KeyError):
        g(X)
    np.testing.assert_array_equal(g(-X), -X)
    with pytest.raises(KeyError):
        g(X)
