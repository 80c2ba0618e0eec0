"""How does the compiled engine join: with products by which library?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gradviz as gv
from benchmarks.workload import Skip, Workload
from gradviz.plan.kernels import blas

LIBRARIES = {"": blas.numpys, ", MKL": blas.mkl}


def compiled(workload: Workload, *, products: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register ``make(case, wrap)`` as "gradviz" with ``wrap`` doing nothing, and as "gradviz compiled" with ``gv.compile``.

    Parameters
    ----------
    products : the workload is made of matrix products, so a second compiled engine calls MKL for them, where
        ``gradviz[mkl]`` is installed
    """

    def register(make: Callable[..., Any]) -> Callable[..., Any]:
        workload.engine("gradviz")(lambda case: make(case, lambda f, **_: f))
        for name, find in LIBRARIES.items():
            if products or not name:
                workload.engine(f"gradviz compiled{name}")(lambda case, find=find: make(case, by(find)))
        return make

    return register


def by(find: Callable[[], Any]) -> Callable[..., Any]:
    """`gv.compile`, for a function whose first call comes before anybody else's."""
    library = find()
    if library is None:
        raise Skip("the library is not installed")

    def wrap(f: Callable[..., Any], **options: Any) -> Any:
        blas.blas = lambda: library
        return gv.compile(f, **options)

    return wrap
