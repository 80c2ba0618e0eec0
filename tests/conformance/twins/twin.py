"""What a twin is: a function of NumPy arrays that takes torch's arguments and gives torch's result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class NotComparableError(Exception):
    """A sample of which the result is not determined."""


def unchanged(xp: Any, out: Any) -> Any:
    return out


@dataclass(frozen=True)
class Twin:
    """
    Parameters
    ----------
    function : takes the arguments that torch's operator takes, arrays for tensors
    after : ``(xp, out)``, what is made of the result on both sides, where the result may be chosen freely (signs of eigenvectors)
    real : only real samples are compared
    """

    function: Callable[..., Any]
    after: Callable[[Any, Any], Any] = unchanged
    real: bool = False


TWINS: dict[str, Twin] = {}


def twin(*names: str, after: Callable[[Any, Any], Any] = unchanged, real: bool = False) -> Callable[[Any], Any]:
    """Enter a function as the twin of torch's operators of these names."""

    def enter(function: Any) -> Any:
        for name in names:
            assert name not in TWINS, name
            TWINS[name] = Twin(function, after, real)
        return function

    return enter


def twins(**functions: Any) -> None:
    """Enter many; ``_`` stands for ``.`` behind ``special``, ``fft`` and ``linalg``."""
    for name, function in functions.items():
        family, _, rest = name.partition("__")
        twin(f"{family}.{rest}" if rest else name)(function)
