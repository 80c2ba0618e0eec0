"""Do writes mean what they mean in NumPy, and copy exactly what must be copied?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz import numpy as gnp
from gradviz.errors import EscapedArrayError, WriteError
from gradviz.record.events import Reason

X = np.array([1.0, 2.0, 3.0])


def copies(f, *args):
    """(reason, name of the call because of which) of every copy that a gradient makes."""
    with gv.profile() as p:
        gv.grad(f)(*args)
    table = p.trace.copies
    return [
        (Reason(reason).name, p.trace.name(int(because)) if because >= 0 else None)
        for reason, because in zip(table["reason"], table["because"], strict=True)
        if reason not in (Reason.INDEXED, Reason.FIRST_ACCUMULATION, Reason.RETURNED)
    ]


# ---- copies


def write_input(a):
    a[0] = 5.0
    a[1] = 6.0
    return np.sum(a)


def write_input_through_view(a):
    v = a[1:]
    v[0] = 5.0
    return np.sum(a)


def write_saved(a):
    b = a + 1.0
    c = b * b
    b[0] = 0.0
    b[1] = 0.0
    return np.sum(c * b)


def update_saved_output(a):
    b = np.exp(a)
    b[:] = 2.0
    return np.sum(a * b)


def write_saved_by_two(a):
    b = a + 1.0
    c = np.sin(b) + np.cos(b)
    b[:] = 0.0
    return np.sum(c + b)


@pytest.mark.parametrize(
    ("f", "want"),
    [
        (write_input, [("CALLERS_ARRAY", None)]),
        (write_input_through_view, [("CALLERS_ARRAY", None)]),
        (write_saved, [("SAVED_VALUE", "square")]),
        (update_saved_output, [("SAVED_VALUE", "exp")]),
        (write_saved_by_two, [("SAVED_VALUE", "sin")]),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_exactly_one_copy(f, want):
    x = X.copy()
    assert copies(f, x) == want
    assert np.array_equal(x, X)


def fill_buffer(a):
    buffer = gnp.zeros((4, 3))
    for i in range(4):
        buffer[i] = a * float(i)
    return np.sum(buffer)


def recurrence(a):
    buffer = np.zeros((4, 3)) * a
    buffer[0] = a
    for i in range(1, 4):
        buffer[i] = buffer[i - 1] * 2.0
    return np.sum(buffer)


def add_in_place(a):
    b = a * 2.0
    b += a
    b -= 1.0
    b *= 3.0
    b /= 2.0
    return np.sum(b)


def update_input(a):
    a += 1.0  # NumPy would change the caller's array; here the sum gets memory of its own
    return np.sum(a)


def write_linear(a):
    b = a + 1.0
    c = b + a  # adding keeps nothing
    b[0] = 7.0
    return np.sum(c + b)


def write_beside_saved(a):
    b = a + 1.0
    c = b[:1] * b[:1]
    b[1:] = 0.0
    return np.sum(c) + np.sum(b)


def add_rows(a):
    b = np.zeros((50, 3)) * a
    for i in range(50):
        np.add.at(b, [i, i], a * 2.0)
        np.subtract.at(b, [i, 0], 1.0)
    return np.sum(b)


@pytest.mark.parametrize(
    "f", [add_rows, fill_buffer, recurrence, add_in_place, update_input, write_linear, write_beside_saved]
)
def test_no_copy(f):
    x = X.copy()
    assert copies(f, x) == []
    assert np.array_equal(x, X)


# ---- what NumPy means


def test_views_of_an_untraced_array_see_updates_of_it():
    a = gnp.zeros(3)
    v = a[:2]
    a += 1
    assert np.asarray(v).tolist() == [1, 1]
    a += 1
    assert np.asarray(v).tolist() == [2, 2]


def test_a_number_is_bound_anew_by_an_update():
    def f(x):
        s = np.sum(x)
        t = s
        s += 1.0
        s *= 2.0
        return s * t

    assert gv.grad(f)(X).tolist() == [26.0] * 3  # 2 (t + 1) t


def test_a_0d_array_is_updated_in_place():
    def f(x):
        a = np.zeros_like(x)
        b = a
        a += x
        return b * x

    assert gv.grad(f)(np.array(3.0)) == 6


def test_an_output_may_be_larger_than_the_result():
    def f(x):
        a = gnp.zeros((2, 3))
        np.multiply(x, x, out=a)
        return np.sum(a)

    assert gv.grad(f)(X).tolist() == [4, 8, 12]


def test_an_output_that_would_become_a_view_is_written_to():
    def f(x):
        a = gnp.zeros((3, 2))
        np.einsum("ij->ji", x, out=a)
        a -= x.T * 0.5
        return np.sum(a * a) + np.sum(x)

    x = np.arange(6.0).reshape(2, 3)
    kept = x.copy()
    assert np.allclose(gv.grad(f)(x), 0.5 * x + 1)
    assert np.array_equal(x, kept)


def test_a_leading_axis_of_length_1_is_dropped_by_an_assignment():
    def f(x):
        a = gnp.zeros(3)
        a[1:] = x[None, None, :2]
        return np.sum(a * a)

    assert gv.grad(f)(X).tolist() == [2, 4, 0]


def test_an_index_array_may_be_changed_after_its_use():
    def f(x):
        index, total = np.array([0, 1]), 0.0
        for k in range(2):
            total = total + (k + 1) * np.sum(x[index] ** 2)
            index += 1
        return total

    assert gv.grad(f)(X).tolist() == [2, 12, 12]


def test_a_mask_may_be_changed_after_its_use():
    def f(x):
        mask = np.array([True, False, True])
        a = np.zeros_like(x)
        a[mask] = x[mask]
        y = np.where(mask, a * a, 0)
        mask[:] = False
        return np.sum(y)

    assert gv.grad(f)(X).tolist() == [2, 0, 6]


@pytest.mark.parametrize("mask", [True, False])
def test_a_mask_on_a_0d_array(mask):
    def f(x, y):
        x[np.array(mask)] = y
        return x * 3.0

    assert gv.grad(f, (0, 1))(np.array(1.0), np.array(2.0)) == ((0, 3) if mask else (3, 0))


@pytest.mark.parametrize("order", ["C", "F"])
def test_layouts(order):
    """Writes through a view that only one order of axes offers, where cotangents come in the other."""

    def f(x):
        a = gnp.zeros((3, 2), order=order)
        flat = (a.T if order == "F" else a).reshape(-1)
        flat[1:4] = x
        flat += 1.0
        flat[2] = 0.0
        return np.sum(a * np.arange(6.0).reshape(3, 2))

    number = np.arange(6.0).reshape(3, 2)
    flat = (number.T if order == "F" else number).reshape(-1)
    want = [flat[1], 0.0, flat[3]]
    assert gv.grad(f)(X).tolist() == want
    assert np.isclose(gv.jvp(f, (X,), (X,))[1], np.dot(want, X))
    assert np.allclose(gv.grad(lambda x: np.sum(gv.grad(lambda y: f(y * y))(x)))(X), 2 * np.array(want))


def test_a_callers_array_in_fortran_order():
    def f(x):
        flat = x.T.reshape(-1)
        flat[0] = 1.0
        return np.sum(x * x)

    x = np.asfortranarray(np.arange(6.0).reshape(3, 2))
    want = 2 * x
    want[0, 0] = 0
    assert np.array_equal(gv.grad(f)(x), want)
    assert x[0, 0] == 0


def test_ravel_of_what_is_not_contiguous_is_a_copy():
    def f(x):
        flat = np.ravel(x[::2])
        flat[0] = 0.0
        return np.sum(x * x) + np.sum(flat)

    assert gv.grad(f)(X).tolist() == [2, 4, 7]


# ---- writes among several derivatives


def test_an_outer_array_updated_in_an_inner_function():
    def f(a):
        buffer = a * 1.0

        def inner(b):
            update = buffer
            update += 1.0
            return np.sum(b * b * update)

        return np.sum(gv.grad(inner)(a))

    assert gv.grad(f)(X).tolist() == [6, 10, 14]  # 2 a (a + 1)


def test_an_outer_array_written_to_in_an_inner_function():
    def f(a):
        buffer = a * 1.0
        part = buffer[1:]

        def inner(b):
            buffer[1] = 7.0
            return np.sum(b * part)

        return np.sum(gv.grad(inner)(a[1:]) * np.array([10.0, 1.0]))

    assert gv.grad(f)(X).tolist() == [0, 0, 1]


def test_a_pull_keeps_the_value_of_an_outer_array():
    def f(a):
        a = a * 1.0
        _, pull = gv.vjp(lambda w: np.sum(w * a), np.ones(3))
        a += 1.0
        return np.sum(pull(1.0)[0] * np.array([1.0, 10.0, 100.0]))

    assert gv.grad(f)(X).tolist() == [1, 10, 100]


def test_an_inner_value_left_in_an_outer_array_is_an_error():
    def f(a):
        buffer = a * 1.0

        def inner(b):
            buffer[0] = b[0]
            return np.sum(b)

        gv.grad(inner)(a)
        return np.sum(buffer)

    with pytest.raises(EscapedArrayError):
        gv.grad(f)(X)


# ---- errors


def gradient_of_writing(write):
    def f(x):
        write(x)
        return np.sum(x)

    return gv.grad(f)(X)


@pytest.mark.parametrize(
    ("write", "text"),
    [
        (lambda x: gnp.zeros(3, dtype=int).__setitem__(0, x[0]), "dtype int64.*floating dtype"),
        (lambda x: np.broadcast_to(x, (2, 3)).__setitem__(0, 1.0), r"read-only.*x\.copy\(\)"),
        (lambda x: np.sum(x).__setitem__((), 1.0), r"number cannot be written to.*gradviz\.numpy\.array"),
        (lambda x: np.add(x, 1.0, out=gnp.zeros(2)), "shape"),
        (lambda x: gnp.zeros(3, dtype=np.float32).__iadd__(x * 1j), "complex"),
    ],
)
def test_refused_writes(write, text):
    with pytest.raises((WriteError, ValueError), match=text):
        gradient_of_writing(write)


def test_a_constant_that_two_derivatives_keep_is_written_to():
    def f(x):
        weights = gnp.zeros(3)
        weights += 2.0
        y = x * weights
        weights[:] = x  # both derivatives have kept the zeros
        return np.sum(y * y) + 0.0 * np.sum(weights)

    assert np.allclose(gv.grad(lambda x: np.sum(gv.grad(f)(x)))(X), 8)
    assert np.allclose(gv.jvp(gv.grad(f), (X,), (np.ones(3),))[1], 8)


def test_rows_added_one_by_one_go_in_place():
    with gv.profile() as p:
        g = gv.grad(add_rows)(X)
    assert g.tolist() == [200, 200, 200]
    assert np.count_nonzero(p.trace.buffers["nbytes"] == 50 * 3 * 8) <= 3


def test_add_at_spares_what_a_pullback_keeps():
    def f(x):
        a = x * 2.0
        y = a * a
        np.add.at(a, [0, 0], x[1:])
        np.add.at(a, [2, 2], a[:2])
        return np.sum(y * a)

    h, value = 1e-6, lambda x: plain_add_at(x)
    for k in range(3):
        d = np.eye(3)[k] * h
        assert np.isclose(gv.grad(f)(X)[k], (value(X + d) - value(X - d)) / (2 * h))


def plain_add_at(x):
    a = x * 2.0
    y = a * a
    np.add.at(a, [0, 0], x[1:])
    np.add.at(a, [2, 2], a[:2])
    return np.sum(y * a)


# ---- every way to write


WRITES = {
    "sort": "a.sort(axis=0)",
    "partition": "a.partition(1)",
    "put": "np.put(a, [0, 0, -1], [x[0, 0], 2.0, x[1, 1]])",
    "place": "np.place(a, a > 0.4, [x[0, 1], x[1, 1]])",
    "putmask": "np.putmask(a, a > 0.4, x * 3)",
    "put_along_axis": "np.put_along_axis(a, np.argmax(a, axis=1)[:, None], x[:, :1] ** 2, 1)",
    "fill_diagonal": "np.fill_diagonal(a, x[0])",
    "flat of a transpose": "a.T.flat[1] = x[0, 0] ** 2",
    "flat, repeated": "a.flat[[0, 2, 0, 5]] = x[0] ** 2",
    "all of flat": "a.flat = x[0] * 2",
    "reading flat": "a[0] = np.sum(np.square(a.flat)) * np.stack(list(a.flat[1:4]))",
    "copyto, where": "np.copyto(a, x**2, where=a > 0.1)",
    "clip, out": "np.clip(a, -0.5, 0.6, out=a)",
    "a list": "a[0] = [x[0, 0], 2.0, x[0, 1]]",
    "nested lists": "a[:, :2] = [[x[0, 0], 2.0], (x[0, 1], x[1, 1])]",
    "matmul": "a @= np.diag([1.0, 2.0, 3.0])",
    "the real part": "a.real = x**2",
    "a view": "a.view()[0] = x[0] ** 2",
    "rows of a loop": "for r, s in zip(a, x): r += s**2",
    "a view of a view of a view": "b = a.T[1:]; c = b.reshape(-1); b *= c[:2].sum(); a[0] = b[0, 0]",
    "a number in each entry": "for i in range(2): a[i, i] = x[i, i] ** 2",
    "halves of complex numbers": "z = a * (1 + 2j); z.imag[0] = x[0] ** 2; z.real *= x; a[...] = z.imag + z.real",
    "complex numbers as pairs": "z = a * (1 + 2j); z.view(float)[:, 1::2] *= x; a[...] = np.imag(z) * np.real(z)",
}


@pytest.mark.parametrize("line", WRITES.values(), ids=WRITES.keys())
def test_every_way_to_write(line):
    space = {"np": np}
    exec(f"def f(x):\n    a = x * 1.5\n    {line}\n    return np.sum(np.sin(a) * 1.1) + np.sum(x * x)", space)
    f, x, h = space["f"], np.array([[0.3, 1.2, -0.7], [0.5, -0.2, 0.9]]), 1e-6
    value, gradient = gv.value_and_grad(f)(x)
    assert np.isclose(value, f(x.copy()), rtol=1e-14)
    for at in np.ndindex(x.shape):
        d = np.zeros_like(x)
        d[at] = h
        assert np.isclose(gradient[at], (f(x + d) - f(x - d)) / (2 * h), atol=1e-7)
    v = np.cos(x)
    assert np.isclose(gv.jvp(f, (x,), (v,))[1], np.sum(gradient * v))
    second = gv.grad(lambda y: np.sum(gv.grad(f)(y) * v))(x)
    assert np.allclose(second, gv.hvp(f, (x,), (v,)))
    assert np.allclose(second, (gv.grad(f)(x + h * v) - gv.grad(f)(x - h * v)) / (2 * h), atol=1e-6)


def test_a_list_of_traced_values_is_an_operand():
    assert gv.grad(lambda x: np.sum(x[:2] * [x[0], x[1]]))(X).tolist() == [2, 4, 0]
    assert gv.jvp(lambda x: np.sum(x[:2] * [x[0], 3.0]), (X,), (np.ones(3),))[1] == 5


def test_the_imaginary_part_of_a_number():
    assert np.isclose(gv.grad(lambda z: np.sum(np.imag(z)[None] ** 2) + np.real(z)[()])(np.array(1 + 2j)), 1 + 4j)
    assert gv.grad(lambda x: np.sum(np.imag(x)[:1]) + x[0])(X).tolist() == [1, 0, 0]


def test_what_cannot_be_done_in_place_says_what_to_do():
    for write, text in (
        (lambda a: setattr(a, "shape", (3, 1)), r"a = a\.reshape\(\(3, 1\)\)"),
        (lambda a: a.resize(4), r"np\.pad.*np\.resize"),
        (lambda a: a.flat.__setitem__(0, [1.0, 2.0]), "single item"),
        (lambda a: np.place(a, a > 0, []), "empty array"),
    ):
        with pytest.raises(ValueError, match=text):
            gradient_of_writing(write)
    assert gradient_of_writing(lambda a: np.put(a, [0], [])).tolist() == [1, 1, 1]
