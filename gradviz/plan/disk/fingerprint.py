"""What a function is, across processes: its code, and all that the code can lead to, as one digest.

A plan that comes from another process may only be used where capturing would give the same. So everything of the user's that is
reached is taken in whole: functions with their defaults, cells and globals, classes with all of their members, objects, containers,
arrays. Libraries are told by their version. Where that cannot be followed (files, time, `getattr`, other packages) there is no
fingerprint, and `Untold` says why.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import enum
import functools
import hashlib
import sys
import sysconfig
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gradviz.engine.array import Array
from gradviz.engine.rule import COMPOSED, RULES, Rule
from gradviz.plan.capture.devices import on_device
from gradviz.plan.capture.references import (
    attributes_after,
    attributes_of,
    contents,
    is_library_file,
    missing,
    static,
)
from gradviz.version import __version__

MOST_VISITS = 20_000
MOST_NBYTES = 64 << 20  # of arrays, which are read whole
PLAIN = frozenset(
    {bool, int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented), range, slice}
)
OWN = str(Path(__file__).parents[2])

# Packages whose functions do the same whenever they are called with the same, as far as the names below are left out.
LIBRARIES = frozenset(
    {"numpy", "scipy", "gradviz", "math", "cmath", "operator", "functools", "itertools", "collections", "dataclasses", "typing"}
    | {"enum", "abc", "types", "copy", "numbers", "builtins", "contextlib", "string", "warnings", "fractions", "statistics"}
    | {"_operator", "_functools", "_collections", "_collections_abc", "_thread"}
)  # fmt: skip
UNSTEADY = frozenset(
    {"load", "loadtxt", "fromfile", "genfromtxt", "fromregex", "memmap", "open_memmap", "random", "default_rng"}
    | {"ctypeslib", "datasets", "loadmat", "seterr", "seterrcall", "geterr", "get_printoptions"}
)  # fmt: skip - names that lead to files and to what changes from process to process
REFUSED = frozenset(
    {"open", "input", "eval", "exec", "compile", "globals", "locals", "vars", "dir", "getattr", "setattr", "delattr", "__import__"}
    | {"id", "hash", "breakpoint", "help", "memoryview"}
)  # fmt: skip


class Untold(Exception):  # noqa: N818 - not an error: no plan is kept
    """Something that a function leads to cannot be told across processes; the text says what."""


class Fingerprint:
    """The digest of some functions and values.

    Attributes
    ----------
    codes : the user's code objects that were reached, in a fixed order
    types : the classes that were reached, by which a result may be put together
    """

    def __init__(self, roots: Iterable[Any]) -> None:
        self.codes: list[types.CodeType] = []
        self.types: list[type] = []
        self._digest = hashlib.sha256()
        self._seen: dict[int, int] = {}
        self._alive: list[Any] = []  # an id stays taken while its object lives
        self._nbytes = 0
        self._add("gradviz", __version__, state_of_gradviz(), "numpy", np.__version__, sys.version)
        try:
            for root in (*roots, *rules_of_users()):
                self._visit(root)
        except RecursionError:
            raise Untold("it refers to objects nested too deeply") from None

    def hexdigest(self) -> str:
        """The digest of all that was reached."""
        return self._digest.hexdigest()

    def _add(self, *words: str | bytes) -> None:
        for word in words:
            data = word if isinstance(word, bytes) else word.encode("utf-8", "surrogatepass")
            self._digest.update(len(data).to_bytes(8, "little"))
            self._digest.update(data)

    # ---- values

    def _visit(self, value: Any) -> None:
        kind = type(value)
        if kind in PLAIN:
            self._add(kind.__name__, repr(value))
            return
        if isinstance(value, np.dtype):
            self._add("dtype", repr(value))
            return
        if isinstance(value, np.generic):
            self._add("number", repr(value.dtype), value.tobytes())
            return
        known = self._seen.get(id(value))
        if known is not None:
            self._add("again", str(known))
            return
        if len(self._seen) >= MOST_VISITS:
            raise Untold(f"it refers to more than {MOST_VISITS} objects")
        self._seen[id(value)] = len(self._seen)
        self._alive.append(value)
        for kinds, visit in VISITS:
            if isinstance(value, kinds):
                visit(self, value)
                return
        self._object(value)

    def _array(self, value: np.ndarray) -> None:
        if type(value) is not np.ndarray or value.dtype.hasobject:
            raise Untold(f"it refers to an array of type {type(value).__name__} and dtype {value.dtype}")
        self._nbytes += value.nbytes
        if self._nbytes > MOST_NBYTES:
            raise Untold(f"it refers to arrays of more than {MOST_NBYTES >> 20} MiB; pass them as arguments")
        self._add("array", repr(value.dtype), repr(value.shape), repr(value.strides), str(value.flags.writeable))
        self._digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)

    def _traced(self, value: Array) -> None:
        if value.tape is not None:
            raise Untold("it refers to an array of a derivative that is being taken")
        self._add("untraced")
        self._visit(value.value)

    def _items(self, value: Any) -> None:
        """A list, tuple, dict or set, of whatever class."""
        if type(value) not in (list, tuple, dict, set, frozenset):
            self._visit(type(value))
            for name, item in sorted(getattr(value, "__dict__", {}).items()):
                self._add(name)
                self._visit(item)
        self._add(type(value).__name__, str(len(value)))
        if isinstance(value, (set, frozenset)):
            if not all(type(item) in PLAIN for item in value):
                raise Untold("it refers to a set of objects")
            value = sorted(value, key=lambda item: (type(item).__name__, repr(item)))
        for item in value.items() if isinstance(value, dict) else value:
            for part in item if isinstance(value, dict) else (item,):
                self._visit(part)

    def _object(self, value: Any) -> None:
        """What is told by its class and its attributes."""
        kind = type(value)
        if on_device(value):
            raise Untold("it refers to an array on a device")
        if kind.__module__ == "typing" or isinstance(value, SAID_BY_REPR):
            self._add("typing", repr(value))
        elif value is dataclasses.MISSING or value is np._NoValue:
            self._add("nothing", kind.__name__)
        elif isinstance(value, Rule):
            self._add(
                "rule", value.name, repr((value.view, value.elementwise, value.linear, value.sequence, value.outputs))
            )
            for part in (value.function, value.pullbacks, value.slopes):
                self._visit(part)
        elif isinstance(value, (int, float, complex, str, bytes)):
            raise Untold(f"it refers to a {kind.__qualname__}, a number or text of a class of its own")
        elif callable(getattr(value, "__wrapped__", None)):  # functools.cache, a compiled function
            self._add("wrapper", kind.__name__, repr(getattr(value, "donate", "")))
            self._visit(value.__wrapped__)
        elif is_from(kind, "gradviz") or kind is types.SimpleNamespace or not is_library_class(kind):
            self._visit(kind)
            for name, item in sorted(attributes_of(value), key=lambda pair: pair[0]):
                self._add(name)
                self._visit(item)
        else:
            raise Untold(f"it refers to a {kind.__module__}.{kind.__qualname__}")

    # ---- functions

    def _function(self, value: types.FunctionType) -> None:
        if is_library_file(value.__code__.co_filename) and value.__code__.co_filename != "<string>":
            package, where = place_in_library(value.__code__.co_filename)
            self._library(package, where, value.__code__.co_name)
            self._add(str(value.__code__.co_firstlineno))
            for cell in value.__closure__ or ():
                self._visit(contents(cell))
            return
        self._add("function", value.__qualname__)
        self._code(value.__code__)
        for part in (value.__defaults__, value.__kwdefaults__):
            self._visit(part)
        for cell in value.__closure__ or ():
            self._visit(contents(cell))
        for name, item in sorted(vars(value).items()):
            if name != "__wrapped__":
                self._add(name)
                self._visit(item)
        for name, attributes in globals_of(value.__code__):
            self._global(value.__globals__, name, attributes)

    def _library(self, package: str, *where: str) -> None:
        """A function or class of a library: what the version of the library does not tell is refused."""
        names = {part for text in where for part in text.split(".")}
        if package not in LIBRARIES:
            raise Untold(f"it uses {'.'.join(where)}, which may change without notice")
        if package == "builtins" and names & REFUSED:
            raise Untold(f"it uses {where[-1]}(), which may lead anywhere")
        if names & UNSTEADY:
            raise Untold(f"it uses {'.'.join(where)}, which may give something else in each process")
        self._add("library", *where)
        if package == "scipy":
            self._add(sys.modules["scipy"].__version__)

    def _builtin(self, value: Any) -> None:
        owner = getattr(value, "__self__", None)
        if owner is None or isinstance(owner, types.ModuleType):
            module = getattr(value, "__module__", None) or "builtins"
            self._library(module.partition(".")[0], module, value.__qualname__)
        else:
            self._add("method", value.__name__)
            self._visit(owner)

    def _ufunc(self, value: np.ufunc) -> None:
        for space in ("numpy", "scipy.special"):
            if getattr(sys.modules.get(space), value.__name__, None) is value:
                self._library(space.partition(".")[0], space, value.__name__)
                return
        raise Untold(f"it refers to {value.__name__}, a ufunc that neither NumPy nor SciPy has")

    def _method(self, value: types.MethodType) -> None:
        self._add("method")
        self._visit(value.__func__)
        self._visit(value.__self__)

    def _partial(self, value: functools.partial[Any]) -> None:
        self._add("partial")
        for part in (value.func, value.args, value.keywords):
            self._visit(part)

    def _code(self, code: types.CodeType) -> None:
        self.codes.append(code)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
        self._add("code", code.co_name, repr(counts), repr(names), code.co_code)
        self._add(getattr(code, "co_exceptiontable", b""))
        for found in UNSTEADY.intersection(code.co_names):
            raise Untold(f"it reads {found!r}, which may lead to what changes from process to process")
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                raise Untold(f"it sets the global {instruction.argval!r}")
            if instruction.opname == "IMPORT_NAME" and str(instruction.argval).partition(".")[0] not in LIBRARIES:
                raise Untold(f"it imports {instruction.argval!r} inside")
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._code(constant)
            else:
                self._constant(constant)

    def _constant(self, value: Any) -> None:
        if isinstance(value, frozenset):
            value = ("frozenset", *sorted(value, key=repr))
        if type(value) is tuple:
            self._add("tuple", str(len(value)))
            for item in value:
                self._constant(item)
        else:
            self._add(type(value).__name__, repr(value))

    def _global(self, space: dict[str, Any], name: str, attributes: tuple[str, ...]) -> None:
        """What a global name leads to, through the attributes that are read of modules."""
        self._add("global", name)
        value = space.get(name, missing)
        if value is missing:
            if name in REFUSED:
                raise Untold(f"it uses {name}(), which may lead anywhere")
            value = getattr(builtins, name, missing)
        for attribute in attributes:
            if not isinstance(value, types.ModuleType):
                break
            self._add("attribute", attribute)
            if value.__name__.partition(".")[0] in LIBRARIES:
                value = getattr(value, attribute, missing)  # SciPy loads its parts when they are read
            elif "__getattr__" in vars(value) and attribute not in vars(value):
                raise Untold(f"{value.__name__}.{attribute} is made when it is read")
            else:
                value = static(value, attribute)
        self._visit(value)

    def _module(self, value: types.ModuleType) -> None:
        if value.__name__.partition(".")[0] not in LIBRARIES:
            raise Untold(f"it uses the module {value.__name__} as a whole")
        if UNSTEADY.intersection(value.__name__.split(".")):
            raise Untold(f"it uses {value.__name__}, which may give something else in each process")
        self._add("module", value.__name__)

    # ---- classes

    def _class(self, value: type) -> None:
        self.types.append(value)
        if is_library_class(value):
            self._library(value.__module__.partition(".")[0], value.__module__, value.__qualname__)
            return
        self._add("class", value.__qualname__)
        for base in (*value.__bases__, type(value)):
            self._visit(base)
        made = dataclasses.is_dataclass(value)
        for name, item in sorted(vars(value).items()):
            if name not in UNREAD and not (made and is_generated(name, item)):
                self._add(name)
                self._member(item)
        for field in dataclasses.fields(value) if made else ():
            self._add("field", field.name, repr(field.init), repr(field.kw_only))
            self._visit(field.default)
            self._visit(field.default_factory)

    def _member(self, item: Any) -> None:
        """What stands in a class."""
        if isinstance(item, property):
            self._add("property")
            for part in (item.fget, item.fset, item.fdel):
                self._visit(part)
        elif isinstance(item, (staticmethod, classmethod)):
            self._add(type(item).__name__)
            self._visit(item.__func__)
        elif isinstance(item, functools.cached_property):
            self._add("cached_property")
            self._visit(item.func)
        elif isinstance(item, (types.MemberDescriptorType, types.GetSetDescriptorType)) or is_tuple_getter(item):
            self._add("slot")
        else:
            self._visit(item)

    def _enumerated(self, value: enum.Enum) -> None:
        self._add("enum", type(value).__qualname__, value.name)
        self._visit(value.value)
        for name, item in sorted(vars(type(value)).items()):
            if isinstance(item, (types.FunctionType, property, staticmethod, classmethod)):
                self._add(name)
                self._member(item)


UNREAD = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__dataclass_fields__", "__dataclass_params__"}
    | {"__firstlineno__", "__static_attributes__", "__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__"}
    | {"__annotate_func__", "__annotations_cache__", "__type_params__"}
)  # fmt: skip
GENERATED = frozenset(
    {"__init__", "__repr__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__setattr__", "__delattr__"}
    | {"__replace__", "__getstate__", "__setstate__"}
)  # fmt: skip - by dataclass, from what is told of the fields
SAID_BY_REPR = (types.GenericAlias, types.UnionType, np.finfo, np.iinfo)
VISITS: tuple[tuple[Any, Callable[[Fingerprint, Any], None]], ...] = (
    (np.ndarray, Fingerprint._array),
    (Array, Fingerprint._traced),
    (enum.Enum, Fingerprint._enumerated),
    ((list, tuple, dict, set, frozenset), Fingerprint._items),
    (types.FunctionType, Fingerprint._function),
    (types.MethodType, Fingerprint._method),
    ((types.BuiltinFunctionType, types.WrapperDescriptorType, types.MethodWrapperType), Fingerprint._builtin),
    (np.ufunc, Fingerprint._ufunc),
    (functools.partial, Fingerprint._partial),
    (type, Fingerprint._class),
    (types.ModuleType, Fingerprint._module),
)  # fmt: skip


def globals_of(code: types.CodeType) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The global names that a code object and those inside it read, each with the attributes that are read of it at once."""
    instructions = list(dis.get_instructions(code))
    for at, found in enumerate(instructions):
        if "GLOBAL" not in found.opname and found.opname != "LOAD_NAME":
            continue
        yield str(found.argval), attributes_after(instructions, at)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from globals_of(constant)


def is_generated(name: str, item: Any) -> bool:
    """Whether it is a method that `dataclasses` wrote."""
    function = getattr(item, "__wrapped__", item)
    return name in GENERATED and (
        item is None or getattr(function, "__code__", None) is None or function.__code__.co_filename == "<string>"
    )


def place_in_library(file: str) -> tuple[str, str]:
    """The package that a file of a library belongs to, and the file's name from there on."""
    if file.startswith(OWN):
        return "gradviz", file[len(OWN) :]
    for root in (*{sysconfig.get_path(name) for name in ("purelib", "platlib")}, str(Path(np.__file__).parents[1])):
        if file.startswith(root + "/"):
            inside = file[len(root) + 1 :]
            return inside.partition("/")[0].removesuffix(".py"), inside
    for root in {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}:
        if file.startswith(root + "/"):
            inside = file[len(root) + 1 :]
            return inside.partition("/")[0].removesuffix(".py"), inside
    return file, file


def is_tuple_getter(item: Any) -> bool:
    """Whether it is what reads a field of a named tuple."""
    return type(item).__name__ == "_tuplegetter"


def is_from(kind: type, package: str) -> bool:
    return kind.__module__.partition(".")[0] == package


def is_library_class(kind: type) -> bool:
    """Whether a class comes with a library, by the file of its module."""
    module = sys.modules.get(kind.__module__)
    if module is None:
        return False
    file = getattr(module, "__file__", None)
    return module.__name__ != "__main__" if file is None else is_library_file(file)


def rules_of_users() -> list[Any]:
    """The rules that are not ours: no name leads from a function to them."""
    found: list[Any] = []
    for function, made in RULES.items():
        if any(map(is_users, (function, *made.pullbacks.values(), *made.slopes.values()))):
            found.append(made)
    return found + [f for f in COMPOSED.values() if is_users(f)]


def is_users(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and not is_library_file(code.co_filename)


@functools.cache
def state_of_gradviz() -> str:
    """Tells one state of this package from another, also while somebody is working on it."""
    digest = hashlib.sha256()
    for path in sorted(p for p in Path(OWN).rglob("*") if p.suffix in (".py", ".so", ".pyd")):
        found = path.stat()
        digest.update(f"{path.relative_to(OWN)} {found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()
