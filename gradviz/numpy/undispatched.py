"""Functions that NumPy does not send through its protocols, or not for all of their arguments: here they take traced arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradviz.engine.array import Array, bottom
from gradviz.engine.rule import COMPOSED
from gradviz.numpy import creation
from gradviz.numpy.creation import asarray
from gradviz.rules.joining import gathered


def asanyarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
    """As `asarray`; traced arrays have no subclasses."""
    made = asarray(a, dtype, **options)
    return {"C": ascontiguousarray, "F": asfortranarray}[order](made) if order in ("C", "F") and made.ndim else made


def ascontiguousarray(a: Any, dtype: Any = None) -> Any:
    """The array itself if its memory is in C's order, else a copy that is; of one dimension at least."""
    made = asarray(a, dtype)
    return np.atleast_1d(made if flag(made, "c_contiguous") else np.copy(made, order="C"))


def asfortranarray(a: Any, dtype: Any = None) -> Any:
    """The array itself if its memory is in Fortran's order, else a copy that is; of one dimension at least."""
    made = asarray(a, dtype)
    return np.atleast_1d(made if flag(made, "f_contiguous") else np.copy(made, order="F"))


def flag(a: Any, name: str) -> bool:
    """What NumPy knows of the layout; numbers have any."""
    return getattr(getattr(bottom(a), "flags", None), name, True)


def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """As `asarray`, if all values are finite.

    Raises
    ------
    ValueError : the array holds NaN or infinity
    """
    made = asanyarray(a, dtype, order)
    if made.dtype.kind in "fc" and not np.all(np.isfinite(bottom(made))):
        raise ValueError("array must not contain infs or NaNs")
    return made


def require(a: Any, dtype: Any = None, requirements: str | Sequence[str] | None = None, **options: Any) -> Any:
    """An array with these properties: C (or F) order, writeable (W), its own memory (O). See `numpy.require`."""
    wanted = {str(name).upper()[0] for name in requirements or ()}
    if {"C", "F"} <= wanted:
        raise ValueError("Cannot specify both 'C' and 'F' order")
    made = asanyarray(a, dtype, "F" if "F" in wanted else "C" if "C" in wanted else None, **options)
    return np.copy(made) if made is a and wanted & {"W", "O"} else made


def full(shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None) -> Any:
    """An array filled with one value, which may be traced. See `numpy.full`."""
    if not isinstance(fill_value, Array):
        return creation.full(shape, fill_value, dtype, order, device=device)
    made = np.copy(np.broadcast_to(fill_value, shape), order)
    made = made if dtype is None else np.astype(made, dtype)
    return made if device is None else made.to_device(device)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """`numpy.interp`, also of traced ``left`` and ``right``."""
    traced = any(isinstance(value, Array) for value in (x, xp, fp, left, right, period))
    return (COMPOSED[np.interp] if traced else np.interp)(x, xp, fp, left, right, period)


def kaiser(M: int, beta: Any) -> Any:
    """The Kaiser window of ``M`` points, smooth in ``beta``. See `numpy.kaiser`.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> round(gv.grad(lambda beta: np.sum(gv.numpy.kaiser(5, beta)))(4.0), 6)
    -0.326051
    """
    if not isinstance(beta, Array):
        return np.kaiser(M, beta)
    if M < 2:
        return np.ones(max(int(M), 0)) + np.multiply(beta, 0)
    alpha = (M - 1) / 2
    return np.i0(beta * np.sqrt(1 - ((np.arange(M) - alpha) / alpha) ** 2)) / np.i0(beta)


class vectorize(np.vectorize):  # noqa: N801 - NumPy's name
    """`numpy.vectorize`, whose function may get traced numbers, or arrays where ``signature`` says so.

    Examples
    --------
    >>> import numpy as np, gradviz as gv
    >>> relu = gv.numpy.vectorize(lambda x: x if x > 0 else 0 * x)
    >>> gv.grad(lambda x: np.sum(relu(x)))(np.array([-1.0, 2.0]))
    array([0., 1.])
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Apply the function to each entry."""
        if not any(isinstance(a, Array) for a in (*args, *kwargs.values())):
            return super().__call__(*args, **kwargs)
        each = {k: gathered(a) for k, a in [*enumerate(args), *kwargs.items()] if k not in (self.excluded or ())}
        return over(each, lambda found: self._apply(args, kwargs, found), cores(self.signature, len(each)), self.otypes)

    def _apply(self, args: tuple[Any, ...], kwargs: dict[str, Any], found: dict[Any, Any]) -> Any:
        keywords = {name: found.get(name, value) for name, value in kwargs.items()}
        return self.pyfunc(*(found.get(k, a) for k, a in enumerate(args)), **keywords)


def cores(signature: str | None, count: int) -> list[int]:
    """How many dimensions of each argument the function takes at once: none without a signature such as ``(n),(n,m)->(m)``."""
    if signature is None:
        return [0] * count
    return [len(re.findall(r"\w+", group)) for group in re.findall(r"\(([^)]*)\)", signature.partition("->")[0])]


def over(
    each: dict[Any, Any], apply: Callable[[dict[Any, Any]], Any], dimensions: list[int], otypes: str | None
) -> Any:
    """``apply`` to each entry of the arguments broadcast against each other, but for their last dimensions."""
    split = {k: np.ndim(a) - n for (k, a), n in zip(each.items(), dimensions, strict=True)}
    shape = np.broadcast_shapes(*(np.shape(a)[: split[k]] for k, a in each.items()))
    if 0 in shape:
        raise ValueError("cannot call `vectorize` on size 0 inputs")
    spread = {k: np.broadcast_to(a, shape + np.shape(a)[split[k] :]) for k, a in each.items()}
    rows = [apply({k: a[where] for k, a in spread.items()}) for where in np.ndindex(*shape)]
    if not isinstance(rows[0], tuple):
        return joined(rows, shape, otypes and otypes[0])
    columns = zip(*rows, strict=True)
    return tuple(joined(list(c), shape, otypes and otypes[k]) for k, c in enumerate(columns))


def joined(rows: list[Any], shape: tuple[int, ...], dtype: str | None) -> Any:
    """Results for all entries as one array."""
    made = np.reshape(np.stack([gathered(row) for row in rows]), shape + np.shape(rows[0]))
    return np.astype(made, dtype) if dtype else made
