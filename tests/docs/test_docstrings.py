"""Do the examples in docstrings run, and has every public function one?"""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import gradviz as gv

MODULES = sorted(module.name for module in pkgutil.walk_packages(gv.__path__, "gradviz."))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL


EXAMPLES = [
    test
    for name in MODULES
    for test in doctest.DocTestFinder().find(importlib.import_module(name), name)
    if test.examples
]


@pytest.mark.parametrize("test", EXAMPLES, ids=lambda test: test.name)
def test_examples_of_a_docstring(test, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize("name", sorted(set(gv.__all__) - {"__version__", "numpy", "rules", "load_ipython_extension"}))
def test_public_names_have_an_example(name):
    doc = getattr(gv, name).__doc__
    assert doctest.DocTestParser().get_examples(doc), f"gv.{name} shows no example"
