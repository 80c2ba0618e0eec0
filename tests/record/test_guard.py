"""Does a guard stop what it forbids, at the line, and nothing else?"""

from __future__ import annotations

import logging
import re
from contextlib import nullcontext

import numpy as np
import pytest

import gradviz as gv
from gradviz.devices.protocol import LISTENER
from gradviz.errors import ForbiddenError, GradvizError
from gradviz.record.guard import ACTIVE, check, forbid, recorder_wanted


def reads_in_its_pullback(read):
    @gv.rule
    def double(x):
        return x * 2.0

    @double.pullback
    def double_to_x(ct, x):
        read(np.sum(ct * x))
        return ct * 2.0

    return lambda x: np.sum(double(x))


def device_ones():
    return gv.simulate("a100", fresh=True).ones(3)


@pytest.mark.parametrize("profiled", [False, True])
def test_a_sync_is_stopped_at_the_users_line(profiled):
    x = device_ones()
    with gv.profile() if profiled else forbid("transfer", level="log"):
        with (
            forbid("host_sync"),
            pytest.raises(ForbiddenError, match=r"host_sync \(item\) is forbidden here.*test_guard.py:\d+\. Keep"),
        ):
            np.sum(x).item()
        np.sum(x).item()


@pytest.mark.parametrize("profiled", [False, True])
def test_inside_pullbacks_only(profiled):
    x = device_ones()
    gradient = gv.grad(reads_in_its_pullback(float))
    with gv.profile() if profiled else forbid("transfer", level="log"):
        with forbid("host_sync", inside="forward"):
            gradient(x)
            with pytest.raises(ForbiddenError):
                np.sum(x).item()
        with forbid("host_sync", inside="pullback"):
            np.sum(x).item()
            with pytest.raises(ForbiddenError, match=r"host_sync \(float\).*test_guard.py:\d+, in a pullback"):
                gradient(x)


def test_a_pullback_that_leaves_values_on_the_device_passes():
    with forbid("host_sync"), forbid("transfer"):
        gv.grad(reads_in_its_pullback(lambda value: value))(device_ones())


def test_transfers():
    xp = gv.simulate("a100", fresh=True)
    with forbid("transfer"):
        with pytest.raises(ForbiddenError, match=r"transfer \(host to device\)"):
            xp.asarray([1.0])
        with pytest.raises(ForbiddenError, match=r"transfer \(device to host\)"):
            xp.ones(3).get()


@pytest.mark.parametrize("profiled", [False, True])
def test_copies(profiled):
    def overwrites(x):
        y = np.exp(x)
        y[0] = 2.0
        return np.sum(y)

    recording = gv.profile() if profiled else forbid("transfer", level="log")
    with recording, forbid("copy"), pytest.raises(ForbiddenError, match=r"saved value.*test_guard.py:\d+\. Write"):
        gv.grad(overwrites)(np.ones(3))


@pytest.mark.parametrize("profiled", [False, True])
def test_dense_zeros(profiled):
    @gv.rule
    def pick(p, i):
        return p[i]

    @pick.pullback
    def pick_to_p(ct, p, i):
        zeros = np.zeros_like(p)
        zeros[i] = ct
        return zeros

    def squares(pick):
        return gv.grad(lambda p: sum(pick(p, i) ** 2 for i in range(5)))

    recording = gv.profile() if profiled else forbid("transfer", level="log")
    with recording, forbid("dense_zeros"):
        squares(lambda p, i: p[i])(np.ones(1000))
        with pytest.raises(ForbiddenError, match=r"dense_zeros \(pick › p\).*in a pullback"):
            squares(pick)(np.ones(1000))


def test_only_a_recorder_sees_copies():
    assert not recorder_wanted()
    with forbid("host_sync"):
        assert not recorder_wanted()
        with forbid("copy"):
            assert recorder_wanted()


def test_the_log(caplog):
    x = device_ones()
    with forbid("host_sync", level="log"), caplog.at_level(logging.WARNING, "gradviz"):
        np.sum(x).item()
        x.get()
    assert re.findall(r"host_sync \((\w+)\).*?test_guard.py:\d+", caplog.text) == ["item"]
    with forbid("host_sync", level="log_explicit"), caplog.at_level(logging.WARNING, "gradviz"):
        x.get()
    assert "host_sync (get)" in caplog.text


def test_what_is_asked_for_in_words_passes_the_milder_level():
    xp = gv.simulate("a100", fresh=True)
    x = xp.ones(3)
    with forbid("host_sync", level="disallow"), forbid("transfer", level="disallow"):
        x.get()
        xp.asarray(np.ones(3))
        xp.cuda.Device().synchronize()
        xp.cuda.Stream().synchronize()
        for implicit in (
            lambda: float(x[0]),
            lambda: bool(x[0]),
            lambda: x.tolist(),
            lambda: repr(x),
            lambda: x[x > 0],
        ):
            with pytest.raises(ForbiddenError):
                implicit()
        with pytest.raises(ForbiddenError, match=r"transfer \(host to device\)"):
            x[[0, 1]]


@pytest.mark.parametrize("direction", ["host_to_device", "device_to_host"])
def test_one_direction(direction):
    xp = gv.simulate("a100", fresh=True)
    x = xp.ones(3)
    ways = {"host_to_device": lambda: xp.asarray(np.ones(3)), "device_to_host": x.get}
    with forbid("transfer", direction=direction):
        for name, move in ways.items():
            with pytest.raises(ForbiddenError) if name == direction else nullcontext():
                move()


def test_the_innermost_guard_decides():
    x = device_ones()
    with forbid("host_sync"):
        with forbid("host_sync", level="allow"):
            np.sum(x).item()
            with forbid("host_sync", level="disallow"):
                x.get()
                with pytest.raises(ForbiddenError):
                    np.sum(x).item()
        with forbid("host_sync", level="allow", inside="pullback"), pytest.raises(ForbiddenError):
            np.sum(x).item()
        with forbid("transfer", level="allow"), pytest.raises(ForbiddenError):
            x.get()


def test_strict_is_about_waits():
    with pytest.raises(GradvizError, match="strict"), forbid("copy", strict=True):
        pass


def test_all_is_as_before_afterwards():
    before = LISTENER.get(), ACTIVE.get()
    with pytest.raises(ForbiddenError), forbid("host_sync"), forbid("host_sync"):
        np.sum(device_ones()).item()
    assert (LISTENER.get(), ACTIVE.get()) == before


def test_as_a_decorator():
    @forbid("host_sync")
    def step(x):
        return np.sum(x).item()

    for _ in range(2):
        with pytest.raises(ForbiddenError):
            step(device_ones())


def test_the_allocators_wait_is_nobodys_fault():
    with forbid("host_sync"):
        check("host_sync", "allocation", in_pullback=False)


@pytest.mark.parametrize(
    "arguments", [{"what": "sync"}, {"what": "copy", "inside": "loop"}, {"what": "copy", "level": "panic"}]
)
def test_unknown_words(arguments):
    with pytest.raises(GradvizError, match="is one of"), forbid(**arguments):
        pass
