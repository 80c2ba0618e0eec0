"""Does indexing follow CuPy: views, gathers, wrapping, undefined winners?"""

from __future__ import annotations

import numpy as np
import pytest

from gradviz.devices.sim import simulate

xp = simulate("a100", fresh=True)
HOST = np.arange(24.0).reshape(2, 3, 4)

INDICES = {
    "int": 1,
    "negative": -1,
    "ints": (1, 2, 3),
    "slice": slice(None),
    "step": slice(None, None, -1),
    "slices": (slice(1), slice(1, 3)),
    "ellipsis": ...,
    "ellipsis int": (..., 0),
    "none": None,
    "nones": (None, 0, None, ..., None),
    "numpy int": np.int64(1),
    "empty": (),
    "empty slice": slice(2, 2),
    "array": np.array([1, 0, 1]),
    "two arrays": (np.array([0, 1]), np.array([2, 0])),
    "apart": (np.array([0, 1]), slice(None), np.array([3, 0])),
    "broadcast": (np.array([[0], [1]]), np.array([0, 2])),
    "array int": (slice(None), np.array([2, 1]), 0),
    "list": [0, 1],
    "lists": ([0, 1], [1, 2]),
    "array none": (None, np.array([0, 1])),
    "0-d": np.array(1),
    "mask": HOST > 5,
    "mask rows": HOST[:, 0, 0] > 5,
    "mask middle": (slice(None), HOST[0, :, 0] > 3),
    "mask and array": (HOST[:, 0, 0] >= 0, np.array([1, 2])),
    "mask none": np.zeros((2, 3), bool),
    "negative array": np.array([-1, -2]),
    "true": True,
    "empty list": [],
    "ellipsis array": (..., np.array([0, 3])),
}


def there(index):
    """The same index, its arrays on the device."""
    if isinstance(index, tuple):
        return tuple(map(there, index))
    return xp.asarray(index) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("moved", [True, False], ids=["device index", "host index"])
def test_reads(name: str, moved: bool) -> None:
    index = INDICES[name]
    got = xp.asarray(HOST)[there(index) if moved else index]
    np.testing.assert_array_equal(got.get(), HOST[index])


@pytest.mark.parametrize("name", INDICES)
def test_writes(name: str) -> None:
    index = INDICES[name]
    for value in (7.0, None):
        host, a = HOST.copy(), xp.asarray(HOST)
        if value is None:
            if name == "array":  # names a place twice
                continue
            value = np.arange(100.0, 100.0 + host[index].size).reshape(host[index].shape)
        host[index] = value
        a[there(index)] = there(value)
        np.testing.assert_array_equal(a.get(), host)


@pytest.mark.parametrize("name", INDICES)
def test_updates(name: str) -> None:
    index = INDICES[name]
    host, a = HOST.copy(), xp.asarray(HOST)
    host[index] += 2.0
    a[there(index)] += 2.0
    np.testing.assert_array_equal(a.get(), host)


@pytest.mark.parametrize("name", [name for name in INDICES if name not in {"empty", "true"}])
def test_add_at_counts_repeats(name: str) -> None:
    index = INDICES[name]
    host, a = HOST.copy(), xp.asarray(HOST)
    values = np.arange(host[index].size, dtype=float).reshape(host[index].shape)
    np.add.at(host, index, values)
    xp.add.at(a, there(index), xp.asarray(values))
    np.testing.assert_array_equal(a.get(), host)


@pytest.mark.parametrize("name", ["int", "ints", "slice", "step", "ellipsis", "none", "ellipsis int"])
def test_slices_are_views(name: str) -> None:
    a = xp.asarray(HOST)
    launches = xp.device.counts.launch
    part = a[INDICES[name]]
    assert xp.device.counts.launch == launches
    assert part.base is a
    assert xp.device.owner(part) is xp.device.owner(a)
    assert part.data.mem is a.data.mem
    part[...] = -1.0
    assert (a.get() == -1.0).sum() == part.size


def test_views_of_views_know_the_first_array() -> None:
    a = xp.zeros((4, 4))
    part = a[1:].T[2]
    assert part.base is a
    assert part.data.ptr - a.data.ptr == 8 * (4 + 2)


@pytest.mark.parametrize("name", ["array", "mask", "0-d", "list", "apart"])
def test_gathers_are_copies(name: str) -> None:
    a = xp.asarray(HOST)
    part = a[there(INDICES[name])]
    assert part.base is None
    assert xp.device.owner(part) is not xp.device.owner(a)
    part[...] = -1.0
    np.testing.assert_array_equal(a.get(), HOST)


def test_arrays_out_of_range_wrap_but_integers_raise() -> None:
    a = xp.arange(3.0)
    assert a[xp.asarray([1, 3, 4, -4])].tolist() == [1.0, 0.0, 1.0, 2.0]
    a[[1, 3]] = 10.0
    assert a.tolist() == [10.0, 10.0, 2.0]
    np.add.at(a, xp.asarray([5]), 1.0)
    assert a.tolist() == [10.0, 10.0, 3.0]
    assert np.take(a, xp.asarray([3])).tolist() == [10.0]
    assert np.take_along_axis(a, xp.asarray([5]), 0).tolist() == [3.0]
    with pytest.raises(IndexError):
        a[3]


def test_which_of_several_values_wins_is_not_the_last_one_always() -> None:
    winners = set()
    here = simulate("a100", fresh=True, seed=1)
    for _ in range(20):
        a = here.zeros(2)
        a[here.asarray([0, 0, 0])] = here.asarray([1.0, 2.0, 3.0])
        assert a[1].item() == 0.0
        winners.add(a[0].item())
    assert winners == {1.0, 2.0, 3.0}


def test_winners_are_whole_and_repeatable() -> None:
    def winners():
        here = simulate("a100", fresh=True, seed=3)
        a = here.zeros((2, 3))
        a[:, here.asarray([0, 0, 2])] = here.asarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        return a.get()

    first = winners()
    assert set(first[:, 0]) <= {1.0, 2.0, 4.0, 5.0}
    np.testing.assert_array_equal(first[:, 1:], [[0.0, 3.0], [0.0, 6.0]])
    np.testing.assert_array_equal(first, winners())
    here = simulate("a100", fresh=True)
    b = here.zeros((2, 2))
    b[here.asarray([0, 1, 0]), here.asarray([1, 0, 1])] = here.asarray([1.0, 2.0, 3.0])
    assert b[0, 1].item() in {1.0, 3.0}
    assert b[1, 0].item() == 2.0


def test_update_of_a_slice_is_one_kernel() -> None:
    a = xp.zeros(4)
    launches = xp.device.counts.launch
    a[1:3] += 2.0
    assert xp.device.counts.launch == launches + 1
    assert a.tolist() == [0.0, 2.0, 2.0, 0.0]


def test_assignment_of_overlapping_parts() -> None:
    host, a = np.arange(5.0), xp.arange(5.0)
    host[1:], a[1:] = host[:-1].copy(), a[:-1]
    np.testing.assert_array_equal(a.get(), host)


def test_broadcast_views_are_writable_as_on_cupy() -> None:
    a = xp.zeros(3)
    wide = np.broadcast_to(a, (2, 3))
    assert wide.strides == (0, 8)
    assert wide.base is a
    wide[0, 1] = 5.0
    assert a.tolist() == [0.0, 5.0, 0.0]
    assert np.diagonal(xp.zeros((2, 2))).fill(1.0) is None


def test_real_and_imag_can_be_written() -> None:
    z = xp.zeros(2, complex)
    z.real = 1.0
    z.imag = xp.asarray([2.0, 3.0])
    assert z.tolist() == [1 + 2j, 1 + 3j]
    x = xp.zeros(2)
    assert x.real is x
    assert x.conj() is x
    assert x.squeeze() is x
    assert x.astype(float, copy=False) is x
    assert xp.asarray(x) is x
    with pytest.raises(TypeError, match="imag of a real"):
        x.imag = 1.0


@pytest.mark.parametrize(
    "alias",
    [
        np.ravel,
        np.transpose,
        lambda a: np.reshape(a, (3, 8)),
        lambda a: a.view(),
        lambda a: np.squeeze(a[None]),
        np.flip,
        lambda a: np.split(a, 2)[1],
        lambda a: np.moveaxis(a, 0, 1),
        lambda a: np.broadcast_arrays(a, a)[0],
        lambda a: np.atleast_3d(a),
        lambda a: np.diagonal(a),
        lambda a: a.mT,
        lambda a: np.einsum("ijk->kij", a),
        lambda a: a.view(np.int64),
        lambda a: np.expand_dims(a, 0),
    ],
)
def test_what_needs_no_copy_gets_none(alias) -> None:
    a = xp.asarray(HOST)
    launches, used = xp.device.counts.launch, xp.device.pool.used_bytes()
    b = alias(a)
    assert xp.device.owner(b) is xp.device.owner(a)
    assert (xp.device.counts.launch, xp.device.pool.used_bytes()) == (launches, used)


@pytest.mark.parametrize(
    "copy", [lambda a: a.T.reshape(-1), lambda a: a.T.ravel(), np.copy, lambda a: a.astype("f4"), lambda a: a.flatten()]
)
def test_what_needs_a_copy_gets_one(copy) -> None:
    a = xp.asarray(HOST)
    launches = xp.device.counts.launch
    b = copy(a)
    assert xp.device.owner(b) is not xp.device.owner(a)
    assert xp.device.counts.launch == launches + 1
    assert xp.device.counts.log[-1] == ("launch", "copy")
