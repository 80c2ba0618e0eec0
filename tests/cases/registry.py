"""What a case is, and what it may ask of the engine that it tries out.

A case is a function that returns a value, which is then held against an expectation (see `tests.cases.expect`), or
raises. It is handed

``np``
    the engine's NumPy-like module
``gv.grad(f, argnums=0)``, ``gv.value_and_grad(f, argnums=0)``
    of a real scalar function; ``argnums`` is an int or a tuple
``gv.vjp(f, *args)``
    ``(y, pull)``; ``pull(ct)`` is a tuple with one cotangent for each argument
``gv.jvp(f, args, tangents)``
    ``(y, y_tangent)``
``gv.jacobian(f)``, ``gv.hessian(f)``
    with respect to the first argument
``gv.scan(f, carry, xs)``
    ``f(carry, x)`` is ``(carry, y)``; the result is the last carry and the stacked ``y``
``gv.checkpoint(f)``, ``gv.stop_gradient(x)``
``gv.mutable(x)``
    a writable copy of an array, or zeros of a shape given as a tuple; NumPy's in-place rules hold for it
``gv.frozen(a)``
    the plain differentiable array held by a mutable one
``dev`` (group D)
    a simulated GPU: ``asarray``, ``get``, and ``counts`` with ``reset()``, ``sync``, ``h2d``, ``launch``, ``log``
``viz`` (group E)
    ``profile()``, a context manager that gives ``p``, and ``span(name)``. ``p.events`` is a list of dicts
    ``{name, ts, dur, tid, parent, kind}`` with times in microseconds, ``parent`` an index into the list or None and
    ``kind`` one of span, op, backward; ``p.to_json()`` is Chrome-trace JSON; ``p.to_html()`` and ``p._repr_html_()``
    are texts; ``p.dropped`` counts events left out
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as onp

from tests.cases.expect import Expect

GROUPS = {
    "A": "wrong gradients and crashes on NumPy semantics",
    "B": "cost blow-ups of loops and indexing",
    "C": "in-place updates, views and aliasing",
    "D": "host waits and transfers on an accelerator",
    "E": "recordings and their views",
    "F": "whole gradient programs",
}

CASES: dict[str, Case] = {}


@dataclass(frozen=True)
class Case:
    """One program with its right answer.

    ``source`` names the public reports it comes from.
    """

    id: str
    source: str
    expect: Expect
    run: Callable[..., Any]

    @property
    def group(self) -> str:
        return self.id[0]

    @property
    def title(self) -> str:
        return self.run.__name__.replace("_", " ")


def case(id: str, source: str, expect: Expect):
    """Register the decorated function as a case."""

    def register(run):
        assert id not in CASES, f"two cases are called {id}"
        expect.case_id = id
        CASES[id] = Case(id, source, expect, run)
        return run

    return register


def rng(seed: int) -> onp.random.RandomState:
    """Random numbers made on the host, whatever engine is tried out."""
    return onp.random.RandomState(seed)


def load_all() -> dict[str, Case]:
    """All cases, by id."""
    for group in GROUPS:
        importlib.import_module(f"tests.cases.cases_{group.lower()}")
    return CASES
