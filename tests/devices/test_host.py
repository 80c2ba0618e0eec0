"""Is the host a device like the others?"""

from __future__ import annotations

import weakref

import numpy as np

from gradviz.devices.host import HOST
from gradviz.devices.sim import simulate


def test_what_it_says_of_itself() -> None:
    assert (HOST.name, HOST.simulated) == ("host", False)
    assert HOST.total_nbytes > 1 << 28
    assert 1e8 < HOST.bandwidth_bytes_per_s < 1e13
    assert HOST.bandwidth_bytes_per_s == HOST.bandwidth_bytes_per_s  # measured once
    assert isinstance(np.ones(3), HOST.array_types)
    assert isinstance(np.float64(3), HOST.array_types)


def test_time_goes_on() -> None:
    assert HOST.now_ns() < HOST.now_ns()


def test_views_have_the_owner_of_the_memory() -> None:
    a = np.zeros((4, 4))
    for view in (
        a,
        a[1:],
        a.T,
        a[1:].T.reshape(-1)[:1].base,
        np.broadcast_to(a, (3, 4, 4)),
        a.view(np.int64),
        a[0][::-1],
    ):
        owner = HOST.owner(view)
        assert owner is a or not np.shares_memory(owner, a)
    assert HOST.owner(a[1:].T) is a
    assert HOST.owner(np.broadcast_to(a, (3, 4, 4))[1:]) is a
    assert HOST.owner(a.copy()) is not a


def test_the_owner_lives_as_long_as_the_memory() -> None:
    view = np.zeros(10)[2:5]
    alive = weakref.ref(HOST.owner(view))
    assert alive() is not None
    del view
    assert alive() is None


def test_memory_of_others_has_an_owner_too() -> None:
    raw = bytearray(80)
    a = np.frombuffer(raw)
    assert HOST.owner(a[1:]) is a


def test_moving() -> None:
    a = np.ones(3)
    assert HOST.asarray(a) is a
    assert HOST.get(a) is a
    assert isinstance(HOST.asarray([1, 2]), np.ndarray)
    xp = simulate("a100", fresh=True)
    np.testing.assert_array_equal(HOST.asarray(xp.ones(3)), a)
    assert xp.device.counts.sync == 1
