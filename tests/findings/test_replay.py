"""Is a wait worth what the end of the run would move without it?"""

from __future__ import annotations

import numpy as np
import pytest

from gradviz.findings.replay import Replay
from gradviz.record.events import Flag, Kind, Trigger
from gradviz.record.trace import Trace
from tests.traces import Maker


def stream_of(turns: int, host_ns: int, device_ns: int, lag_ns: int, waits: int = 1) -> Trace:
    """A loop whose turns hand one kernel over and then wait for it."""
    maker = Maker(simulated=True)
    for _ in range(turns):
        maker.wait(host_ns)
        start_ns, end_ns = maker.now_ns, maker.now_ns + device_ns
        maker.add("events", kind=Kind.KERNEL, name="k", lane=maker.stream, start_ns=start_ns, end_ns=end_ns,
                  flags=Flag.SIMULATED)  # fmt: skip
        maker.sync(Trigger.FLOAT, device_ns + lag_ns, host_ns)
        for _ in range(waits - 1):
            maker.sync(Trigger.FLOAT, lag_ns)
    return maker.trace()


def test_nothing_is_saved_by_taking_nothing_away():
    replay = Replay(stream_of(10, 100, 1000, 50))
    assert replay.all_ns == 10 * 1150
    assert replay.saved_ns(np.empty(0, int)) == 0


def test_a_busy_device_goes_on_without_a_gap():
    replay = Replay(stream_of(10, 100, 1000, 50))
    assert replay.saved_ns(np.arange(10)) == 10 * 1150 - (100 + 10 * 1000)


def test_a_host_that_is_the_bottleneck_saves_its_wait():
    replay = Replay(stream_of(10, 1000, 100, 50))
    assert replay.saved_ns(np.arange(10)) == 10 * 1150 - (10 * 1000 + 100)


def test_of_two_waits_in_a_row_the_first_alone_is_worth_only_its_lag():
    replay = Replay(stream_of(10, 100, 1000, 50, waits=2))
    assert replay.saved_ns(np.arange(0, 20, 2)) == 10 * 50
    assert replay.saved_ns(np.arange(20)) == 10 * 1200 - (100 + 10 * 1000)


def test_a_wait_while_another_stream_works_ahead_saves_nothing():
    maker = Maker(simulated=True)
    for lane_end_ns in (1_000_000, 1_001_000):
        maker.add("events", kind=Kind.KERNEL, name="long", lane=maker.stream, start_ns=lane_end_ns - 1_000_000,
                  end_ns=lane_end_ns)  # fmt: skip
    for _ in range(100):
        maker.wait(5000)
        maker.sync(Trigger.ITEM, 1000)
    maker.now_ns = 1_001_000
    maker.sync(Trigger.GET, 0)
    replay = Replay(maker.trace())
    assert replay.saved_ns(np.arange(100)) == 0


@pytest.mark.parametrize("trace", [Maker().trace(), Maker(simulated=True).trace()])
def test_an_empty_run_takes_no_time(trace):
    assert Replay(trace).all_ns == 0
