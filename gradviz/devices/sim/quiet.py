"""How does a device compute without a word: no warning for a division by zero, no error for a singular matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from warnings import catch_warnings

import numpy as np

# What LinAlgError says about values; its other messages are about shapes, which the host checks.
ABOUT_VALUES = {
    "Singular matrix",
    "Matrix is not positive definite",
    "Eigenvalues did not converge",
    "SVD did not converge",
    "SVD did not converge in Linear Least Squares",
}

# NumPy warns here by other means than its error state: of empty slices, of all-NaN slices, of too few values.
WARN = {
    "average", "corrcoef", "cov", "mean", "median", "nanmax", "nanmean", "nanmedian", "nanmin", "nanstd", "nanvar",
    "std", "var",
}  # fmt: skip

LINALG_RAISES: ContextVar[bool] = ContextVar("LINALG_RAISES", default=False)


@np.errstate(all="ignore")
def quietly(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call a NumPy function on host arrays; matrices it cannot handle give NaN."""
    try:
        if func.__name__ in WARN:
            with catch_warnings(category=RuntimeWarning, action="ignore"):
                return func(*args, **kwargs)
        return func(*args, **kwargs)
    except np.linalg.LinAlgError as error:
        if str(error) not in ABOUT_VALUES or LINALG_RAISES.get():
            raise
        return _with_nan(func, args, kwargs)


@contextmanager
def errstate(*, linalg: str = "ignore") -> Iterator[None]:
    """Choose what a failed factorization does, as ``cupyx.errstate``.

    Parameters
    ----------
    linalg : ``"ignore"``: NaN, without a wait; ``"raise"``: `numpy.linalg.LinAlgError`, for which the host waits
    """
    if linalg not in {"ignore", "raise"}:
        raise ValueError(f"linalg must be 'ignore' or 'raise', not {linalg!r}")
    token = LINALG_RAISES.set(linalg == "raise")
    try:
        yield
    finally:
        LINALG_RAISES.reset(token)


def _with_nan(func: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """Call again with the bad matrices replaced by the identity, then put NaN where their results are."""
    matrices = np.array(args[0])
    batch = matrices.shape[:-2]
    bad = np.zeros(batch, bool)
    probe = np.linalg.inv if func.__name__ in {"solve", "tensorsolve", "tensorinv"} else func
    for place in np.ndindex(*batch):
        try:
            probe(matrices[place], **({} if probe is not func else kwargs))
        except np.linalg.LinAlgError:
            bad[place] = True
            matrices[place] = np.eye(*matrices.shape[-2:])
    result = func(matrices, *args[1:], **kwargs)
    for part in result if isinstance(result, tuple) else (result,):
        part[_at_the_front(bad, part)] = np.nan
    return result


def _at_the_front(bad: np.ndarray, result: np.ndarray) -> np.ndarray:
    """Which entries of a result come from a bad matrix."""
    return np.broadcast_to(bad.reshape(bad.shape + (1,) * (result.ndim - bad.ndim)), result.shape)
