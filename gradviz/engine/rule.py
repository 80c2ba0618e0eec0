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
from threading import RLock
from typing import TYPE_CHECKING, Any

from gradviz.engine.cotangent import memory_of
from gradviz.engine.like import Like
from gradviz.engine.signature import binder
from gradviz.engine.variant import Variant, write_variant
from gradviz.errors import RuleError

__all__ = [
    "COMPOSED",
    "CREATING",
    "NO_GRADIENT",
    "OUT_POSITION",
    "RULES",
    "Like",
    "Rule",
    "composed",
    "no_gradient",
    "rule",
]

KNOWN = ("numpy", "gradviz.engine", "gradviz.rules", "scipy", "_operator")

WRITING = RLock()  # held while a variant is written
RULES: dict[Any, Rule] = {}
COMPOSED: dict[Any, Callable[..., Any]] = {}  # functions given in terms of other functions
OUT_POSITION: dict[Any, int] = {}  # where a composed function takes ``out``, which the engine fills, not the definition
CREATING: dict[Any, Callable[..., Any]] = {}  # functions that make a new array near the first argument
NO_GRADIENT: set[Any] = set()  # functions through which nothing flows: comparisons, rounding, index searches


def apart(run: Callable[..., Any]) -> Callable[..., Any]:
    """A user's function, whose results are copied where they share memory with an argument: writes must not reach that."""

    def copied(out: Any, arguments: tuple[Any, ...]) -> Any:
        if type(out) in (list, tuple):
            return type(out)(copied(item, arguments) for item in out)
        shares = hasattr(out, "strides") and any(
            memory_of(out) is memory_of(a) for a in arguments if hasattr(a, "strides")
        )
        return out.copy() if shares else out

    return lambda *arguments: copied(run(*arguments), arguments)


def keeps_kind(function: Any) -> bool:
    """Whether real numbers stay real and complex ones complex: not so in `numpy.absolute` or `scipy.special.wofz`."""
    types = getattr(function, "types", ())
    return not types or ("D->d" not in types and any(set(loop) <= set("d->") for loop in types))


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
        "pair",
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
        self.view, self.elementwise, self.linear = bool(view), bool(elementwise), linear
        self.sequence, self.outputs = sequence, bool(outputs)
        # one result, of the dtype of its operand: may take the paths of gradviz.engine.straight
        self.straight = elementwise and not outputs and keeps_kind(function)
        self.pullbacks: dict[str, Callable[..., Any]] = {}
        self.joint: dict[str, tuple[str, ...]] = {}  # input -> the inputs whose cotangents one pullback makes together
        self.foreign = not getattr(function, "__module__", "").startswith(KNOWN)  # a user's own rule
        self.slopes: dict[str, Callable[..., Any]] = {}
        self.variants: dict[Any, Variant] = {}
        self.parameters, self.bind, self.run = binder(function, signature)
        if self.foreign and not view:
            self.run = apart(self.run)
        self.inputs: tuple[str, ...] = ()
        self.positions: tuple[int, ...] = ()
        self.pair = False

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
        self.pair = (
            self.inputs == self.parameters
            and len(self.inputs) == 2
            and not (self.elementwise or self.outputs or self.sequence)
        )
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
            with WRITING:  # the number of a step is its place in a list that all threads share
                found = self.variants.get(key) or self.variants.setdefault(key, write_variant(self, *key))
        return found

    if TYPE_CHECKING:  # put here by gradviz.engine.call, which knows how

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


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
