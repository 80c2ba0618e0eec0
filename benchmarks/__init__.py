"""gradviz beside its rivals: the same programs, in one run, taking turns.

Set here, before NumPy, PyTorch or JAX load: every engine uses all cores and double precision, on the CPU.
"""

from __future__ import annotations

import os

CORES = os.cpu_count() or 1
for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR"):
    os.environ[f"{name}_NUM_THREADS"] = str(CORES)
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # settings for old builds; they slow a current one
    os.environ.pop(name, None)
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("DEV", "CPU")  # tinygrad
