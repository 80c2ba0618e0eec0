"""Is docs/coverage.md what is so, and is every rule that it counts tested?"""

from __future__ import annotations

import subprocess
import sys

from docs import coverage
from tests.docs.pages import ROOT


def test_the_page_is_what_is_so():
    """In a process of its own: it stands between NumPy and the tables."""
    ran = subprocess.run(
        [sys.executable, "-m", "docs.coverage", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_rule_that_no_line_calls_is_found():
    found = coverage.names(coverage.Watch())
    text = coverage.page(found, {})
    assert "numpy.sin has a rule, but no line of a table calls it" in coverage.complaints(found, text, text)


def test_a_page_that_lies_is_found():
    sin = coverage.Name("numpy", "sin", coverage.DIFFERENTIABLE, coverage.Lines(["sin"]))
    text = coverage.page([sin], {})
    assert not coverage.complaints([sin], text, text)
    sin.state, sin.lines = coverage.LATER, None
    now = coverage.page([sin], {})
    assert any("sin" in line for line in coverage.complaints([sin], now, text))
    assert coverage.complaints([], coverage.page([], {}), text)


def test_a_name_without_a_reason_is_found():
    name = coverage.Name("scipy.integrate", "made_up", coverage.LATER)
    text = coverage.page([name], {})
    assert any("no reason" in line for line in coverage.complaints([name], text, text))


def test_names_that_no_module_has_are_no_claims():
    """Peers' names are compared with public ones; a misspelt one would never be missed."""
    for peer in (coverage.AUTOGRAD, coverage.JAX):
        for module, names in peer.items():
            assert not set(names.split()) - set(coverage.public(module)), module
