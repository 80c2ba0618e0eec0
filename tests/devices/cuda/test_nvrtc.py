"""Does NVIDIA's compiler take the CUDA C that plans are written in? It needs no driver, and its wheel is in these environments."""

from __future__ import annotations

import ctypes
import random
from importlib.metadata import files
from pathlib import Path

import cupy
import pytest

from gradviz.plan.cuda.emit import COMPLEX_HEADER, emit
from gradviz.plan.device.gpu import SEND
from tests.plan.cuda.host_gpu import prefix_of
from tests.plan.cuda.test_functions import CASES, EXPONENTS, kernel_for, power_of
from tests.plan.kernels.random_kernels import Draw

MAJOR = int(cupy.__version__.partition(".")[0])
WHEEL = {13: "nvidia-cuda-nvrtc-cu12", 14: "nvidia-cuda-nvrtc"}[MAJOR]
INCLUDE = Path(cupy.__file__).parent / "_core" / "include"
FOLDERS = [
    INCLUDE,
    *(INCLUDE / "cupy" / "_cccl" / part for part in ("cub", "thrust", "libcudacxx")),
]  # as CuPy tells NVRTC


class Nvrtc:
    """NVRTC by its C interface."""

    def __init__(self) -> None:
        found = [f for f in files(WHEEL) or () if f.name.startswith("libnvrtc.so")]
        self.nvrtc = ctypes.CDLL(str(found[0].locate()))

    def cubin(self, source: str, architecture: str) -> bytes:
        """The machine code of a source for one kind of GPU."""
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        nvrtc = self.nvrtc
        assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"plan.cu", 0, None, None) == 0
        options = [f"--gpu-architecture={architecture}", "--std=c++17", "-default-device", *(f"-I{f}" for f in FOLDERS)]
        status = nvrtc.nvrtcCompileProgram(
            program, len(options), (ctypes.c_char_p * len(options))(*map(str.encode, options))
        )
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        assert status == 0, log.value.decode()[:4000]
        assert nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)) == 0
        code = ctypes.create_string_buffer(size.value)
        assert nvrtc.nvrtcGetCUBIN(program, code) == 0
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        return code.raw


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    return Nvrtc()


def test_all_functions_compile(nvrtc):
    architecture = {13: "sm_80", 14: "sm_90"}[MAJOR]  # 13 s each
    kernels = [kernel_for(*case) for case in CASES] + [power_of(e, "f8") for e in EXPONENTS]
    sources = [emit(kernel, prefix_of(kernel)) for kernel in dict.fromkeys(kernels)]
    code = nvrtc.cubin(COMPLEX_HEADER + "\n".join(s.text for s in sources), architecture)
    for source in sources:
        assert all(name.encode() in code for name in source.names)


def test_the_kernel_that_sends_words_compiles(nvrtc):
    assert b"send_words" in nvrtc.cubin(SEND, "sm_80")


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_random_kernels_compile(nvrtc, architecture):
    kernels = dict.fromkeys(Draw(random.Random(seed)).draw().kernel for seed in range(20))
    for kernel in kernels:
        source = emit(kernel, "k_")
        assert all(name.encode() in nvrtc.cubin(source.module, architecture) for name in source.names)
