"""What does a function cost on a simulated GPU: bytes and flops from the shapes of its operands."""

from __future__ import annotations

from collections.abc import Callable
from math import log2, prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from gradviz.devices.sim.device import SimDevice

REDUCTIONS = {
    "all", "amax", "amin", "any", "argmax", "argmin", "average", "count_nonzero", "cumprod", "cumsum",
    "cumulative_prod", "cumulative_sum", "max", "mean", "min", "nanargmax", "nanargmin", "nancumprod", "nancumsum",
    "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "norm", "prod", "ptp", "std", "sum",
    "trace", "trapezoid", "var",
}  # fmt: skip

SORTS = {
    "argpartition", "argsort", "lexsort", "median", "nanmedian", "partition", "percentile", "quantile", "sort",
    "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",
}  # fmt: skip

# Flops for one m × n matrix, m ≥ n, as Golub & Van Loan, Matrix Computations, count them; p right-hand sides.
SOLVERS: dict[str, Callable[[int, int, int], float]] = {
    "cholesky": lambda m, n, p: n**3 / 3,
    "cond": lambda m, n, p: 2 * m * n**2 + 2 * n**3,
    "det": lambda m, n, p: 2 * n**3 / 3,
    "eig": lambda m, n, p: 25 * n**3,
    "eigh": lambda m, n, p: 9 * n**3,
    "eigvals": lambda m, n, p: 10 * n**3,
    "eigvalsh": lambda m, n, p: 4 * n**3 / 3,
    "inv": lambda m, n, p: 2 * n**3,
    "lstsq": lambda m, n, p: 4 * m * n**2 + 8 * n**3 + 2 * m * n * p,
    "matrix_power": lambda m, n, p: 2 * n**3,
    "matrix_rank": lambda m, n, p: 2 * m * n**2 + 2 * n**3,
    "pinv": lambda m, n, p: 4 * m**2 * n + 8 * m * n**2 + 9 * n**3 + 2 * m * n**2,
    "qr": lambda m, n, p: 4 * m * n**2 - 4 * n**3 / 3,
    "slogdet": lambda m, n, p: 2 * n**3 / 3,
    "solve": lambda m, n, p: 2 * n**3 / 3 + 2 * n**2 * p,
    "svd": lambda m, n, p: 4 * m**2 * n + 8 * m * n**2 + 9 * n**3,
}

SHIFTS = {"fftshift", "ifftshift"}


def launch(device: SimDevice, name: str, module: str, inputs: list[np.ndarray], outputs: list[np.ndarray]) -> None:
    """Launch the kernel of a function that read ``inputs`` and made ``outputs``."""
    preset = device.preset
    nbytes = sum(host.nbytes for host in inputs) + sum(host.nbytes for host in outputs)
    entries = max((host.size for host in (*inputs, *outputs)), default=0)
    first = (inputs or outputs)[0]
    kind = (outputs or inputs)[0].dtype
    if name in SOLVERS and module == "numpy.linalg" and first.ndim >= 2:
        flops, columns = _solver(name, inputs)
        device.launch(name, nbytes, preset.solver_ns, flops, kind.char, least_ns=columns * preset.solver_column_ns)
        device.wait_hidden()
    elif module == "numpy.fft" and name not in SHIFTS:
        device.launch(name, nbytes, preset.fft_ns, _transform(name, first, entries), kind.char)
    elif name in REDUCTIONS:
        device.launch(name, nbytes, preset.reduction_ns, entries, kind.char)
    elif name in SORTS:  # a radix sort moves everything once for each byte of a key
        device.launch(name, nbytes * first.itemsize, preset.reduction_ns, entries, kind.char)
    else:
        device.launch(name, nbytes, preset.ufunc_ns, entries, kind.char)


def _solver(name: str, inputs: list[np.ndarray]) -> tuple[float, int]:
    """Flops of a whole batch, and the columns that must be done one after the other."""
    matrix = inputs[0]
    m, n = max(matrix.shape[-2:]), min(matrix.shape[-2:])
    right = inputs[1].shape[-1] if len(inputs) > 1 and inputs[1].ndim > 1 else 1
    scale = 4 if matrix.dtype.kind == "c" else 1
    return SOLVERS[name](m, n, right) * prod(matrix.shape[:-2]) * scale, n


def _transform(name: str, source: np.ndarray, entries: int) -> float:
    """5 n log₂ n for each complex transform, half of that for a real one."""
    length = source.shape[-1] if source.ndim and not name.endswith(("2", "n")) else entries
    flops = 5 * entries * log2(max(length, 2))
    return flops / 2 if name[0] in "rh" or name.startswith("ir") else flops
