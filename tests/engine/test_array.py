"""Does a traced array keep its trace, or say how it was about to lose it?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz import numpy as gnp
from gradviz.errors import ConversionError, EscapedArrayError

X = np.array([1.0, 2.0, 3.0])


def clear_error(error):
    """The ConversionError, which NumPy may have wrapped."""
    while error is not None and not isinstance(error, ConversionError):
        error = error.__cause__
    return str(error)


def operator_setitem(p, x):
    import operator

    operator.setitem(p, 0, x[0])


def store_item(p, x):
    p[0] = x[0]


def store_slice(p, x):
    p[1:2] = x[0]


def store_all(p, x):
    p[:] = x


def update_item(p, x):
    p[0] += x[0]


def update_all(p, x):
    p += x


@pytest.mark.parametrize(
    "lose",
    [
        store_item, store_slice, store_all, update_item, update_all, operator_setitem,
        lambda p, x: p.fill(x[0]),
        lambda p, x: np.fromiter((t for t in x), float),
        lambda p, x: np.asarray(x),
        lambda p, x: np.array([x[0], x[1]]),
        lambda p, x: np.add(x, 1.0, out=p),
        lambda p, x: np.sum(x, out=p[:1]),
        lambda p, x: np.add.at(p, [0], x[0]),
        lambda p, x: np.put(p, 0, x[0]),
        lambda p, x: np.copyto(p, x),
    ],
)  # fmt: skip
def test_no_gradient_is_lost_without_a_word(lose):
    def f(x):
        lose(np.zeros(3), x)
        return np.sum(x)

    with pytest.raises((ConversionError, ValueError)) as caught:
        gv.grad(f)(X)
    assert "gradviz.numpy.zeros" in clear_error(caught.value)


def test_float_reads_the_value():
    def f(x):
        plain = np.zeros(3)
        plain[0] = float(x[0])
        plain.fill(float(x[1]))
        return np.sum(x * plain)

    assert gv.grad(f)(X).tolist() == [2, 2, 2]


def test_a_plain_copy_of_an_untraced_array_is_apart():
    a = gnp.zeros(3)
    b = np.array(a)
    b[0] = 5.0
    assert np.asarray(a)[0] == 0


@pytest.mark.parametrize("take", [gv.grad, lambda f: lambda x: gv.vjp(f, x), lambda f: lambda x: gv.jvp(f, (x,), (x,))])
@pytest.mark.parametrize(
    "use",
    [
        lambda a: a + 1.0,
        lambda a: a[0],
        lambda a: np.sin(a),
        lambda a: a.__setitem__(0, 1.0),
        lambda a: a.__iadd__(1.0),
        lambda a: gv.grad(lambda x: np.sum(x * a))(X),
    ],
)
def test_escaped(take, use):
    kept = []

    def f(x):
        kept.append(x * 2.0)
        return np.sum(x)

    take(f)(X)
    with pytest.raises(EscapedArrayError, match="has_aux=True"):
        use(kept[0])


def test_escaped_from_a_function_that_raised():
    kept = []

    def f(x):
        kept.append(x * 2.0)
        raise KeyError

    with pytest.raises(KeyError):
        gv.grad(f)(X)
    with pytest.raises(EscapedArrayError):
        kept[0] + 1.0


def test_a_result_that_escaped_elsewhere():
    kept = []
    gv.grad(lambda x: (kept.append(np.sum(x)), np.sum(x))[1])(X)
    with pytest.raises(EscapedArrayError):
        gv.grad(lambda x: kept[0])(X)
