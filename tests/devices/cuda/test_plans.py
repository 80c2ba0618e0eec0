"""Do plans run on CuPy's own arrays? All but the launch is CuPy's and ours: the CUDA C is compiled for the host, as is the memory."""

from __future__ import annotations

import ast
import ctypes
import inspect
from pathlib import Path
from typing import Any, ClassVar, Self

import cupy
import numpy as np
import pytest

import gradviz as gv
from gradviz.devices.cuda import cuda_device
from gradviz.plan.cuda.emit import COMPLEX_HEADER
from gradviz.plan.device import gpu
from gradviz.plan.device.gpu import ARGUMENTS, SENT, CudaMachine, Segment
from gradviz.transforms.trees import flatten, unflatten
from tests.devices.cuda.host_memory import HostArray, device, host
from tests.plan.cuda.host_gpu import HostGpu
from tests.plan.device.programs import PROGRAMS

NAMES = ("network", "adam", "contraction", "scattered", "scattered, complex", "transposed", "solve", "float gradients", "written",
         "branching", "horner", "chain", "only numbers", "empty", "a maximum of integers")  # fmt: skip

LAUNCHED: list[str] = []


def on_the_host(gpu_: HostGpu, name: str) -> Any:
    """A function as `cupy.RawModule.get_function` gives one."""

    def launch(grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
        LAUNCHED.append(name)
        gpu_.launch(name, *grid, *block, *arguments)

    return launch


def send_words(grid: Any, block: Any, arguments: Any) -> None:
    """The one kernel whose argument is a struct; CuPy passes a NumPy array with one entry by value."""
    table, given = arguments
    assert given.size == 1
    assert given.dtype.itemsize + 8 <= 4096
    LAUNCHED.append("send_words")
    words = int(given["count"])
    host(table)[given["word"][:words]] = given["value"][:words]


def gemm(transa: str, transb: str, a: Any, b: Any, out: Any = None, alpha: float = 1.0, beta: float = 0.0) -> Any:
    """As `cupy.cublas.gemm`."""
    ways = {"N": lambda x: x, "T": lambda x: x.T, "H": lambda x: x.conj().T}
    host(out)[...] = alpha * (ways[transa](host(a)) @ ways[transb](host(b))) + beta * host(out)
    return out


@pytest.fixture(autouse=True)
def no_launch(monkeypatch):
    LAUNCHED.clear()

    def load(self, code, names):
        if code is gpu.SEND:
            return {"send_words": send_words}
        compiled = HostGpu([code.replace(COMPLEX_HEADER, "")])
        return {name: on_the_host(compiled, name) for name in names}

    made = CudaMachine.__init__

    def init(self, *args):
        made(self, *args)
        self.ndarray = HostArray

    monkeypatch.setattr(CudaMachine, "__init__", init)
    monkeypatch.setattr(CudaMachine, "load", load)
    monkeypatch.setattr(CudaMachine, "segment", lambda self, tasks: gpu.in_order(tasks))
    monkeypatch.setattr(CudaMachine, "upload", lambda self, array: device(np.ascontiguousarray(array)))
    monkeypatch.setattr(gpu, "gemm", lambda: gemm)


def moved(tree):
    leaves, structure = flatten(tree)
    return unflatten(structure, [device(x) if isinstance(x, np.ndarray) else x for x in leaves])


def copied(tree):
    leaves, structure = flatten(tree)
    return unflatten(structure, [x.copy(order="K") if isinstance(x, np.ndarray) else x for x in leaves])


@pytest.mark.parametrize("name", NAMES)
def test_plans_run_on_cupys_arrays(name):
    f, args = PROGRAMS[name]
    compiled = gv.compile(f)
    for _ in range(2):
        mine, theirs = moved(args), copied(args)
        got, want = compiled(*mine), f(*theirs)
        for a, b in zip(flatten((got, mine))[0], flatten((want, theirs))[0], strict=True):
            assert isinstance(a, cupy.ndarray) or not isinstance(b, np.ndarray)
            np.testing.assert_allclose(host(a), b, rtol=1e-10, atol=1e-10)
    assert name == "contraction" or LAUNCHED


def test_the_struct_of_words_is_what_the_kernel_takes():
    assert ARGUMENTS.itemsize == 8 * (1 + 2 * SENT)
    assert ctypes.sizeof(ctypes.c_longlong) == 8


def test_many_words_take_several_launches():
    machine = CudaMachine(cuda_device(0))
    table = device(np.zeros(500, np.int64))
    machine.send(table, np.arange(500), np.arange(500) * 3)
    np.testing.assert_array_equal(host(table), np.arange(500) * 3)
    assert LAUNCHED == ["send_words"] * 3


def test_cublas_is_called_as_cupy_defines_it():
    source = ast.parse((Path(cupy.__file__).parent / "cublas.py").read_text())
    (theirs,) = (node for node in source.body if isinstance(node, ast.FunctionDef) and node.name == "gemm")
    assert [a.arg for a in theirs.args.args] == list(inspect.signature(gemm).parameters)


class Stream:
    """What a `Segment` asks of a stream, where there is none."""

    log: ClassVar[list[str]] = []
    ptr = 7

    def __init__(self, non_blocking: bool = False) -> None:
        assert non_blocking

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def begin_capture(self) -> None:
        self.log.append("begin")

    def end_capture(self) -> Any:
        self.log.append("end")
        return self

    def launch(self, stream: Any) -> None:
        self.log.append("graph")


def test_launches_become_a_graph_when_they_come_again(monkeypatch):
    for name in ("begin_capture", "end_capture"):
        assert hasattr(cupy.cuda.Stream, name)
    assert "stream" in cupy.cuda.Graph.launch.__doc__
    monkeypatch.setattr(cupy.cuda, "Stream", Stream, raising=True)
    monkeypatch.setattr(cupy.cuda, "get_current_stream", lambda: type("Null", (), {"ptr": 0})())
    Stream.log = []
    segment = Segment(cupy, [lambda: Stream.log.append("a"), lambda: Stream.log.append("b")])
    for _ in range(3):
        segment()
    assert Stream.log == ["a", "b", "begin", "a", "b", "end", "graph", "graph"]
