"""What a program is: a function of a namespace and arrays, and the arrays it is tried with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Program:
    """
    Parameters
    ----------
    name : as GradBench calls it
    function : ``function(np, *args)``, of one number or an array of them; smooth in all of ``args``
    make : gives the arguments
    """

    name: str
    function: Callable[..., Any]
    make: Callable[[], tuple[Any, ...]]
