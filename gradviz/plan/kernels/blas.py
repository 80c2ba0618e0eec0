"""The BLAS that is called for products with more to them than `np.matmul` can be told: MKL where it is installed, else NumPy's own.

NumPy's is a second way into a library that is loaded anyway, so its threads are not doubled.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.kernels.call import direct

LETTERS = {"f": "s", "d": "d", "F": "c", "D": "z"}
WAYS = {"N": 111, "T": 112, "C": 113}
ROW_MAJOR = 101


class Blas(NamedTuple):
    """A library with the C interface of BLAS: its name, and how it names and counts."""

    name: str
    loaded: Any
    spelling: str  # of a function, with {} for cblas_dgemm
    integer: Any

    def gemm(
        self,
        dtype: np.dtype[Any],
        ways: tuple[int, int],
        sizes: tuple[int, int, int],
        alpha: Any,
        leading: tuple[int, int, int],
        beta: Any = 0,
    ) -> Callable[[int, int, int], object]:
        """``c = alpha * op(a) @ op(b) + beta * c`` for matrices of these sizes (m, n, k): a function of their three addresses."""
        letter = LETTERS[dtype.char]
        function = self.loaded[self.spelling.format(f"cblas_{letter}gemm")]
        (m, n, k), (lda, ldb, ldc), i = sizes, leading, self.integer
        if direct is not None:
            code = ctypes.cast(function, ctypes.c_void_p).value
            wide = ctypes.sizeof(i) == 8
            return direct.Gemm(self.loaded, code, ord(letter), wide, *ways, m, n, k, alpha, lda, ldb, beta, ldc)
        scalar = {"s": ctypes.c_float, "d": ctypes.c_double}.get(letter, ctypes.c_void_p)
        p = ctypes.c_void_p
        function.argtypes = [ctypes.c_int] * 3 + [i, i, i, scalar, p, i, p, i, scalar, p, i]
        function.restype = None
        factors = [factor(dtype, alpha), factor(dtype, beta)]
        times, plus = (f.ctypes.data if isinstance(f, np.ndarray) else f for f in factors)

        def run(a: int, b: int, c: int, _kept: Any = factors) -> None:
            function(ROW_MAJOR, *ways, m, n, k, times, a, lda, b, ldb, plus, c, ldc)

        return run


@functools.cache
def blas() -> Blas | None:
    """The library that products are computed with; None if there is none that we know how to call."""
    return mkl() or numpys()


def mkl() -> Blas | None:
    """Intel's, as ``pip install gradviz[mkl]`` brings it."""
    for folder in ("lib", "Library/bin"):
        for path in sorted((Path(sys.prefix) / folder).glob("*mkl_rt*")):
            try:
                library = ctypes.CDLL(str(path), mode=getattr(ctypes, "RTLD_GLOBAL", 0))
                return (
                    Blas(f"MKL ({path.name})", library, "{}", ctypes.c_int) if hasattr(library, "cblas_zgemm") else None
                )
            except OSError:
                continue
    return None


def numpys() -> Blas | None:
    """The OpenBLAS in NumPy's wheels."""
    root = Path(np.__file__).parent
    for folder in (root.parent / "numpy.libs", root / ".dylibs"):
        for path in sorted(folder.glob("*openblas*")):
            try:
                library = ctypes.CDLL(str(path))
            except OSError:
                continue
            for spelling, integer in (("scipy_{}64_", ctypes.c_int64), ("{}64_", ctypes.c_int64), ("{}", ctypes.c_int)):
                if hasattr(library, spelling.format("cblas_zgemm")):
                    return Blas(f"OpenBLAS ({path.name})", library, spelling, integer)
    return None


def factor(dtype: np.dtype[Any], number: Any) -> Any:
    """A factor as gemm takes it: a number, or an array of a complex one, which is pointed to."""
    if dtype.kind != "c":
        return float(number)
    return np.array(number, dtype)


def leading(strides: tuple[int, ...], shape: tuple[int, ...], itemsize: int) -> tuple[bool, int] | None:
    """(whether the matrix lies transposed, its leading dimension) for gemm; None if its entries follow each other in no direction."""
    (m, n), (s, t) = shape, strides
    if (t == itemsize or n == 1) and (m == 1 or (s % itemsize == 0 and s >= n * itemsize)):
        return False, max(s // itemsize if m > 1 else n, n, 1)
    if (s == itemsize or m == 1) and (n == 1 or (t % itemsize == 0 and t >= m * itemsize)):
        return True, max(t // itemsize if n > 1 else m, m, 1)
    return None
