"""Which functions have a derivative? Writes ``coverage.md`` from the rules and from the lines of the tables that test them.

    python -m docs.coverage            # write the page
    python -m docs.coverage --check    # say what is wrong with it

A function counts as differentiable if it has a rule *and* a line of ``tests/rules/table_*.py`` calls it. Which function a line calls
is seen by running it.
"""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

import gradviz as gv
from docs.coverage_names import AUTOGRAD, JAX, LEFT_OUT, NO_DERIVATIVE, STRUCTURAL, WHY_NOT
from gradviz.engine.rule import COMPOSED, CREATING, NO_GRADIENT, RULES

PAGE = Path(__file__).with_suffix(".md")
MODULES = (
    "numpy", "numpy.linalg", "numpy.fft", "numpy.lib.scimath", "scipy.special", "scipy.linalg", "scipy.signal", "scipy.integrate",
)  # fmt: skip
CLASSES = {"vectorize"}  # called as functions are
METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")

DIFFERENTIABLE, CONSTANT, STRUCTURE, NOTHING, LATER, UNTESTED = STATES = (
    "differentiable", "constant", "structural", "no derivative", "not yet", "untested",
)  # fmt: skip


# ---- what the tables call


@dataclass
class Lines:
    """The table lines that call one function."""

    names: list[str] = field(default_factory=list)
    order: int = 2
    is_complex: bool = False


class Watch:
    """Notes which functions a line calls on traced arrays, not counting those that they call in turn."""

    def __init__(self) -> None:
        self.found: defaultdict[Any, Lines] = defaultdict(Lines)
        self.entry: Any = None
        self.depth = 0

    def door(self, function: Callable[..., Any], key: Callable[..., Any]) -> Callable[..., Any]:
        """``function``, noting ``key(*its arguments)`` when a line calls it."""

        def call(*args: Any, **kwargs: Any) -> Any:
            if self.entry is not None and not self.depth:
                self.note(key(*args))
            self.depth += 1
            try:
                return function(*args, **kwargs)
            finally:
                self.depth -= 1

        return call

    def note(self, key: Any) -> None:
        lines = self.found[key]
        if self.entry.name not in lines.names:
            lines.names.append(self.entry.name)
            lines.order = min(lines.order, self.entry.order)
            lines.is_complex |= self.entry.is_complex

    def install(self) -> None:
        """Stand at NumPy's protocols, and at functions that NumPy and SciPy do not send through them."""
        array: Any = gv.Array
        array.__array_function__ = self.door(array.__array_function__, lambda _, function, *rest: function)
        array.__array_ufunc__ = self.door(array.__array_ufunc__, lambda _, ufunc, method, *rest: (ufunc, method))
        for function, definition in COMPOSED.items():
            if not dispatched(function):
                COMPOSED[function] = self.door(definition, lambda *rest, function=function: function)
        for name in MODULES:
            ours = namespace(name)
            for each in own_names(name):
                theirs = getattr(importlib.import_module(name), each)
                setattr(ours, each, self.door(getattr(ours, each), lambda *rest, function=theirs: function))

    def run(self, entries: list[Any], point: Callable[[Any], Any]) -> None:
        for self.entry in entries:
            p = point(self.entry)
            gv.vjp(p.floats, *p.xs)
        self.entry = None


def dispatched(function: Any) -> bool:
    """Whether NumPy asks traced arrays what the function does."""
    return isinstance(function, np.ufunc) or "numpy" in str(getattr(function, "__module__", "numpy"))


def namespace(name: str) -> Any:
    """Our module with the functions of NumPy's or SciPy's."""
    try:
        return importlib.import_module(f"gradviz.{name}")
    except ModuleNotFoundError:
        return None


def own_names(name: str) -> list[str]:
    """The functions that our namespace answers itself instead of passing on NumPy's or SciPy's."""
    theirs, ours = importlib.import_module(name), namespace(name)
    return (
        []
        if ours is None
        else [n for n in public(name) if vars(ours).get(n, getattr(theirs, n)) is not getattr(theirs, n)]
    )


def watched() -> Watch:
    """What all lines of all tables call."""
    watch = Watch()
    watch.install()
    from tests.rules import check, tables

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        watch.run(tables.ENTRIES, check.point)
    return watch


# ---- what every name is


@dataclass
class Name:
    """One public name and what is known of its derivative."""

    module: str
    name: str
    state: str
    lines: Lines | None = None

    def of(self, peer: dict[str, str]) -> bool:
        return matches(self.name, peer.get(self.module, ""))


def public(module: str) -> list[str]:
    """The public functions of a module."""
    space = importlib.import_module(module)
    return sorted(n for n in set(space.__all__) - LEFT_OUT if n in CLASSES or is_function(getattr(space, n)))


def is_function(value: Any) -> bool:
    return callable(value) and not inspect.isclass(value) and not inspect.ismodule(value)


def matches(name: str, patterns: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns.split())


def names(watch: Watch) -> list[Name]:
    """Every public name of every module."""
    return [each for module in MODULES for each in names_of(module, watch)]


def names_of(module: str, watch: Watch) -> Iterator[Name]:
    space, own = importlib.import_module(module), own_names(module)
    for name in public(module):
        function = getattr(space, name)
        registered = function in RULES or function in COMPOSED or name in own
        found = watch.found.get((function, "__call__") if isinstance(function, np.ufunc) else function)
        if matches(name, STRUCTURAL.get(module, "")):
            yield Name(module, name, STRUCTURE)
        elif matches(name, NO_DERIVATIVE.get(module, "")):
            yield Name(module, name, NOTHING)
        elif registered:
            yield Name(module, name, DIFFERENTIABLE if found else UNTESTED, found)
        elif function in NO_GRADIENT:
            yield Name(module, name, CONSTANT)
        else:
            yield Name(module, name, UNTESTED if function in CREATING else LATER)


def ufunc_methods(watch: Watch) -> dict[str, dict[str, str]]:
    """For each NumPy ufunc, whether each method that it has is differentiable."""
    made: dict[str, dict[str, str]] = {}
    for ufunc in {id(u): u for u in vars(np).values() if isinstance(u, np.ufunc)}.values():
        flows = ufunc not in NO_GRADIENT and not matches(ufunc.__name__, NO_DERIVATIVE["numpy"])
        if flows and ufunc.signature is None and ufunc.nout == 1:
            possible = METHODS if "dd->d" in ufunc.types else METHODS[-2:] if ufunc.nin == 2 else METHODS[-1:]
            made[ufunc.__name__] = {m: "yes" if (ufunc, m) in watch.found else LATER for m in possible}
    return dict(sorted(made.items()))


# ---- the page


HEAD = """# Coverage

Every public function of NumPy {numpy} and SciPy {scipy} and what gradviz knows of its derivative. This page is written by
`python -m docs.coverage`; [a test](../tests/docs/test_coverage.py) fails when it does not say what is so.

{words}
The columns autograd and JAX say what HIPS autograd 1.9.1 and JAX 0.10.2 differentiate, under the same names.

## In numbers
"""

WORDS = {
    DIFFERENTIABLE: "has a rule, and at least one line in the tables of [`tests/rules`](../tests/rules) calls it: value, gradient and "
    "tangent are held against central differences and against each other, in single and double precision and in other memory layouts",
    "order 2": "its second derivatives are held against differences too; order 1: only in part, or not at all",
    "complex": "complex arguments are checked as well",
    CONSTANT: "its derivative is zero wherever it exists (rounding, comparison, search), so no gradient flows through it",
    STRUCTURE: "nothing in the result depends on the values of an array: shapes, dtypes, index grids, new arrays made from sizes",
    NOTHING: "no number comes out that could be differentiated, or none goes in: text, files, dates, bits, settings",
    LATER: "called on a traced array it raises [`MissingRuleError`](errors.md#missingruleerror), or "
    "[`ConversionError`](errors.md#conversionerror) where SciPy reads the array itself; [adding a rule](adding-a-rule.md) says what to do, "
    "and [the last table](#why-not-yet) why",
}


def page(found: list[Name], methods: dict[str, dict[str, str]]) -> str:
    """The whole text."""
    import scipy

    words = table([["word", "means"], *map(list, WORDS.items())])
    head = HEAD.format(numpy=series(np.__version__), scipy=series(scipy.__version__), words=words)
    parts = [head, totals(found), beside(found)]
    parts += [section(module, [n for n in found if n.module == module]) for module in MODULES]
    return "\n".join([*parts, method_section(methods), why_section(found)])


def series(version: str) -> str:
    return ".".join(version.split(".")[:2])


def totals(found: list[Name]) -> str:
    states = (DIFFERENTIABLE, CONSTANT, STRUCTURE, NOTHING, LATER)
    rows = [["module", "public", *states[:1], "of order 2", "complex", *states[1:]]]
    for module in (*MODULES, "together"):
        mine = [n for n in found if module in (n.module, "together")]
        counts = Counter(n.state for n in mine)
        lines = [n.lines for n in mine if n.lines]
        rows.append([
            module, len(mine), counts[DIFFERENTIABLE], sum(e.order > 1 for e in lines), sum(e.is_complex for e in lines),
            *(counts[state] for state in states[1:]),
        ])  # fmt: skip
    return table(rows)


def beside(found: list[Name]) -> str:
    """How many names peers have, and which of them are missing here."""
    rows: list[list[Any]] = [["of the names above", "differentiated", "of those here", "missing here"]]
    for title, peer in (("autograd", AUTOGRAD), ("JAX", JAX)):
        theirs = [n for n in found if n.of(peer)]
        missing = [f"`{n.module}.{n.name}`" for n in theirs if n.state == LATER]
        rows.append([title, len(theirs), sum(n.state == DIFFERENTIABLE for n in theirs), ", ".join(missing) or "none"])
    return table(rows)


def section(module: str, found: list[Name]) -> str:
    rows: list[list[Any]] = [["name", "derivative", "order", "complex", "lines", "autograd", "JAX"]]
    for n in found:
        known = [n.lines.order, mark(n.lines.is_complex), len(n.lines.names)] if n.lines else ["", "", ""]
        rows.append([f"`{n.name}`", n.state, *known, mark(n.of(AUTOGRAD)), mark(n.of(JAX))])
    return f"## {module}\n\n{table(rows)}"


def method_section(methods: dict[str, dict[str, str]]) -> str:
    rows = [["ufunc", *METHODS]]
    rows += [[f"`{name}`", *(states.get(m, "–") for m in METHODS)] for name, states in methods.items()]
    return f"## Methods of NumPy's ufuncs\n\n{table(rows)}"


def why_not(n: Name) -> str:
    """The reason why a name has no derivative yet, if one is written down."""
    return next((why for patterns, why in WHY_NOT.get(n.module, {}).items() if matches(n.name, patterns)), "")


def why_section(found: list[Name]) -> str:
    reasons: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for n in found:
        if n.state == LATER:
            reasons[n.module, why_not(n)].append(f"`{n.name}`")
    rows = [["module", "names", "why"]]
    rows += [[module, ", ".join(several), why] for (module, why), several in reasons.items()]
    return f"## Why not yet\n\n{table(rows)}"


def mark(yes: bool) -> str:
    return "yes" if yes else ""


def table(rows: list[list[Any]]) -> str:
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:], ""])


def claims(text: str) -> dict[tuple[str, str], str]:
    """What a page says of every name, by section and name."""
    made, title = {}, ""
    for line in text.splitlines():
        if line.startswith("## "):
            title = line
        elif line.startswith("| `"):
            _, name, rest = line.split("|", 2)
            made[title, name.strip()] = rest
    return made


def complaints(found: list[Name], text: str, stands: str) -> list[str]:
    """What is wrong with the page that stands there, which should be ``text``.

    Another version of NumPy or SciPy has other names; then what is said of those that both know is compared.
    """
    wrong = [f"{n.module}.{n.name} has a rule, but no line of a table calls it" for n in found if n.state == UNTESTED]
    said, so = claims(stands), claims(text)
    wrong += [
        f"{name} in {title}: {said[title, name]}is{so[title, name]}"
        for title, name in said.keys() & so
        if said[title, name] != so[title, name]
    ]
    same_versions = stands.partition("\n## ")[0] == text.partition("\n## ")[0]
    if same_versions:
        wrong += [
            f"{n.module}.{n.name} has no derivative and no reason" for n in found if n.state == LATER and not why_not(n)
        ]
    if stands != text and same_versions and not wrong:
        wrong.append("totals or names are not what is so")
    return [*wrong, "run python -m docs.coverage"] if wrong else []


def main(*options: str) -> int:
    watch = watched()
    found = names(watch)
    text = page(found, ufunc_methods(watch))
    if "--check" not in options:
        PAGE.write_text(text)
    wrong = complaints(found, text, PAGE.read_text())
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
