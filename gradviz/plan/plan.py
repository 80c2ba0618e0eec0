"""What a plan is: a program made ready to run, and run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numpy as np

from gradviz.plan.device.frame import DeviceFrame
from gradviz.plan.device.machine import machine_of
from gradviz.plan.device.numbers import split
from gradviz.plan.explain import Explanation, Memory, explain, memory
from gradviz.plan.program.program import Program
from gradviz.plan.run.prepare import prepare
from gradviz.plan.run.run import Frame
from gradviz.plan.simplify.batch import batch
from gradviz.plan.simplify.block import Block, read
from gradviz.plan.simplify.products import products
from gradviz.plan.simplify.simplify import simplify
from gradviz.record.current import current_recorder


class OfNumbers:
    """The part of a device's plan that the host runs before it."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.frame = Frame(prepare(block, ()))
        self.lock = Lock()

    def run(self, values: Sequence[Any]) -> list[Any]:
        """What it makes of the numbers among the inputs of the whole."""
        numbers = [value for value in values if not hasattr(value, "strides") or isinstance(value, np.generic)]
        with self.lock:
            return self.frame.run(numbers)


class Plan:
    """A program ready to run.

    Attributes
    ----------
    program : what was captured, with its loops rolled up
    block : what is left to do, as nodes
    steps : what runs together, in order
    placement : where everything lives
    donated : inputs that may be overwritten
    calls : how many calls were captured
    sites : the lines of the user that they came from: (code object, instruction)
    compile_ns : what its kernels took to compile, or to read from disk
    machine : the device it runs on; None for the host
    of_numbers : what the host computes of numbers before the device's part; None if there is nothing
    compared : arrays whose values are looked at in each call, as something may have been computed of them that is kept
    layouts : for each input "C", "F", or "any" for arrays whose entries do not follow each other, which are copied first
    """

    def __init__(
        self,
        program: Program,
        donated: frozenset[int] = frozenset(),
        written: Sequence[tuple[int, int]] = (),
        layouts: Sequence[str] = (),
        calls: int = 0,
        sites: Sequence[Any] = (),
        device: Any = None,
        compared: Sequence[str] = (),
    ) -> None:
        self.program, self.donated = program, donated
        block = simplify(read(program))
        if any(node.loop is not None for node in block.nodes):
            block = simplify(batch(block))
        self.block = products(block)
        self.machine = None if device is None else machine_of(device)
        self.of_numbers: OfNumbers | None = None
        if self.machine is not None:
            host, self.block = split(self.block)
            self.of_numbers = OfNumbers(host) if host.nodes else None
        self.prepared = prepare(self.block, layouts, donated, dict(written))
        self.block, self.steps, self.placement, _ = self.prepared
        self.frames: list[Any] = [self._frame()]
        self.compile_ns = self.frames[0].compile_ns
        self.calls, self.sites, self.compared = calls, sites, compared

    def run(self, values: Sequence[Any]) -> list[Any]:
        """The outputs for inputs of the kinds it was made for, without those that are written into inputs.

        Raises `Mismatch` before anything is overwritten.
        """
        try:
            frame = self.frames.pop()
        except IndexError:  # all are in use, by other threads
            frame = self._frame()
        try:
            if self.of_numbers is not None:
                values = [*values, *self.of_numbers.run(values)]
            values = list(values) if frame.places.copied else values
            recorder = current_recorder()
            return frame.run(values) if recorder is None else frame.watched(values, recorder, self.sites)
        finally:
            self.frames.append(frame)

    def _frame(self) -> Any:
        """The memory of one call, and what runs in it."""
        if self.machine is None:
            return Frame(self.prepared)
        return DeviceFrame(self.block, self.steps, self.placement, self.machine)

    def explain(self, line: Callable[[int], str] = str) -> Explanation:
        """The steps, the bytes they move, and each copy that is left; ``line`` tells the user's line behind a site."""
        return explain(self, line)

    def memory(self) -> Memory:
        """What a call needs beside its arguments."""
        return memory(self)
