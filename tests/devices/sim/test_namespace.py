"""Does the namespace read like CuPy's?"""

from __future__ import annotations

import inspect
import threading

import numpy as np
import pytest

from gradviz.devices.sim import PRESETS, Namespace, SimArray, SimDevice, simulate
from gradviz.errors import UnknownDeviceError


@pytest.fixture
def xp() -> Namespace:
    return simulate("a100", fresh=True)


MADE = {
    "zeros": lambda m: m.zeros((2, 3), np.float32),
    "ones": lambda m: m.ones(3),
    "full": lambda m: m.full((2,), 7),
    "arange": lambda m: m.arange(1, 10, 3),
    "arange float": lambda m: m.arange(3.0),
    "linspace": lambda m: m.linspace(0, 1, 5),
    "logspace": lambda m: m.logspace(0, 2, 3),
    "eye": lambda m: m.eye(3, 4, k=1),
    "identity": lambda m: m.identity(3),
    "tri": lambda m: m.tri(3),
    "asarray": lambda m: m.asarray([[1, 2], [3, 4]], dtype=np.complex64),
    "array": lambda m: m.array([1.5], ndmin=3),
    "ascontiguousarray": lambda m: m.ascontiguousarray([[1, 2]]),
    "asfortranarray": lambda m: m.asfortranarray([[1, 2], [3, 4]]),
    "fftfreq": lambda m: m.fft.fftfreq(8, 0.1),
    "rfftfreq": lambda m: m.fft.rfftfreq(8),
    "tril_indices": lambda m: m.tril_indices(3),
    "hanning": lambda m: m.hanning(5),
    "indices": lambda m: m.indices((2, 3)),
    "sin of a number": lambda m: m.sin(2.0),
    "sum": lambda m: m.sum(m.ones(4)),
    "norm": lambda m: m.linalg.norm(m.ones(4)),
    "fft": lambda m: m.fft.fft(m.ones(4)),
    "add.reduce": lambda m: m.add.reduce(m.ones(4)),
    "multiply.outer": lambda m: m.multiply.outer(m.ones(2), m.ones(3)),
    "concatenate": lambda m: m.concatenate([m.ones(2), m.zeros(1)]),
    "einsum": lambda m: m.einsum("ij,j->i", m.ones((2, 3)), m.ones(3)),
    "linspace of arrays": lambda m: m.linspace(m.zeros(2), m.ones(2), 3),
    "zeros_like": lambda m: m.zeros_like(m.ones(2)),
    "meshgrid": lambda m: m.meshgrid(m.arange(2), m.arange(3)),
    "full of an array": lambda m: m.full(2, m.sum(m.ones(3))),
}


@pytest.mark.parametrize("name", MADE)
def test_what_it_makes(name: str, xp: Namespace) -> None:
    got, want = MADE[name](xp), MADE[name](np)
    for g, w in zip(got, want, strict=True) if isinstance(want, (tuple, list)) else [(got, want)]:
        assert isinstance(g, SimArray)
        assert g.dtype == np.asarray(w).dtype
        np.testing.assert_allclose(g.get(), w, rtol=1e-15)
    assert xp.device.counts.h2d == (name in {"asarray", "array", "ascontiguousarray", "asfortranarray"})


def test_add_at_through_the_namespace(xp: Namespace) -> None:
    a = xp.zeros(3)
    xp.add.at(a, xp.asarray([0, 0]), 1.0)
    assert a.tolist() == [2.0, 0.0, 0.0]
    assert (xp.add.nin, xp.add.__name__) == (2, "add")


def test_constants_types_and_questions(xp: Namespace) -> None:
    assert xp.pi == np.pi
    assert xp.newaxis is None
    assert xp.float32 is np.float32
    assert xp.ndarray is SimArray
    assert xp.result_type(np.float32, 1.0) == np.float32
    assert xp.finfo(np.float32).eps == np.finfo(np.float32).eps
    assert xp.get_array_module(xp.ones(1)) is xp
    assert xp.get_array_module(np.ones(1)) is np
    assert isinstance(xp.asnumpy(xp.ones(2)), np.ndarray)
    assert xp.asnumpy([1, 2]).tolist() == [1, 2]
    assert xp.cuda.is_available()
    assert xp.cuda.runtime.getDeviceCount() == 1
    assert "solve" in dir(xp.linalg)
    assert repr(xp) == "<namespace of sim:a100>"
    assert repr(xp.device) == "<simulated device sim:a100>"
    with pytest.raises(AttributeError):
        _ = xp.nothing_of_the_sort
    with pytest.raises(UnknownDeviceError, match="number 0"):
        xp.cuda.Device(1)


def test_random_numbers_are_made_on_the_device(xp: Namespace) -> None:
    xp.random.seed(7)
    first = xp.random.random((2, 3))
    xp.random.seed(7)
    assert np.array_equal(first, xp.random.random((2, 3))).item()
    assert not np.allclose(np.random.default_rng(7).random((2, 3)), first.get())
    generator = xp.random.default_rng(0)
    for numbers in (
        generator.random(4),
        generator.standard_normal(4),
        generator.uniform(1, 2, 4),
        generator.normal(0, 1, (4,)),
        xp.random.rand(4),
        xp.random.randn(4),
        xp.random.RandomState(1).random_sample(4),
    ):
        assert isinstance(numbers, SimArray)
        assert numbers.shape == (4,)
    assert xp.random.randint(0, 3, 5).dtype == np.int64
    assert sorted(xp.random.permutation(4).tolist()) == [0, 1, 2, 3]
    a = xp.arange(5)
    xp.random.shuffle(a)
    assert sorted(a.tolist()) == [0, 1, 2, 3, 4]
    assert xp.device.counts.h2d == 0


def test_one_device_for_each_name_unless_a_fresh_one_is_asked_for() -> None:
    assert simulate("h100") is simulate("sim:H100")
    assert simulate("h100").device is not simulate("a100").device
    assert simulate("h100", fresh=True) is not simulate("h100")
    assert simulate(PRESETS["t4"]).device.name == "sim:t4"
    with pytest.raises(UnknownDeviceError, match=r"no simulated GPU is called 'b9000'.*a100"):
        simulate("b9000")


def test_it_is_a_device() -> None:
    device = SimDevice(PRESETS["a100"])
    assert (device.name, device.simulated, device.total_nbytes) == ("sim:a100", True, 80 << 30)
    assert device.bandwidth_bytes_per_s == 2039e9
    a = device.asarray(np.ones(3))
    assert isinstance(a, device.array_types)
    assert device.owner(a[1:]) is device.owner(a)
    np.testing.assert_array_equal(device.get(a), np.ones(3))


def test_the_host_array_is_not_shared() -> None:
    device, host = SimDevice(PRESETS["a100"]), np.zeros(3)
    a = device.asarray(host)
    a[0] = 1.0
    host[1] = 2.0
    back = a.get()
    back[2] = 3.0
    assert a.tolist() == [1.0, 0.0, 0.0]


def test_get_and_set_look_at_shape_and_dtype(xp: Namespace) -> None:
    a = xp.asfortranarray(xp.ones((2, 3)))
    assert a.get().flags.c_contiguous
    assert a.get(order="A").flags.f_contiguous
    out = np.empty((2, 3))
    assert a.get(out=out) is out
    a.set(np.full((2, 3), 4.0))
    assert a[0, 0].item() == 4.0
    for wrong in (np.empty((2, 3), np.float32), np.empty(6)):
        with pytest.raises((TypeError, ValueError)):
            a.get(out=wrong)
        with pytest.raises((TypeError, ValueError)):
            a.set(wrong)
    with pytest.raises(TypeError, match=r"Only numpy\.ndarray"):
        a.set([[1.0] * 3] * 2)


def test_threads_share_the_device_but_not_the_stream(xp: Namespace) -> None:
    seen = []

    def work(a: SimArray) -> None:
        seen.append(xp.cuda.get_current_stream())
        for _ in range(200):
            _ = a * 2.0

    xp.device.counts.reset()
    with xp.cuda.Stream():
        threads = [threading.Thread(target=work, args=(xp.ones(8),)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == [xp.device.null_stream] * 4
    assert xp.device.counts.launch == 4 * 201
    del threads, thread
    assert xp.device.pool.used_bytes() == 0


def test_examples_in_docstrings_are_right() -> None:
    import doctest

    from gradviz.devices import find, host

    for module in (host, find):
        assert doctest.testmod(module).failed == 0
    assert "Returns" in inspect.getdoc(simulate)
