"""Intel's matrix products, called as a C program would call them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.workload import Skip
from gradviz.plan.kernels import blas

NOT, TRANSPOSED, ADJOINT = 111, 112, 113


class Product:
    """``product(a, b, out)`` writes ``alpha * op(a) @ op(b)``; all are in C order."""

    def __init__(self, dtype: Any) -> None:
        library = blas.mkl()
        if library is None:
            raise Skip("MKL is not installed: pip install mkl")
        self.gemm = library.gemm(np.dtype(dtype))
        self.complex = np.dtype(dtype).kind == "c"
        self.zero, self.one, self.two = (np.array(x, dtype) for x in (0, 1, 2))

    def __call__(self, a: Any, b: Any, out: Any, *, a_is: int = NOT, b_is: int = NOT, twice: bool = False) -> Any:
        m, n = out.shape
        k = a.shape[1] if a_is == NOT else a.shape[0]
        alpha = self.two if twice else self.one
        scale, nothing = (alpha.ctypes.data, self.zero.ctypes.data) if self.complex else (float(alpha), 0.0)
        pointers = (a.ctypes.data, a.shape[1], b.ctypes.data, b.shape[1])
        self.gemm(101, a_is, b_is, m, n, k, scale, *pointers, nothing, out.ctypes.data, n)
        return out
