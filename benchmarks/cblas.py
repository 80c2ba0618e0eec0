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
        self.mkl, self.dtype = library, np.dtype(dtype)
        self.bound: dict[Any, Any] = {}  # by sizes and ways

    def __call__(self, a: Any, b: Any, out: Any, *, a_is: int = NOT, b_is: int = NOT, twice: bool = False) -> Any:
        key = a.shape, b.shape, a_is, b_is, twice
        call = self.bound.get(key)
        if call is None:
            m, n = out.shape
            k = a.shape[1] if a_is == NOT else a.shape[0]
            leading = a.shape[1], b.shape[1], n
            call = self.bound[key] = self.mkl.gemm(self.dtype, (a_is, b_is), (m, n, k), 2 if twice else 1, leading)
        call(a.ctypes.data, b.ctypes.data, out.ctypes.data)
        return out
