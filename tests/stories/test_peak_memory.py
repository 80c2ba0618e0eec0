"""Does the recorder's peak of memory agree with what NumPy really took, as tracemalloc counts it?

tracemalloc keeps one peak, for Python's objects and NumPy's arrays together. NumPy tells it of each array itself, while Python's
allocators are wrapped: so once their wrappers are taken off again, what is counted is NumPy's domain, and the peak is exact.
"""

from __future__ import annotations

import ctypes
import gc
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gradviz.cli.demo import load_program, record
from gradviz.graph.memory import memory

PYTHONS_DOMAINS = range(3)  # raw, mem, object


class Allocator(ctypes.Structure):
    """``PyMemAllocatorEx``."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")]


@contextmanager
def counting_arrays_only() -> Iterator[None]:
    """tracemalloc without the allocations of Python itself."""
    allocators = [Allocator() for _ in PYTHONS_DOMAINS]
    for domain in PYTHONS_DOMAINS:
        ctypes.pythonapi.PyMem_GetAllocator(domain, ctypes.byref(allocators[domain]))
    tracemalloc.start(1)
    for domain in PYTHONS_DOMAINS:
        ctypes.pythonapi.PyMem_SetAllocator(domain, ctypes.byref(allocators[domain]))
    try:
        yield
    finally:
        tracemalloc.stop()


def test_only_arrays_are_counted() -> None:
    with counting_arrays_only():
        before = tracemalloc.get_traced_memory()[0]
        objects = [object() for _ in range(100_000)]
        assert abs(tracemalloc.get_traced_memory()[0] - before) < 10_000
        array = np.empty(1_000_000)
        assert tracemalloc.get_traced_memory()[0] - before == pytest.approx(array.nbytes, rel=0.01)
        del array, objects
        assert tracemalloc.get_traced_memory()[1] - before == pytest.approx(8_000_000, rel=0.01)


def inputs_of(program: Any) -> tuple[Any, ...]:
    """The inputs, but for arrays that never come near a gradient, of which a recorder cannot know: the digits to test with."""
    inputs = program.prepare()
    if len(inputs) < 6:
        return inputs
    images, digits, _, _, *others = inputs
    return images, digits, images[:1], digits[:1], *others


@pytest.mark.parametrize("name", ["digits", "ising"])
@pytest.mark.parametrize("version", ["as_written", "by_gradviz"])
def test_the_peak_is_that_of_numpy(name: str, version: str) -> None:
    program = load_program(name)
    run = getattr(program, version)
    record(run, program.prepare(quick=True))  # what is made once, such as compiled rules
    gc.collect()
    with counting_arrays_only():
        inputs = inputs_of(program)
        tracemalloc.reset_peak()
        taken = record(run, inputs)
        peak_nbytes = tracemalloc.get_traced_memory()[1]
    assert memory(taken.trace).peak_nbytes == pytest.approx(peak_nbytes, rel=0.1)
