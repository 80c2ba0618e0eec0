"""Is it known what CuPy refuses while a stream is captured? Captures themselves are run by ``tests/gpu``."""

from __future__ import annotations

import cupy
import numpy as np

import gradviz as gv
from gradviz.devices.cuda.capture import is_refusal
from gradviz.devices.cuda.device import driver_is_there
from gradviz.devices.cuda.streams import is_capturing, stream_name


def test_errors_of_cuda_name_the_capture():
    """cudaErrorStreamCaptureUnsupported and its kin are 900 to 908."""
    for status in range(900, 909):
        assert is_refusal(cupy.cuda.runtime.CUDARuntimeError(status)), status


def test_other_errors_do_not():
    assert not is_refusal(cupy.cuda.runtime.CUDARuntimeError(2))  # out of memory
    assert not is_refusal(ValueError("shapes differ"))


def test_what_cupy_itself_says():
    """cublas.pyx and memory.pyx."""
    assert is_refusal(NotImplementedError("calling cuBLAS API during stream capture is currently unsupported"))
    assert is_refusal(RuntimeError("the current stream is capturing, so D2H transfers are disallowed"))


def test_streams():
    assert stream_name(cupy.cuda.Stream.null) == "default stream"
    assert stream_name(cupy.cuda.Stream.ptds) == "per-thread default stream"
    assert not is_capturing(cupy.cuda.Stream.null)


def test_without_a_driver_strict_still_stops_the_waits_that_doors_see():
    assert not driver_is_there(cupy)
    with gv.forbid("host_sync", strict=True):
        gv.grad(lambda x: np.sum(x * x))(np.ones(3))
