"""What a rule is: one function, and for each of its inputs the pullback that turns a cotangent of the output into one of that input.

    def multiply_to_x(ct, y): ...
    def multiply_to_y(ct, x): ...
    rule(np.multiply, multiply_to_x, multiply_to_y)

The name after ``_to_`` says which input the pullback belongs to. Its parameters are exactly what it reads:

    ct              cotangent of the output (of a tuple-valued function: a tuple, None where nothing arrived)
    ct_owned        the same, in memory that the pullback may overwrite; such a pullback runs last
    ct_b            what the pullback of input ``b`` gives, computed once
    out             the output
    x, axis, ...    an input or an attribute, by the name it has in the function's signature
    x_like          only ``shape`` and ``dtype`` of ``x``
    k               the position within a sequence input

So the engine knows, without a second declaration, what is kept for the backward pass, and calls only those pullbacks whose
input is being differentiated.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from gradviz.errors import RuleError

RULES: dict[Any, Rule] = {}
COMPOSED: dict[Any, Callable[..., Any]] = {}  # functions given in terms of other functions
OUT_POSITION: dict[Any, int] = {}  # where a composed function takes ``out``, which the engine fills, not the definition
CREATING: dict[Any, Callable[..., Any]] = {}  # functions that make a new array near the first argument
NO_GRADIENT: set[Any] = set()  # functions through which nothing flows: comparisons, rounding, index searches


class Like(NamedTuple):
    """What can be known of an array without keeping it."""

    shape: tuple[int, ...]
    dtype: Any  # np.dtype, or the type ``float`` / ``complex`` of a Python scalar, which adopts the dtype it meets


def like(value: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype, as records keep them: a plain tuple, which the garbage collector can forget about."""
    try:
        return value.shape, value.dtype
    except AttributeError:
        return (), type(value)


class Step:
    """How the reverse pass handles one kind of record: a rule together with the inputs that are being differentiated."""

    __slots__ = ("active", "back", "owns", "parts", "plain", "rule", "single", "title", "view")

    def __init__(
        self,
        rule: Rule | None,
        active: tuple[str, ...],
        back: Callable[..., Any],
        parts: list[Any],
        owns: bool = False,
        single: bool = True,
    ) -> None:
        self.rule = rule
        self.active = active
        self.back = back  # (ct, record) -> cotangent, or one per parent
        self.parts = parts  # (input, (ct, record, made) -> cotangent) one at a time, for the recorder
        self.owns = owns
        self.single = single and len(active) == 1
        self.plain = self.single and not owns and (rule is None or not rule.view)
        self.title = "" if rule is None else f"{rule.name} › {', '.join(active)}"
        self.view = (
            rule is not None and rule.view and rule.function is not np.broadcast_to
        )  # whose result is no place to add to


STEPS: list[Step] = [Step(None, (), lambda ct, record: (), [])]


class Variant(NamedTuple):
    keep: Callable[..., tuple[Any, ...]]  # (parents, out, *arguments) -> record
    code: int
    saves: int  # bits: 1 the first argument, 2 the second, 4 the output
    slots: tuple[str, ...]  # what the record holds after step and parents, as source text


class Rule:
    """A function that can be differentiated. Calling it computes; on `Array` arguments it is recorded on their tape.

    Parameters
    ----------
    function : the computation on plain arrays
    signature : its parameters as source text, where `inspect.signature` cannot tell
    name : how it is called in traces; default ``function.__name__``
    constant : parameters that may hold traced arrays although the result does not depend on them smoothly
    view : the result may share memory with the first input
    elementwise : inputs broadcast against each other; the engine sums cotangents back to the input's shape
    linear : "each" (linear in every differentiable input taken alone), "joint" (in all of them together), or None
    sequence : the parameter that holds a list of arrays
    outputs : True if the function returns a tuple of arrays
    """

    __slots__ = (
        "bind",
        "constant",
        "elementwise",
        "foreign",
        "function",
        "inputs",
        "joint",
        "linear",
        "name",
        "outputs",
        "parameters",
        "positions",
        "pullbacks",
        "run",
        "sequence",
        "slopes",
        "straight",
        "variants",
        "view",
    )  # fmt: skip

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        signature: str | None = None,
        name: str | None = None,
        constant: Iterable[str] = (),
        view: bool = False,
        elementwise: bool = False,
        linear: str | None = None,
        sequence: str | None = None,
        outputs: bool = False,
    ) -> None:
        self.function = function
        self.name = name or getattr(function, "__name__", str(function))
        self.constant = frozenset(constant)
        self.view, self.elementwise, self.linear = view, elementwise, linear
        self.sequence, self.outputs = sequence, outputs
        self.straight = (
            elementwise and not outputs and function is not np.absolute
        )  # one result, of the dtype of its operand
        self.pullbacks: dict[str, Callable[..., Any]] = {}
        self.joint: dict[str, tuple[str, ...]] = {}  # input -> the inputs whose cotangents one pullback makes together
        self.foreign = not getattr(function, "__module__", "").startswith(("numpy", "gradviz", "scipy", "_operator"))
        self.slopes: dict[str, Callable[..., Any]] = {}
        self.variants: dict[Any, Variant] = {}
        self.parameters, self.bind, self.run = _binder(function, signature)
        self.inputs: tuple[str, ...] = ()
        self.positions: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return (
            f"<rule {self.name}({', '.join(self.parameters)}) differentiable in {', '.join(self.inputs) or 'nothing'}>"
        )

    def pullback(self, *targets: Any) -> Any:
        """Add a pullback, as a decorator.

        ``@f.pullback`` takes the input from the function's name, which ends in ``_to_<input>``. ``@f.pullback("x", "y")`` is one that
        returns the cotangents of several inputs together; all are computed even if only one is wanted, so prefer one each.
        """
        if targets and callable(targets[0]):
            return self._named(targets[0])

        def enter(function: Callable[..., Any]) -> Callable[..., Any]:
            unknown = [target for target in targets if target not in self.parameters]
            if unknown or not targets:
                raise RuleError(
                    f"{self.name!r} has no input {', '.join(map(repr, unknown))}; it has {', '.join(self.parameters)}"
                )
            for target in targets:
                self._add(target, function)
                if len(targets) > 1:
                    self.joint[target] = targets
            return function

        return enter

    def _named(self, function: Callable[..., Any]) -> Callable[..., Any]:
        _, arrow, target = function.__name__.rpartition("_to_")
        if not arrow or target not in self.parameters:
            raise RuleError(
                f"the pullback {function.__name__!r} of {self.name!r} must be named '..._to_<input>' for one of its parameters"
                f" {', '.join(self.parameters)}"
            )
        self._add(target, function)
        return function

    def _add(self, target: str, function: Callable[..., Any]) -> None:
        self.pullbacks[target] = function
        self.inputs = tuple(name for name in self.parameters if name in self.pullbacks)
        self.positions = tuple(self.parameters.index(name) for name in self.inputs)
        self.variants.clear()

    def reads(self, target: str) -> tuple[str, ...]:
        """The names a pullback reads, checked against the signature."""
        names = tuple(inspect.signature(self.pullbacks[target]).parameters)
        for name in names:
            known = (
                name in ("ct", "ct_owned", "out", "k")
                or name in self.parameters
                or (name.endswith("_like") and name[:-5] in self.parameters)
                or (name.startswith("ct_") and name[3:] in self.pullbacks)
            )
            if not known:
                raise RuleError(
                    f"the pullback of {self.name!r} with respect to {target!r} reads {name!r}, which is none of: ct, ct_owned, out, "
                    f"{', '.join(self.parameters)}, <input>_like, ct_<input>"
                )
        return names

    def variant(self, key: Any) -> Variant:
        """The record maker and reverse step for ``key = (active inputs, whether cotangents must be fitted)``; made at first use."""
        found = self.variants.get(key)
        if found is None:
            found = self.variants[key] = _compile(self, *key)
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from gradviz.engine.call import call  # the one upward look: a user's rule is called like the function it wraps

        return call(self, self.bind(*args, **kwargs))


def rule(function: Any = None, *pullbacks: Callable[..., Any], **options: Any) -> Any:
    """Make a function differentiable, by pullbacks of your own.

    Used on a NumPy function, ``rule(np.multiply, multiply_to_x, multiply_to_y)`` enters it into the table. Used as a decorator it
    returns a callable `Rule` to which pullbacks are added:

    >>> import numpy as np, gradviz as gv
    >>> @gv.rule
    ... def cube(x):
    ...     return x**3
    >>> @cube.pullback
    ... def cube_to_x(ct, x):
    ...     return 3 * ct * x**2
    >>> gv.grad(cube)(2.0)
    12.0

    Options are those of `Rule`.
    """
    if function is None:
        return lambda function: rule(function, **options)
    made = Rule(function, **options)
    for pullback in pullbacks:
        made.pullback(pullback)
    if pullbacks or options.get("linear") is not None:
        RULES[function] = made
    return made


def composed(function: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Define what a NumPy function does to traced arrays in terms of other functions, which have rules."""

    def enter(definition: Callable[..., Any]) -> Callable[..., Any]:
        COMPOSED[function] = definition
        parameters = inspect.signature(definition).parameters
        if "out" in parameters and parameters["out"].kind is not inspect.Parameter.KEYWORD_ONLY:
            OUT_POSITION[function] = list(parameters).index("out")
        return definition

    return enter


def no_gradient(*functions: Any) -> None:
    """Functions whose derivative is zero wherever it exists: they see plain values and give plain values."""
    NO_GRADIENT.update(functions)


def _binder(
    function: Callable[..., Any], signature: str | None
) -> tuple[tuple[str, ...], Callable[..., Any], Callable[..., Any]]:
    """Parameter names, ``bind(*args, **kwargs) -> arguments in order``, and ``run(*arguments) -> result``.

    Python binds arguments ten times faster than `inspect.Signature.bind` (0.2 against 3 µs), so both are compiled from the text.
    """
    space: dict[str, Any] = {"function": function}
    if signature is None:
        parameters = inspect.signature(function).parameters.values()
        parts, bare, star = [], [], False
        for p in parameters:
            if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
                raise RuleError(f"the rule for {function!r} needs an explicit signature: it takes *args or **kwargs")
            if p.kind is p.KEYWORD_ONLY and not star:
                parts.append("*")
                star = True
            if p.default is p.empty:
                parts.append(p.name)
            else:
                space["default_" + p.name] = p.default
                parts.append(f"{p.name}=default_{p.name}")
            bare.append((p.name, p.kind is p.KEYWORD_ONLY))
        signature = ", ".join(parts)
    else:
        space["np"] = np
        probe = eval(f"lambda {signature}: None", space)  # noqa: S307 - source is the rule author's own
        bare = [(p.name, p.kind is p.KEYWORD_ONLY) for p in inspect.signature(probe).parameters.values()]
    names = tuple(name for name, _ in bare)
    together = ", ".join(names) + ("," if len(names) == 1 else "")
    passed = ", ".join(f"{name}={name}" if keyword_only else name for name, keyword_only in bare)
    bind = eval(f"lambda {signature}: ({together})", space)  # noqa: S307
    run = eval(f"lambda {', '.join(names)}: function({passed})", space)  # noqa: S307
    return names, bind, run


def _compile(rule: Rule, active: tuple[str, ...], fitted: bool) -> Variant:
    """Write the straight-line code that records and reverses one combination of differentiated inputs.

    Generic code (loops over slots, star-calls) costs 0.6 µs per call more, a third of what a small operation costs in all.
    """
    from gradviz.engine.cotangent import fit, own

    space: dict[str, Any] = {"like": like, "Like": Like, "fit": fit, "own": own}
    slots: list[str] = []
    if rule.view:
        slots += [
            "(" + ", ".join(rule.parameters[1:]) + ",)" if len(rule.parameters) > 1 else "()",
            f"like({rule.parameters[0]})",
        ]

    def slot(expression: str) -> str:
        if expression not in slots:
            slots.append(expression)
        return f"record[{2 + slots.index(expression)}]"

    def argument(name: str) -> str:
        if name in ("ct", "ct_owned"):
            return "ct"
        if name == "k" and rule.sequence is not None:
            return "k"
        if name.startswith("ct_") and name not in rule.parameters:
            return name
        if name.endswith("_like") and name not in rule.parameters:
            base = name[:-5]
            if base == rule.sequence:
                return slot(f"[like(v) for v in {base}]").join(("[Like(*v) for v in ", "]"))
            return f"Like(*{slot(f'like({base})')})"
        return slot(name)

    def together(target: str) -> str:
        """Source that runs the pullback of several inputs and takes its results apart."""
        group = rule.joint[target]
        space["to_" + group[0]] = rule.pullbacks[target]
        made = ", ".join("ct_" + name for name in group)
        text = f"{made} = to_{group[0]}({', '.join(argument(name) for name in rule.reads(target))})"
        fits = [f"ct_{name} = fit(ct_{name}, {slot(f'like({name})')})" for name in group if fitted and name in active]
        return "\n    ".join([text, *fits])

    def assignment(target: str) -> str:
        return together(target) if target in rule.joint else f"ct_{target} = {expression(target)}"

    def expression(target: str) -> str:
        space["to_" + target] = rule.pullbacks[target]
        text = f"to_{target}({', '.join(argument(name) for name in rule.reads(target))})"
        if target == rule.sequence:
            picked = f"{slot('positions')}"
            item = f"fit({text}, {slot(f'[like(v) for v in {target}]')}[k])" if fitted else text
            return f"[{item} for k in {picked}]"
        return f"fit({text}, {slot(f'like({target})')})" if fitted else text

    order = sorted(active, key=lambda target: "ct_owned" in rule.reads(target))
    needed: list[str] = []
    for target in order:
        needed += [
            n[3:] for n in rule.reads(target) if n.startswith("ct_") and n[3:] in rule.pullbacks and n[3:] not in needed
        ]
    sequence = active == (rule.sequence,)
    order = [*needed, *(target for target in order if target not in needed)]
    order = [
        target
        for target in order
        if target == next((t for t in order if t in rule.joint.get(target, (target,))), target)
    ]
    lines = [assignment(target) for target in order]
    results = ", ".join(f"ct_{target}" for target in active)
    if len(order) == 1 and order[0] not in rule.joint:
        lines, results = [], expression(order[0])
    exec("def back(ct, record):\n    " + "\n    ".join([*lines, f"return {results}"]), space)  # noqa: S102
    parts = []
    for target in order:
        reads = [f"ct_{n} = made[{n!r}]" for n in needed if f"ct_{n}" in rule.reads(target)]
        keeps = [f"made[{name!r}] = ct_{name}" for name in rule.joint.get(target, (target,))]
        exec("def part(ct, record, made):\n    " + "\n    ".join([*reads, assignment(target), *keeps]), space)  # noqa: S102
        parts.append((target, space["part"]))
    code = len(STEPS)
    arguments = ", ".join("out_option" if name == "out" else name for name in rule.parameters)
    extra = ", positions=()" if rule.sequence else ""
    keep = (
        f"def keep(parents, out, {arguments}{extra}):\n    return ({code}, parents, {''.join(s + ', ' for s in slots)})"
    )
    exec(keep, space)  # noqa: S102
    step = Step(
        rule, active, space["back"], parts, owns=any("ct_owned" in rule.reads(t) for t in active), single=not sequence
    )
    STEPS.append(step)
    saves = sum(
        bit
        for bit, name in zip((1, 2, 4), (*rule.parameters[:2], *[""] * (2 - len(rule.parameters)), "out"), strict=False)
        if name in slots
    )
    return Variant(space["keep"], code, saves, tuple(slots))
