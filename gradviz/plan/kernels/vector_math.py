"""Which mathematical functions this machine's C libraries have, and under what names.

glibc's libmvec has vector forms of libm's functions, named by the vector ABI: ``_ZGV``, the instruction set (``b`` SSE4, ``d`` AVX2,
``e`` AVX-512, ``n`` Arm's NEON), ``N`` (no mask), the lanes, a ``v`` per argument, ``_`` and the function; ``_ZGVeN8v_sin`` takes eight
doubles. Their results are within 4 ulp (glibc manual, "Errors in Math Functions"), their results at infinities, NaN and subnormals are
libm's. Where a form is missing the function is called lane by lane.
"""

from __future__ import annotations

import ctypes
import functools
import platform
from collections.abc import Iterable, Mapping

UNARY = (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "exp2", "expm1",
    "log", "log2", "log10", "log1p", "cbrt", "erf", "erfc", "tgamma", "lgamma",
)  # fmt: skip
BINARY = ("pow", "atan2", "hypot", "fmod")
COMPLEX = (
    "cexp", "clog", "csqrt", "csin", "ccos", "ctan", "csinh", "ccosh", "ctanh", "casin", "cacos", "catan", "casinh", "cacosh",
    "catanh", "cpow",
)  # fmt: skip

LIBM = {"Linux": ("libm.so.6", None), "Darwin": ("libSystem.dylib", None), "Windows": ("ucrtbase",)}


class Library:
    """The symbols that emitted code may call, with their addresses, and the widths of this machine's vectors.

    Parameters
    ----------
    vector_bytes : int
        Bytes of one vector register.
    instruction_sets : iterable of (letter, bytes)
        The letters of the vector ABI that the machine can run, widest first, each with its vector's bytes.
    addresses : mapping of str to int
        What can be called.
    """

    def __init__(
        self, vector_bytes: int, instruction_sets: Iterable[tuple[str, int]], addresses: Mapping[str, int]
    ) -> None:
        self.vector_bytes = vector_bytes
        self.instruction_sets = tuple(instruction_sets)
        self.addresses = dict(addresses)
        self.description = f"{vector_bytes} {self.instruction_sets} {' '.join(sorted(self.addresses))}"

    def vector_form(self, function: str, dtype: str, lanes: int, inputs: int) -> tuple[str, int] | None:
        """The widest vector form of at most ``lanes`` lanes: its symbol and its lanes."""
        suffix, size = ("f", 4) if dtype == "f4" else ("", 8)
        for letter, nbytes in self.instruction_sets:
            width = nbytes // size
            symbol = f"_ZGV{letter}N{width}{'v' * inputs}_{function}{suffix}"
            if width <= lanes and symbol in self.addresses:
                return symbol, width
        return None

    def scalar_form(self, function: str, dtype: str) -> str:
        return function + "f" if dtype == "f4" else function

    def has(self, function: str) -> bool:
        return function in self.addresses


@functools.cache
def host_library() -> Library:
    """The library of the machine this runs on."""
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    machine = platform.machine().lower()
    sets: list[tuple[str, int]] = []
    vector_bytes = 16
    if machine in {"x86_64", "amd64"}:
        if all(features.get(name) for name in ("avx512f", "avx512dq", "avx512bw", "avx512vl")):
            sets.append(("e", 64))
        if features.get("avx2"):
            sets.append(("d", 32))
        if features.get("sse4.1"):
            sets.append(("b", 16))
        vector_bytes = sets[0][1] if sets else 16
    elif machine in {"aarch64", "arm64"}:
        sets = [("n", 16), ("n", 8)]
    return Library(vector_bytes, sets, _addresses(sets))


def _addresses(sets: list[tuple[str, int]]) -> dict[str, int]:
    wanted = [f + suffix for f in (*UNARY, *BINARY) for suffix in ("", "f")]
    if platform.system() != "Windows":  # whose C passes complex numbers by address
        wanted += COMPLEX
    found = _look_up(_open(*LIBM.get(platform.system(), (None,))), wanted)
    vectors = [
        f"_ZGV{letter}N{nbytes // size}{'v' * inputs}_{function}{suffix}"
        for letter, nbytes in sets
        for suffix, size in (("", 8), ("f", 4))
        for inputs, functions in ((1, UNARY), (2, BINARY))
        for function in functions
    ]
    return found | _look_up(_open("libmvec.so.1"), vectors)


def _open(*names: str | None) -> ctypes.CDLL | None:
    """The first of these libraries that is there; None stands for the process itself."""
    for name in names:
        try:
            return ctypes.CDLL(name)
        except (OSError, TypeError):
            continue
    return None


def _look_up(library: ctypes.CDLL | None, names: Iterable[str]) -> dict[str, int]:
    found = {}
    for name in names if library is not None else ():
        try:
            found[name] = ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            continue
    return found
