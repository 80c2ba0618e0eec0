"""How definitions are entered into a table, by a decorator that names the functions they are for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def entering(table: dict[Any, Any]) -> Callable[..., Callable[[Any], Any]]:
    """A decorator for the definitions of one table: ``@rule(np.add, np.subtract)`` enters one for both.

    >>> rules = {}
    >>> rule = entering(rules)
    >>> @rule("add", "subtract")
    ... def linear(): ...
    >>> sorted(rules)
    ['add', 'subtract']
    """

    def for_functions(*functions: Any) -> Callable[[Any], Any]:
        def enter(definition: Any) -> Any:
            for function in functions:
                table[function] = definition
            return definition

        return enter

    return for_functions
