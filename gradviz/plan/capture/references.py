"""What a function refers to besides its arguments: closure cells, globals and attributes, its own and those of functions it calls.

A plan holds what they were when it was captured. So their values are compared at each call, by code that is written for it, and the
arrays among them are read anew. Which names a function reads is told by its bytecode; functions of libraries are passed over.
"""

from __future__ import annotations

import dis
import functools
import itertools
import math
import random
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gradviz.engine.array import Array
from gradviz.plan.capture.devices import on_device
from gradviz.record.source import DEMO, LIBRARIES, place_of

ndarray = np.ndarray
NUMBERS = (int, float, complex, np.generic)
FIXED = (str, bytes, type(None), np.dtype)
ROOTS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF"})
ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
MOST = 10_000  # references that are followed
MOST_ITEMS = 1_000  # of one list or dict
DEEPEST = 4  # containers inside containers
RANDOM = (np.random.Generator, np.random.RandomState, random.Random)
DRAWING = frozenset((name,) for name in dir(np.random.Generator) if not name.startswith("_"))


class Reference(NamedTuple):
    """One value that a function reads.

    Attributes
    ----------
    name : as the user wrote it: ``config.rate``, ``weights[3]``
    source : an expression that reads it anew
    value : what it was
    """

    name: str
    source: str
    value: Any


class References:
    """All that a function refers to.

    Attributes
    ----------
    arrays : the arrays among them, one for each piece of memory they begin
    numbers : numbers, strings, functions: what a plan depends on by value
    generators : sources of random numbers
    """

    def __init__(self, roots: tuple[Any, ...]) -> None:
        self.arrays: list[Reference] = []
        self.numbers: list[Reference] = []
        self.generators: list[Reference] = []
        self.traced: list[str] = []  # arrays of a derivative that is being taken
        self.draws: list[str] = []  # lines that name a source of random numbers
        self.unseeded: list[str] = []  # generators that are made without a seed
        self.space: dict[str, Any] = {"missing": missing, "same": same_number}
        self.seen: set[int] = set()
        self.paths: set[str] = set()
        self.names: dict[int, str] = {}  # id of an object that ``space`` holds -> its name there
        for root in roots:
            self._follow("", self._named(root), root, 0)

    # ---- checks, as code

    def reader(self) -> Callable[[], list[Any] | None]:
        """What gives the arrays as they are now; None if one is of another kind, or anything else is not what it was."""
        lines = []
        for k, (_, source, value) in enumerate(self.numbers):
            self.space[f"e{k}"] = value
            exact = not isinstance(value, (*NUMBERS, *FIXED))
            lines.append(f"v = {source}")
            lines.append(
                f"if v is not e{k}: return None" if exact else f"if v is not e{k} and not same(v, e{k}): return None"
            )
        for k, (_, source, value) in enumerate(self.arrays):
            self.space |= {
                f"shape{k}": value.shape,
                f"dtype{k}": value.dtype,
                f"strides{k}": value.strides,
                f"kind{k}": type(value),
            }
            other = f"a{k}.shape != shape{k} or a{k}.strides != strides{k} or a{k}.dtype != dtype{k}"
            lines += [f"a{k} = {source}", f"if type(a{k}) is not kind{k} or {other}: return None"]
        lines.append(f"return [{', '.join(f'a{k}' for k in range(len(self.arrays)))}]")
        body = "\n        ".join(lines)
        errors = "(AttributeError, LookupError, ValueError, TypeError)"
        exec(f"def read():\n    try:\n        {body}\n    except {errors}:\n        return None", self.space)  # noqa: S102
        return self.space["read"]

    def changed(self) -> list[Reference]:
        """What is not what it was."""
        return [r for r in self.numbers if not self._still(r)]

    def _still(self, reference: Reference) -> bool:
        try:
            found = eval(reference.source, self.space)  # noqa: S307 - our own source
        except (AttributeError, LookupError, ValueError, TypeError):
            return False
        return found is reference.value or same_number(found, reference.value)

    def _named(self, value: Any) -> str:
        """A name for an object in the checks."""
        name = self.names.get(id(value))
        if name is None:
            name = self.names[id(value)] = f"o{len(self.names)}"
            self.space[name] = value
        return name

    # ---- finding them

    def _follow(self, name: str, source: str, value: Any, depth: int) -> None:
        """Note one value, and what it leads to."""
        if source in self.paths or len(self.paths) > MOST:
            return
        self.paths.add(source)
        if isinstance(value, (*NUMBERS, *FIXED)):
            self.numbers.append(Reference(name, source, value))
        elif type(value) is ndarray or on_device(value):
            self.arrays.append(Reference(name, source, value))
        elif isinstance(value, Array):
            if value.tape is not None:
                self.traced.append(name)
            elif type(value.value) is ndarray or on_device(value.value):
                self.arrays.append(Reference(name, f"{source}.value", value.value))
        elif isinstance(value, (np.random.Generator, np.random.RandomState)):
            self.generators.append(Reference(name, source, value))
        elif isinstance(value, (types.FunctionType, types.MethodType, functools.partial, type)) or is_wrapper(value):
            if name and not name.endswith("()"):
                self.numbers.append(Reference(name, source, value))
            self._function_of(name, source, value, depth)
        elif type(value) in (list, tuple, dict) or isinstance(value, (list, tuple, dict)):
            self._items(name, source, value, depth)
        elif isinstance(value, types.SimpleNamespace) or (
            not isinstance(value, types.ModuleType) and depth < DEEPEST and is_users(type(value))
        ):
            for key, item in attributes_of(value):
                self._follow(f"{name}.{key}", f"{source}.{key}", item, depth + 1)
            self._method(name, source, value, "__call__", depth)

    def _items(self, name: str, source: str, value: Any, depth: int) -> None:
        if depth >= DEEPEST or len(value) > MOST_ITEMS:
            return
        self.numbers.append(Reference(f"len({name})", f"len({source})", len(value)))
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(key, (str, int)):
                self._follow(f"{name}[{key!r}]", f"{source}[{key!r}]", item, depth + 1)

    def _method(self, name: str, source: str, value: Any, method: str, depth: int) -> None:
        function = getattr(type(value), method, None)
        if isinstance(function, types.FunctionType):
            self._function_of(f"{name}.{method}", source, function.__get__(value), depth)

    def _function_of(self, name: str, source: str, value: Any, depth: int) -> None:
        """Follow what a function refers to."""
        while True:
            if isinstance(value, types.MethodType):
                self._code_of(name, value.__func__, depth, value.__self__)
                return
            if isinstance(value, functools.partial):
                held = self._named(value)
                for k, item in enumerate(value.args):
                    self._follow(f"{name}(...)", f"{held}.args[{k}]", item, depth)
                for key, item in value.keywords.items():
                    self._follow(f"{name}({key}=...)", f"{held}.keywords[{key!r}]", item, depth)
                value = value.func
                continue
            if is_wrapper(value):
                value = value.__wrapped__
                continue
            break
        if isinstance(value, types.FunctionType):
            self._code_of(name, value, depth, None)

    def _code_of(self, name: str, function: types.FunctionType, depth: int, self_object: Any) -> None:
        if id(function) in self.seen and self_object is None:
            return
        self.seen.add(id(function))
        held = self._named(function)
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
        for k, default in enumerate(function.__defaults__ or ()):
            self._follow(f"a default of {function.__name__}", f"{held}.__defaults__[{k}]", default, 0)
        for key, default in (function.__kwdefaults__ or {}).items():
            self._follow(key, f"{held}.__kwdefaults__[{key!r}]", default, 0)
        if is_library(function.__code__):
            for key, cell in cells.items():
                self._cell(key, cell)
            return
        first = function.__code__.co_varnames[:1]
        for root, key, attributes, made, line in reads(function.__code__):
            self._random(function, key, attributes, made, line)
            if root == "deref" and key in cells:
                self._chain(key, f"{self._named(cells[key])}.cell_contents", contents(cells[key]), attributes)
            elif root == "global" and key in function.__globals__:
                space = self._named(function.__globals__)
                self._chain(key, f"{space}.get({key!r}, missing)", function.__globals__[key], attributes)
            elif root == "fast" and self_object is not None and (key,) == first and attributes:
                self._chain(key, self._named(self_object), self_object, attributes)

    def _random(
        self, function: types.FunctionType, key: str, attributes: tuple[str, ...], made: bool, line: str
    ) -> None:
        """Note a line that names a source of random numbers."""
        value = function.__globals__.get(key)
        for attribute in attributes if isinstance(value, types.ModuleType) else ():
            value = getattr(value, attribute, None)
        if getattr(value, "__module__", None) == "random" or isinstance(getattr(value, "__self__", None), RANDOM):
            self.draws.append(line)
        elif value is np.random.default_rng and made:
            self.unseeded.append(f"a generator without a seed, made at {line}")
        elif isinstance(value, RANDOM) or attributes[:1] in DRAWING:
            self.draws.append(line)

    def _cell(self, key: str, cell: Any) -> None:
        value = contents(cell)
        if value is not missing:
            self._follow(key, f"{self._named(cell)}.cell_contents", value, 0)

    def _chain(self, name: str, source: str, value: Any, attributes: tuple[str, ...]) -> None:
        """A name with the attributes that are read of it, as far as they lead through modules, classes and objects."""
        for attribute in attributes:
            if isinstance(value, types.ModuleType):
                if is_library_module(value):
                    return
            elif on_device(value) or isinstance(
                value, (*NUMBERS, *FIXED, *RANDOM, ndarray, Array, list, tuple, dict, types.FunctionType)
            ):
                break
            found = static(value, attribute)
            if isinstance(found, property) and found.fget is not None and not isinstance(value, type):
                self._function_of(f"{name}.{attribute}", source, types.MethodType(found.fget, value), 0)
                return
            if found is missing:
                return
            if isinstance(found, (types.FunctionType, staticmethod, classmethod)) and not isinstance(
                value, types.ModuleType
            ):
                found = getattr(value, attribute)
                self._function_of(f"{name}.{attribute}", source, found, 0)
                return
            name, source, value = f"{name}.{attribute}", f"{source}.{attribute}", found
        if value is not missing:
            self._follow(name, source, value, 0)


class Missing:
    """What stands where nothing is."""


missing = Missing()


def contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return missing


def static(value: Any, attribute: str) -> Any:
    """An attribute without running code of the user's."""
    if isinstance(value, types.ModuleType):
        return vars(value).get(attribute, missing)
    own = getattr(value, "__dict__", {})
    if attribute in own:
        return own[attribute]
    for kind in (value if isinstance(value, type) else type(value)).__mro__:
        if attribute in vars(kind):
            found = vars(kind)[attribute]
            return getattr(value, attribute, missing) if isinstance(found, types.MemberDescriptorType) else found
    return missing


def attributes_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The attributes of an object, slots included."""
    yield from list(getattr(value, "__dict__", {}).items())
    for kind in type(value).__mro__:
        for name, found in vars(kind).items():
            if isinstance(found, types.MemberDescriptorType) and hasattr(value, name):
                yield name, getattr(value, name)


def attributes_after(instructions: list[dis.Instruction], at: int) -> tuple[str, ...]:
    """The attributes that are read at once of what an instruction loads."""
    return tuple(str(i.argval) for i in itertools.takewhile(lambda i: i.opname in ATTRIBUTES, instructions[at + 1 :]))


def reads(code: types.CodeType) -> Iterator[tuple[str, str, tuple[str, ...], bool, str]]:
    """What a code object and those inside it read: (global, deref or fast; name; attributes; called without arguments; line)."""
    instructions = list(dis.get_instructions(code))
    for at, found in enumerate(instructions):
        if found.opname not in ROOTS and not found.opname.startswith("LOAD_FAST"):
            continue
        attributes = attributes_after(instructions, at)
        rest = (
            i for i in instructions[at + 1 + len(attributes) :] if i.opname not in ("PRECALL", "CACHE", "PUSH_NULL")
        )
        called = next(rest, None)
        empty = called is not None and called.opname == "CALL" and called.arg == 0
        root = "deref" if "DEREF" in found.opname else "fast" if "FAST" in found.opname else "global"
        yield (
            root,
            str(found.argval),
            tuple(attributes),
            empty,
            place_of(code, found.offset),
        )
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from (read for read in reads(constant) if read[0] != "fast")


def is_wrapper(value: Any) -> bool:
    """Whether something callable stands for a function, as a compiled one does."""
    return not isinstance(value, (types.FunctionType, type)) and callable(getattr(value, "__wrapped__", None))


def is_library(code: types.CodeType) -> bool:
    """Whether code is not the user's: Python's, an installed package's, or ours."""
    name = code.co_filename
    return is_library_file(name)


@functools.cache
def is_library_file(name: str) -> bool:
    if name.startswith(DEMO):
        return False
    return name.startswith((*LIBRARIES, sys.prefix + "/lib", sys.base_prefix + "/lib")) or "site-packages" in name


def is_library_module(module: types.ModuleType) -> bool:
    """Whether a module is not the user's."""
    name = getattr(module, "__file__", None)
    return (name is None and module.__name__ != "__main__") or (name is not None and is_library_file(name))


def is_users(kind: type) -> bool:
    """Whether a class was written by the user."""
    module = sys.modules.get(kind.__module__)
    return kind.__module__ != "builtins" and (module is None or not is_library_module(module))


def same_number(a: Any, b: Any) -> bool:
    """Whether two fixed values are the same; NaN is itself, and 1 is not 1.0."""
    return type(a) is type(b) and (bool(a == b) and (a != 0 or str(a) == str(b)) if not both_nan(a, b) else True)


def both_nan(a: Any, b: Any) -> bool:
    return isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)
