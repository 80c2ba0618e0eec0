"""Are device times read without waiting, and laid on the host's clock so that nothing runs before it was queued?

Events need a GPU; here stand some whose clock the test sets. What real ones do is checked by ``tests/gpu``.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gradviz.devices.cuda import stopwatch as module
from gradviz.devices.cuda.stopwatch import KEPT_PAIRS, EventStopwatch


class Gpu:
    """A GPU that runs what is queued only when it is told to. Its clock began long before the host's."""

    def __init__(self, monkeypatch):
        self.host_ns, self.device_ns, self.capturing, self.made = 1_000_000, 77_000_000, False, 0
        self.queue, gpu = [], self
        monkeypatch.setattr(module, "perf_counter_ns", lambda: gpu.host_ns)

        class Event:
            def __init__(self):
                gpu.made += 1
                self.at_ns = None

            def record(self, stream):
                self.at_ns = None
                gpu.queue.append(self)

            @property
            def done(self):
                return self.at_ns is not None

            def synchronize(self):
                raise AssertionError("the stopwatch waits")

        class Stream:
            ptr = 7

            def is_capturing(self):
                return gpu.capturing

            def record(self, event):
                event.record(self)
                return event

            def synchronize(self):
                raise AssertionError("the stopwatch waits")

        stream = Stream()
        self.cuda = SimpleNamespace(
            Event=Event, get_current_stream=lambda: stream, get_elapsed_time=lambda a, b: (b.at_ns - a.at_ns) / 1e6
        )

    def run(self, *took_ns):
        """Pass the queued events, so much later each."""
        for ns in took_ns:
            self.device_ns += ns
            self.queue.pop(0).at_ns = self.device_ns


class Listener:
    def __init__(self):
        self.kernels = []

    def place(self):
        return 5

    def kernel(self, *what):
        self.kernels.append(what)


@pytest.fixture
def gpu(monkeypatch):
    return Gpu(monkeypatch)


def test_times_come_when_the_device_has_passed(gpu):
    watch, listener = EventStopwatch(gpu), Listener()
    begun = watch.begin(listener, "sin")
    gpu.host_ns += 10_000
    watch.end(begun)
    assert not listener.kernels
    gpu.run(0, 3_000, 40_000)
    watch.collect()
    ((name, stream, start, stop, nbytes, place),) = listener.kernels
    assert (name, stream, nbytes, place) == ("sin", "stream 0x7", 0, 5)
    assert stop - start == 40_000
    assert start >= 1_000_000  # when it was queued


def test_nothing_runs_before_it_was_queued(gpu):
    """The device was busy when its clock was first read, so the clock was taken to be late; an idle moment tells better."""
    watch, listener = EventStopwatch(gpu), Listener()
    watch.end(watch.begin(listener, "first"))
    gpu.run(50_000_000, 1_000, 2_000)
    gpu.host_ns += 60_000_000
    watch.end(watch.begin(listener, "second"))
    gpu.run(10_000, 2_000)
    watch.collect()
    queued_ns = 61_000_000
    assert listener.kernels[1][2] >= queued_ns


def test_events_are_used_again(gpu):
    watch, listener = EventStopwatch(gpu), Listener()
    for _ in range(10):
        watch.end(watch.begin(listener, "sin"))
        gpu.run(*[1_000] * len(gpu.queue))
        watch.collect()
    assert gpu.made == 3
    assert len(listener.kernels) == 10


def test_a_device_that_never_gets_there_costs_a_bounded_number_of_events(gpu):
    watch = EventStopwatch(gpu)
    for _ in range(2 * KEPT_PAIRS):
        watch.end(watch.begin(Listener(), "sin"))
    assert gpu.made == 1 + 2 * KEPT_PAIRS


def test_nothing_is_recorded_into_a_graph(gpu):
    watch = EventStopwatch(gpu)
    gpu.capturing = True
    assert watch.begin(Listener(), "sin") is None
    watch.end(None)
    assert not gpu.queue
