"""How a call is run and recorded: find the innermost tape among the inputs, compute one level below it, write one record.

The ordinary cases, `call_one` and `call_two`, exist compiled as well, in call.c.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import NoneType
from typing import Any

import numpy as np

from gradviz.compiled import compiled
from gradviz.engine.array import Array, View, can_be_shared, constant, strip
from gradviz.engine.constants import copied, keep
from gradviz.engine.cotangent import Picked
from gradviz.engine.memory import memory_of
from gradviz.engine.rule import Rule
from gradviz.engine.step import STEPS, Step
from gradviz.engine.tape import Tape
from gradviz.errors import EscapedArrayError, MissingRuleError, NotDifferentiableError

ndarray = np.ndarray
HOLDING = frozenset({ndarray, list, tuple})  # what plain arrays come as


def call(rule: Rule, arguments: tuple[Any, ...]) -> Any:
    """Apply a rule's function to arguments in signature order; the result is on the innermost tape among them."""
    first = arguments[0]
    if rule.positions == (0,) and (type(first) is Array or type(first) is View):
        tape = first.tape
        if type(tape) is Tape and tape.open and plain_options(arguments):
            return call_one(tape, rule, first, arguments)
    elif rule.pair:
        made = call_two(rule, *arguments)
        if made is not None:
            return made
    top = innermost(arguments)
    if top is None:
        return call_plain(rule, arguments)
    if not top.open:
        raise escaped(rule.name)
    if type(top) is not Tape:
        return top.call(rule, arguments)
    values, active, parents, positions = entered(rule, arguments, top)
    recorder = top.recorder
    out = rule.run(*values) if recorder is None or nested(values) else recorder.call(rule.name, rule.run, values)
    if not active:
        return out
    return remember(top, rule, arguments, values, out, tuple(active), parents, positions)


def entered(rule: Rule, arguments: tuple[Any, ...], top: Tape) -> tuple[list[Any], list[str], list[int], list[int]]:
    """Arguments one level down, the inputs that are differentiated, their variables, and their places in a sequence."""
    values = list(arguments)
    active: list[str] = []
    parents: list[int] = []
    positions: list[int] = []
    for position, value in enumerate(arguments):
        name = rule.parameters[position]
        if isinstance(value, Array):
            if value.tape is top:
                if name in rule.pullbacks:
                    active.append(name)
                    parents.append(value.index)
                elif name not in rule.constant and (rule.inputs or rule.foreign):
                    raise not_differentiable(rule, name)
            values[position] = strip(value, top.level)
        elif type(value) is ndarray and name in rule.constant and value.dtype.kind in "biu":
            values[position] = copied(value)  # programs count on with the array they indexed by
        elif type(value) in (list, tuple):
            if name == rule.sequence:
                values[position] = _enter_sequence(value, top, parents, positions)
                active += [name] * bool(positions)
            elif name in rule.pullbacks and nested(value):
                joined = stacked(value)
                return entered(rule, (*arguments[:position], joined, *arguments[position + 1 :]), top)
            else:
                values[position] = below(value, top.level)
                if name in rule.pullbacks:
                    values[position] = np.asarray(values[position])
    return values, active, parents, positions


PLAIN = frozenset({int, float, bool, str, NoneType, slice})


def plain_options(arguments: tuple[Any, ...]) -> bool:
    """Whether no argument but the first can be or contain a traced array; shapes and axes, given as integers, cannot."""
    for argument in arguments[1:]:
        kind = type(argument)
        if kind is tuple:
            for item in argument:
                if type(item) is not int:
                    return False
        elif kind not in PLAIN and (kind is list or kind is ndarray or isinstance(argument, Array)):
            return False
    return True


def call_one(tape: Tape, rule: Rule, first: Array, arguments: tuple[Any, ...]) -> Any:
    """The ordinary case of `call`: one array, differentiated, and plain options."""
    value = first.value
    values = (value, *arguments[1:])
    recorder = None if isinstance(value, Array) else tape.recorder
    if recorder is None:
        out = rule.run(*values)
    else:
        saves = 0 if rule.outputs else rule.variant((rule.inputs, False)).saves & ~2  # the second argument is an option
        out = recorder.call(rule.name, rule.run, values, 0, saves)
    if rule.outputs and isinstance(out, (tuple, list)):
        return remember(tape, rule, arguments, list(values), out, rule.inputs, [first.index], [])
    variant = rule.variant((rule.inputs, not alike(rule, value, out)))
    log = tape.log
    index = len(log)
    log.append(variant.keep(first.index, out, *values))
    if tape.recorder is not None:
        tape.calls[index] = tape.recorder.last
    if rule.view and looks_at(out, value):
        return View(out, tape, index, first, (rule, values[1:]))
    return Array(out, tape, index)


def call_two(rule: Rule, x: Any, y: Any) -> Any:
    """The ordinary case of `call` for two operands: one or both are on one tape, and what is not is a plain array; else None."""
    x_traced, y_traced = type(x) is Array or type(x) is View, type(y) is Array or type(y) is View
    tape = x.tape if x_traced else y.tape if y_traced else None
    if type(tape) is not Tape or not tape.open:
        return None
    a, b = x.value if x_traced else x, y.value if y_traced else y
    if type(a) is not ndarray or type(b) is not ndarray or (x_traced and y_traced and y.tape is not tape):
        return None
    key = BOTH if x_traced and y_traced else FIRST if x_traced else SECOND
    recorder = tape.recorder
    if recorder is None:
        out = rule.run(a, b)
    else:
        saves = rule.variant((tuple(rule.inputs[k] for k in key), False)).saves
        out = recorder.call(rule.name, rule.run, (a, b), 0, saves)
    dtype = getattr(out, "dtype", None)
    fitted = (x_traced and a.dtype != dtype) or (y_traced and b.dtype != dtype)
    variant = rule.variant((tuple(rule.inputs[k] for k in key), fitted))
    if not x_traced and 0 in variant.kept:
        a = keep(tape, a, a)
    elif not y_traced and 1 in variant.kept:
        b = keep(tape, b, b)
    parents = (x.index, y.index) if x_traced and y_traced else x.index if x_traced else y.index
    log = tape.log
    index = len(log)
    log.append(variant.keep(parents, out, a, b))
    if recorder is not None:
        tape.calls[index] = recorder.last
    return Array(out, tape, index)


FIRST, SECOND, BOTH = (0,), (1,), (0, 1)


def escaped(name: str) -> EscapedArrayError:
    return EscapedArrayError(
        f"{name} was given an array that belongs to a gradient that has already been taken. Return what you need from the "
        f"function (has_aux=True) instead of keeping its arrays."
    )


def stacked(items: Iterable[Any]) -> Any:
    """The array that nested lists of numbers and traced values stand for, where an array is meant."""
    return np.stack([stacked(item) if type(item) in (list, tuple) else item for item in items])


def nested(values: Iterable[Any]) -> bool:
    """Whether there are traced arrays among values or in lists of them: of an enclosing derivative, which will record the call itself."""
    return any(isinstance(value, Array) or (type(value) in (list, tuple) and nested(value)) for value in values)


def call_rule(self: Rule, *args: Any, **kwargs: Any) -> Any:
    """A rule is called like the function it wraps."""
    return call(self, self.bind(*args, **kwargs))


Rule.__call__ = call_rule


def not_differentiable(rule: Rule, name: str) -> NotDifferentiableError:
    return NotDifferentiableError(
        f"{rule.name} has no derivative with respect to {name!r}, which was computed from the inputs of the gradient. "
        f"If no gradient should flow through it, pass gv.stop_gradient({name})."
    )


def _enter_sequence(items: Any, top: Tape, parents: list[int], positions: list[int]) -> list[Any]:
    values = []
    for k, item in enumerate(items):
        if isinstance(item, Array):
            if item.tape is top:
                parents.append(item.index)
                positions.append(k)
            item = strip(item, top.level)
        values.append(item)
    return values


def innermost(arguments: Iterable[Any]) -> Any:
    """The tape (or forward level) of the innermost derivative that any argument takes part in."""
    top, level = None, 0
    for value in arguments:
        if isinstance(value, Array):
            if value.level > level:
                top, level = value.tape, value.level
        elif type(value) in (list, tuple):
            for item in value:
                if isinstance(item, Array) and item.level > level:
                    top, level = item.tape, item.level
    return top


def remember(
    tape: Tape,
    rule: Rule,
    arguments: tuple[Any, ...],
    values: list[Any],
    out: Any,
    active: tuple[str, ...],
    parents: list[int],
    positions: list[int],
) -> Any:
    """Write the record of a call that has run, and wrap its output."""
    inputs = (
        [values[rule.parameters.index(name)] for name in active]
        if not positions
        else values[rule.parameters.index(active[0])]
    )
    fitted = rule.outputs or not all(alike(rule, value, out) for value in inputs)
    variant = rule.variant((active, fitted))
    for position in variant.kept:
        if type(arguments[position]) in HOLDING:
            values[position] = keep(tape, arguments[position], values[position])
    log = tape.log
    index = len(log)
    if positions:
        log.append(variant.keep(tuple(parents), out, *values, positions=tuple(positions)))
    else:
        log.append(variant.keep(parents[0] if len(parents) == 1 else tuple(parents), out, *values))
    if tape.recorder is not None:
        tape.recorder.remembered(tape, index, log[index][2:])
    if rule.outputs and isinstance(out, (tuple, list)):
        return pick_all(tape, index, out)
    if rule.view:
        source = arguments[0]
        if isinstance(source, Array) and looks_at(out, values[0]):
            return View(out, tape, index, source, (rule, tuple(values[1:])))
    return Array(out, tape, index)


def looks_at(out: Any, value: Any) -> bool:
    """Whether a result is a view of its input; numbers have none."""
    if type(out) is ndarray and type(value) is ndarray:  # the same, without asking what kind they are
        base = out.base
        if base is None and value.base is None:
            return out is value
        return base is value or memory_of(out) is memory_of(value)
    return can_be_shared(out) and memory_of(out) is memory_of(value)


def alike(rule: Rule, value: Any, out: Any) -> bool:
    """Whether the cotangent of ``value`` needs no fitting: broadcasting and promotion left shape and dtype as they were."""
    if type(value) is ndarray and type(out) is ndarray and value.dtype is out.dtype:
        return not rule.elementwise or value.shape == out.shape
    dtype = getattr(value, "dtype", None)
    if dtype is None:  # a Python scalar
        return getattr(out, "shape", ()) == () and (isinstance(value, complex) or not np.iscomplexobj(out))
    return dtype == getattr(out, "dtype", dtype) and (not rule.elementwise or value.shape == getattr(out, "shape", ()))


def _pick(ct: Any, record: tuple[Any, ...], made: Any = None) -> Picked:
    return Picked(record[2], record[3], ct)


PICK = len(STEPS)
STEPS.append(Step(None, ("out",), lambda ct, record: (_pick(ct, record),), [("out", _pick)], single=False))


def pick_all(tape: Tape, parent: int, outs: Any) -> Any:
    """One array for each output of a function that returns several; named tuples keep their type."""
    made = []
    for k, out in enumerate(outs):
        if not isinstance(out, int) and getattr(out, "dtype", np.dtype(float)).kind in "fc":
            tape.log.append((PICK, (parent,), k, len(outs)))
            made.append(Array(out, tape, len(tape.log) - 1))
        else:
            made.append(out)
    return type(outs)(*made) if hasattr(outs, "_fields") else type(outs)(made)


def call_plain(rule: Rule, arguments: tuple[Any, ...]) -> Any:
    """A call none of whose arrays is on a tape: compute, and stay an `Array` if any argument was one."""
    values = tuple(below(value, 0) for value in arguments)
    out = rule.run(*values)
    if all(a is b for a, b in zip(values, arguments, strict=True)):
        return out
    if rule.view and isinstance(arguments[0], Array) and looks_at(out, values[0]):
        return View(out, None, -1, arguments[0], (rule, values[1:]))
    return wrap_constant(out)


def wrap_constant(out: Any) -> Any:
    if isinstance(out, (tuple, list)):
        wrapped = [wrap_constant(item) for item in out]
        return type(out)(*wrapped) if hasattr(out, "_fields") else type(out)(wrapped)
    return constant(out) if hasattr(out, "dtype") else out


def call_without_gradient(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function through which no gradient flows, on the values one level down."""
    top = innermost((*args, *kwargs.values()))
    level = 0 if top is None else top.level
    args = tuple(below(value, level) for value in args)
    kwargs = {name: below(value, level) for name, value in kwargs.items()}
    recorder = getattr(top, "recorder", None)
    if recorder is None or nested(args):
        return function(*args, **kwargs)
    return recorder.call_plain(function, args, kwargs)


def below(value: Any, level: int) -> Any:
    """An argument with the arrays in it taken one level down."""
    if isinstance(value, Array):
        return strip(value, level)
    if type(value) in (list, tuple):
        return type(value)(below(item, level) for item in value)
    return value


def missing(function: Any) -> MissingRuleError:
    return MissingRuleError(
        f"{full_name(function)} has no derivative in gradviz yet. Write one with gv.rule (docs/adding-a-rule.md), or, if no gradient "
        f"should flow through it, call it on gv.stop_gradient(x)."
    )


def full_name(function: Any) -> str:
    """``numpy.histogram``, ``scipy.special.airy``, ``numpy.multiply.reduceat``."""
    name = getattr(function, "__name__", str(function))
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"{full_name(owner)}.{name}"
    if not isinstance(function, np.ufunc):
        module = getattr(function, "__module__", None) or "numpy"
        return ".".join([*(part for part in module.split(".") if not part.startswith("_")), name])
    homes = (
        module for module in ("numpy", "scipy.special") if getattr(sys.modules.get(module), name, None) is function
    )
    return ".".join((*homes, name))


core = compiled(__name__)
if core is not None:
    core.know(Array, View, Tape, Rule, call, alike, looks_at, keep)
    call = core.call
