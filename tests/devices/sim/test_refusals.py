"""Does a simulated GPU refuse what CuPy refuses, with a message that helps?"""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from gradviz.devices.sim import PRESETS, SimArray, SimDevice, simulate
from gradviz.errors import (
    DeviceError,
    GradvizError,
    HostArrayError,
    ImplicitTransferError,
    OtherDeviceError,
    UnsupportedDtypeError,
    UnsupportedOnDeviceError,
)

HOST = np.arange(3.0)


@pytest.fixture
def xp():
    return simulate("a100", fresh=True)


@pytest.fixture
def x(xp):
    return xp.asarray([1.0, 2.0, 3.0])


MIXTURES = {
    "x * host": lambda x: x * HOST,
    "host * x": lambda x: HOST * x,
    "host - x": lambda x: HOST - x,
    "x += host": lambda x: x.__iadd__(HOST),
    "host += x": lambda x: HOST.copy().__iadd__(x),
    "x < host": lambda x: x < HOST,
    "x @ host": lambda x: x @ HOST,
    "np.add": lambda x: np.add(x, HOST),
    "0-d": lambda x: x + np.array(2.0),
    "out=host": lambda x: np.add(x, x, out=np.zeros(3)),
    "where=host": lambda x: np.add(x, x, where=HOST > 1, out=x),
    "np.where": lambda x: np.where(HOST > 1, x, 0.0),
    "concatenate": lambda x: np.concatenate([x, HOST]),
    "dot": lambda x: np.dot(x, HOST),
    "einsum": lambda x: np.einsum("i,i", x, HOST),
    "tensordot": lambda x: np.tensordot(HOST, x, 1),
    "solve": lambda x: np.linalg.solve(np.eye(3), x),
    "copyto host": lambda x: np.copyto(HOST.copy(), x),
    "add.at host": lambda x: np.add.at(HOST.copy(), x[:1] > 0, x[:1]),
    "xp.sin(host)": lambda x: x.device.xp.sin(HOST),
    "xp.stack([host])": lambda x: x.device.xp.stack([HOST, HOST]),
    "xp.linalg.norm(host)": lambda x: x.device.xp.linalg.norm(HOST),
}


@pytest.mark.parametrize("mixture", MIXTURES)
def test_mixing_with_host_arrays_is_a_type_error_that_names_the_host_array(mixture: str, x: SimArray) -> None:
    with pytest.raises(TypeError, match=r"(?s)NumPy array.*host.*asarray") as caught:
        MIXTURES[mixture](x)
    assert isinstance(caught.value, HostArrayError)


def test_the_message_says_which_argument_and_shape(x: SimArray) -> None:
    with pytest.raises(HostArrayError, match=r"argument 2 of multiply is a NumPy array of shape \(3,\).*sim:a100"):
        x * HOST


@pytest.mark.parametrize(
    "assign",
    [
        lambda x: x.__setitem__(slice(None), HOST),
        lambda x: x.__setitem__(slice(0, 2), [1.0, 2.0]),
        lambda x: x.fill(HOST),
    ],
)
def test_assigning_host_arrays_is_a_value_error_as_in_cupy(assign, x: SimArray) -> None:
    with pytest.raises(ValueError, match=r"non-scalar numpy\.ndarray cannot be used for fill"):
        assign(x)


CONVERSIONS = {
    "np.asarray": np.asarray,
    "np.array": np.array,
    "np.array of a list": lambda x: np.array([x, x]),
    "np.float64": lambda x: np.float64(x),
    "np.ascontiguousarray": np.ascontiguousarray,
    "into a host array": lambda x: np.zeros(3).__setitem__(slice(None), x),
}


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_nothing_converts_by_itself(conversion: str, x: SimArray) -> None:
    with pytest.raises(ImplicitTransferError, match=r"Implicit conversion to a NumPy array is not allowed.*\.get\(\)"):
        CONVERSIONS[conversion](x)


def test_it_looks_like_no_other_array() -> None:
    for name in (
        "__array_interface__",
        "__array_struct__",
        "__buffer__",
        "__cuda_array_interface__",
        "__cupy_get_ndarray__",
        "__dlpack__",
        "__index__",
    ):
        assert not hasattr(SimArray, name), name
    assert not issubclass(SimArray, np.ndarray)
    assert not hasattr(SimArray, "__dict__") or "__dict__" not in SimArray.__slots__


def test_no_buffer_no_index_no_hash_no_attributes(x: SimArray) -> None:
    with pytest.raises(TypeError, match="bytes-like"):
        memoryview(x)
    with pytest.raises(TypeError):
        range(x[0].astype(int))
    with pytest.raises(TypeError):
        [1, 2][x[0].astype(int)]
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(AttributeError):
        x.name = "x"
    with pytest.raises(AttributeError):
        _ = x.flags.writeable


@pytest.mark.parametrize(
    "host",
    [
        np.array(["a"]),
        np.array([None]),
        np.array(["2020-01-01"], "M8[D]"),
        np.zeros(2, np.longdouble),
        np.zeros(2, "i4,f4"),
    ],
)
def test_dtypes_of_numpy_alone(xp, host: np.ndarray) -> None:
    with pytest.raises(UnsupportedDtypeError, match=r"Unsupported dtype .*astype"):
        xp.asarray(host)
    for kind in (TypeError, ValueError):
        with pytest.raises(kind):
            xp.asarray(host)


def test_astype_to_a_dtype_of_numpy_alone(x: SimArray) -> None:
    with pytest.raises(UnsupportedDtypeError):
        x.astype(object)
    with pytest.raises(UnsupportedDtypeError):
        np.zeros(3, np.longdouble, like=x)


def test_complex_add_at_is_a_type_error_with_the_remedy(xp) -> None:
    z, i = xp.zeros(3, complex), xp.asarray([0, 0, 2])
    with pytest.raises(TypeError, match=r"cupy.add.at only supports .*not complex128.*a.real"):
        np.add.at(z, i, 1j)
    np.add.at(z.real, i, 2.0)
    np.add.at(z.imag, i, xp.ones(3))
    np.testing.assert_array_equal(z.get(), [4 + 2j, 0, 2 + 1j])


@pytest.mark.parametrize(
    ("ufunc", "dtype", "fine"),
    [
        (np.add, "int16", False),
        (np.add, "int32", True),
        (np.add, "float16", True),
        (np.add, "float32", True),
        (np.add, "bool", False),
        (np.subtract, "float64", False),
        (np.subtract, "int32", True),
        (np.maximum, "float64", True),
        (np.maximum, "float16", False),
        (np.minimum, "uint64", True),
        (np.bitwise_or, "int64", True),
        (np.multiply, "float64", False),
    ],
)
def test_which_atomics_there_are(xp, ufunc, dtype: str, fine: bool) -> None:
    a = xp.zeros(3, dtype)
    if fine:
        ufunc.at(a, xp.asarray([0, 1]), 1)
    else:
        with pytest.raises(UnsupportedOnDeviceError, match=ufunc.__name__):
            ufunc.at(a, xp.asarray([0, 1]), 1)


def test_several_masks_in_one_index(xp) -> None:
    a, mask = xp.ones((2, 2)), xp.asarray([True, False])
    with pytest.raises(UnsupportedOnDeviceError, match="one boolean mask"):
        a[mask, mask]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.insert(x, 0, 1.0),
        lambda x: np.block([x, x]),
        lambda x: np.einsum_path("i", x),
        lambda x: np.save("f", x),
    ],
)
def test_functions_that_cupy_lacks(call, x: SimArray) -> None:
    with pytest.raises(TypeError, match="no implementation found"):
        call(x)


def test_ufuncs_and_names_that_cupy_lacks(xp, x: SimArray) -> None:
    with pytest.raises(UnsupportedOnDeviceError, match="CuPy has no vecdot"):
        np.vecdot(x, x)
    with pytest.raises(UnsupportedOnDeviceError, match="CuPy has no insert"):
        xp.insert(x, 0, 1.0)


def test_scalars_in_products(x: SimArray) -> None:
    with pytest.raises(UnsupportedOnDeviceError, match=r"dot takes arrays only.*\*"):
        np.dot(x, 2.0)


class Traced:
    """An array type of somebody else, as an engine's."""

    __array_ufunc__ = None

    def __radd__(self, other):
        return "theirs"

    __rmul__ = __rlt__ = __radd__


class Dispatching:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ufunc.__name__, "out" in kwargs

    def __array_function__(self, func, types, args, kwargs):
        return func.__name__


def test_other_array_types_get_their_turn(xp, x: SimArray) -> None:
    assert x + Traced() == "theirs"
    assert x * Dispatching() == ("multiply", False)
    assert np.add(x, Dispatching()) == ("add", False)
    assert x.__iadd__(Dispatching()) == ("add", True)
    assert np.concatenate([x, Dispatching()]) == "concatenate"


def test_cupys_own_functions_do_not_look_at_other_array_types(xp) -> None:
    for call in (xp.sin, xp.sum, xp.linalg.norm, lambda t: xp.add(1.0, t), lambda t: xp.stack([t])):
        with pytest.raises(TypeError, match=r"cannot trace it.*gradviz.numpy"):
            call(Dispatching())


def test_strangers_are_refused(x: SimArray) -> None:
    for other in ([1, 2, 3], {}):
        with pytest.raises(TypeError):
            x + other
    assert (x == None) is False  # noqa: E711
    assert (x != "x") is True


def test_arrays_of_two_devices(x: SimArray) -> None:
    y = SimDevice(PRESETS["v100"]).xp.ones(3)
    for mix in (
        lambda: x + y,
        lambda: np.concatenate([x, y]),
        lambda: np.dot(x, y),
        lambda: x.__setitem__(..., y),
        lambda: np.add(x, x, out=y),
    ):
        with pytest.raises(OtherDeviceError, match=r"sim:a100.*sim:v100"):
            mix()


def test_every_refusal_is_ours() -> None:
    assert issubclass(DeviceError, GradvizError)


def test_copy_and_pickle() -> None:
    x = simulate("t4").asarray([1.0, 2.0])
    for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert type(twin) is SimArray
        assert twin.device is x.device
        twin[0] = 5.0
        assert x[0].item() == 1.0


def test_a_singular_matrix_is_no_error(xp) -> None:
    a = xp.asarray([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 2.0], [2.0, 4.0]]])
    xp.device.counts.reset()
    inverse = np.linalg.inv(a)
    factor = np.linalg.cholesky(xp.asarray([[1.0, 2.0], [2.0, 1.0]]))
    solution = np.linalg.solve(a[1], xp.ones(2))
    values, vectors = np.linalg.eigh(xp.full((2, 2), np.nan))
    assert xp.device.counts.sync == 0
    np.testing.assert_array_equal(inverse.get(), [[[0.5, 0.0], [0.0, 0.25]], [[np.nan] * 2] * 2])
    assert np.isnan(factor.get()).all()
    assert np.isnan(solution.get()).all()
    assert np.isnan(values.get()).all()
    assert np.isnan(vectors.get()).all()


def test_unless_asked_for_which_costs_a_wait(xp) -> None:
    singular = xp.ones((2, 2))
    with xp.errstate(linalg="raise"):
        np.linalg.det(singular)
        assert xp.device.counts.sync == 1
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            np.linalg.inv(singular)
    np.linalg.inv(singular)
    with pytest.raises(ValueError, match="'ignore' or 'raise'"), xp.errstate(linalg="warn"):
        pass


def test_wrong_shapes_raise_as_ever(xp, x: SimArray) -> None:
    with pytest.raises(np.linalg.LinAlgError, match=r"two-dimensional|square"):
        np.linalg.inv(xp.ones((2, 3)))
    with pytest.raises(ValueError, match="broadcast"):
        x + xp.ones(2)
    with pytest.raises(ValueError, match="shape-mismatch"):
        np.tensordot(x, xp.ones(2), 1)
    with pytest.raises(IndexError, match="out of bounds"):
        x[3]
    with pytest.raises(IndexError):
        x[0, 0]
    with pytest.raises(IndexError, match="integer or boolean"):
        x[xp.ones(1)]
