"""Rules for functions that turn their arguments into plain arrays, as SciPy's Python functions do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from gradviz.engine.call import call, innermost
from gradviz.engine.rule import RULES, Rule


def converting_rule(function: Callable[..., Any], *pullbacks: Callable[..., Any], **options: Any) -> Rule:
    """A rule whose function does not answer NumPy's protocols.

    Under several derivatives at once a rule runs its function on the arrays of the outer ones. NumPy's functions let those through
    by themselves; such a function would refuse them, so the rule calls itself again, one derivative further out.

    Parameters
    ----------
    function : as the user knows it; the table is entered under it
    options : those of `Rule`
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        if innermost((*args, *kwargs.values())) is None:
            return function(*args, **kwargs)
        return call(made, made.bind(*args, **kwargs))

    made = Rule(run, **options)
    for pullback in pullbacks:
        made.pullback(pullback)
    RULES[function] = made
    return made
