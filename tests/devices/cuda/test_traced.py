"""Do traced arrays and CuPy's meet where NumPy's functions are called, and are they kept apart where CuPy's are?"""

from __future__ import annotations

import traceback

import cupy
import numpy as np
import pytest

import gradviz as gv
from gradviz.engine.array import Array
from gradviz.errors import ConversionError, UnsupportedOnDeviceError
from tests.devices.cuda.host_memory import HostArray, device, host

HOST = np.arange(1.0, 7.0).reshape(2, 3)


@pytest.fixture
def x():
    return device(HOST)


@pytest.fixture
def c():
    return device(HOST + 10)


def inside(f, x):
    """What ``f`` gives for a traced ``x``."""
    kept = []

    def loss(x):
        kept.append(f(x))
        return np.sum(x)

    gv.vjp(loss, x)
    return kept[0]


MIXTURES = {
    "c + x": lambda x, c: c + x, "x + c": lambda x, c: x + c, "c * x": lambda x, c: c * x, "c @ x.T": lambda x, c: c @ x.T,
    "c < x": lambda x, c: c < x, "np.add": lambda x, c: np.add(c, x), "np.sum": lambda x, c: np.sum(x),
    "np.concatenate": lambda x, c: np.concatenate([c, x]), "np.where": lambda x, c: np.where(c > 12, c, x),
    "np.einsum": lambda x, c: np.einsum("ij,kj->ik", c, x), "gnp": lambda x, c: gv.numpy.tensordot(c, x, 2),
    "np.float64 * x": lambda x, c: np.float64(2) * x, "np.linalg.norm": lambda x, c: np.linalg.norm(x + c),
    "method": lambda x, c: (x * c).sum(axis=0),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXTURES)
def test_mixtures(name, x, c):
    f = MIXTURES[name]
    result = inside(lambda x: f(x, c), x)
    if isinstance(result, Array):
        assert isinstance(result.value, HostArray)
        np.testing.assert_allclose(host(result.value), f(HOST, HOST + 10))
    got = gv.grad(lambda x: np.sum(f(x, c) * 1.0))(x) if "<" not in name else None
    if got is not None:
        np.testing.assert_allclose(host(got), gv.grad(lambda x: np.sum(f(x, HOST + 10) * 1.0))(HOST))


# Called on a traced array, CuPy's functions raise, sooner or later.
FUNCTIONS = {
    "add": lambda x, c: cupy.add(x, c), "sin": lambda x, c: cupy.sin(x), "exp": lambda x, c: cupy.exp(x),
    "maximum": lambda x, c: cupy.maximum(c, x), "isnan": lambda x, c: cupy.isnan(x),
    "matmul": lambda x, c: cupy.matmul(c, x.T), "dot": lambda x, c: cupy.dot(c, x.T), "tensordot": lambda x, c: cupy.tensordot(c, x, 2),
    "broadcast_to": lambda x, c: cupy.broadcast_to(x, (2, 2, 3)), "expand_dims": lambda x, c: cupy.expand_dims(x, 0),
    "stack": lambda x, c: cupy.stack([x, x]), "cumsum": lambda x, c: cupy.cumsum(x), "vdot": lambda x, c: cupy.vdot(c, x),
    "nonzero": lambda x, c: cupy.nonzero(x), "copyto": lambda x, c: cupy.copyto(c, x),
    "ascontiguousarray": lambda x, c: cupy.ascontiguousarray(x), "kron": lambda x, c: cupy.kron(c, x),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_cupy_says_what_to_call_instead(name, x, c):
    with pytest.raises((UnsupportedOnDeviceError, TypeError, AttributeError)) as caught:
        gv.grad(lambda x: np.sum(FUNCTIONS[name](x, c)))(x)
    shown = "".join(traceback.format_exception(caught.value))
    assert "was given a traced array, which it cannot trace" in shown
    assert "gradviz.numpy" in shown


@pytest.mark.parametrize("convert", [cupy.array, cupy.asnumpy, np.asarray, cupy.diag], ids=lambda f: f.__name__)
def test_conversions(convert, x):
    with pytest.raises(ConversionError, match="its gradient would be lost"):
        gv.grad(lambda x: np.sum(convert(x)))(x)


def test_a_plain_array_takes_no_traced_value():
    def updated(x):
        y = cupy.ndarray((2, 3))
        y += x
        return np.sum(y)

    with pytest.raises(UnsupportedOnDeviceError, match=r"cupy.add was given a traced array"):
        gv.grad(updated)(cupy.ndarray((2, 3)))


def test_an_array_offers_nothing_that_cupy_would_unwrap():
    for name in ("__cuda_array_interface__", "__cupy_get_ndarray__", "__dlpack__", "__dlpack_device__"):
        assert not hasattr(Array, name)


def test_spread_views_are_not_written_to(x):
    """CuPy lets one write to them, and then all repetitions change."""

    def written(x):
        y = np.broadcast_to(x, (2, 2, 3))
        y[0] = 0.0
        return np.sum(y)

    with pytest.raises(gv.errors.WriteError, match="read-only"):
        gv.grad(written)(x)
    got = gv.grad(lambda x: np.sum(np.broadcast_to(x, (4, 2, 3)) * np.broadcast_to(x, (4, 2, 3))))(x)
    np.testing.assert_allclose(host(got), 8 * HOST)


def test_gradients_share_no_memory(x):
    a, b = gv.grad(lambda a, b: np.sum(a) + np.sum(b), (0, 1))(x, x)
    assert a.data.mem is not b.data.mem
    assert 0 not in a.strides


def test_namespaces(x):
    from gradviz.devices.find import namespace

    assert namespace(x) is cupy
    assert namespace(HOST) is namespace(2.0) is np
