"""The code that records and reverses one rule for one combination of differentiated inputs, written at its first use.

Generic code (loops over slots, star-calls) costs 0.6 µs per call more, a third of what a small operation costs in all. Written out,
a multiplication of two differentiated arrays is

    def keep(parents, out, x, y):
        return (4, parents, y, x)

    def back(ct, record):
        ct_x = to_x(ct, record[2])
        ct_y = to_y(ct, record[3])
        return ct_x, ct_y
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gradviz.engine.cotangent import fit
from gradviz.engine.like import Like, like
from gradviz.engine.step import STEPS, Step
from gradviz.errors import RuleError

if TYPE_CHECKING:
    from gradviz.engine.rule import Rule


class Variant(NamedTuple):
    keep: Callable[..., tuple[Any, ...]]  # (parents, out, *arguments) -> record
    code: int
    saves: int  # bits: 1 the first argument, 2 the second, 4 the output
    slots: tuple[str, ...]  # what the record holds after step and parents, as source text
    kept: tuple[int, ...]  # places of the arguments that the record holds as they are


def write_variant(rule: Rule, active: tuple[str, ...], fitted: bool) -> Variant:
    """The variant for which the inputs ``active`` are differentiated, with cotangents fitted to their shapes and dtypes or not."""
    writer = Writer(rule, active, fitted)
    back, parts = writer.back(), writer.parts()
    keep = writer.keep(len(STEPS))
    owns = any("ct_owned" in rule.reads(target) for target in active)
    step = Step(rule, active, back, parts, owns=owns, single=active != (rule.sequence,))
    step.each = writer.each()
    step.direct = writer.direct()
    STEPS.append(step)
    names = (*rule.parameters[:2], *[""] * (2 - len(rule.parameters)), "out")
    saves = sum(bit for bit, name in zip((1, 2, 4), names, strict=True) if name in writer.slots)
    kept = tuple(k for k, name in enumerate(rule.parameters) if name in writer.slots)
    return Variant(keep, len(STEPS) - 1, saves, tuple(writer.slots), kept)


def checked(ct: Any, want: tuple[tuple[int, ...], Any], name: str, target: str) -> Any:
    """What a user's pullback gave, if that can be the cotangent of its input."""
    if ct is None or np.shape(ct) != want[0]:
        gave = "None (is a return missing?)" if ct is None else f"an array of shape {np.shape(ct)}"
        raise RuleError(
            f"the pullback of {name!r} with respect to {target!r} gave {gave}, where the input has shape {want[0]}"
        )
    return ct


class Writer:
    """Writes the source of one variant. ``slots`` collects what the record must hold, as expressions of the arguments."""

    def __init__(self, rule: Rule, active: tuple[str, ...], fitted: bool) -> None:
        self.rule, self.active, self.fitted = rule, active, fitted
        self.space: dict[str, Any] = {"like": like, "Like": Like, "fit": fit, "checked": checked}
        self.slots: list[str] = []
        if rule.view:
            rest = "".join(f"{name}, " for name in rule.parameters[1:])
            self.slots += [f"({rest})", f"like({rule.parameters[0]})"]
        self.needed = self._needed()
        self.order = self._order()

    def back(self) -> Callable[..., Any]:
        """``(ct, record) -> cotangent``, or one for each active input."""
        if len(self.order) == 1 and self.order[0] not in self.rule.joint:
            lines = [f"return {self.expression(self.order[0])}"]
        else:
            lines = [self.assignment(target) for target in self.order]
            lines.append("return " + ", ".join(f"ct_{target}" for target in self.active))
        return self._define("back", "ct, record", lines)

    def parts(self) -> list[tuple[str, Callable[..., Any]]]:
        """The same one pullback at a time, for the recorder: (input, ``(ct, record, made)`` that enters its result into ``made``)."""
        parts = []
        for target in self.order:
            reads = [f"ct_{n} = made[{n!r}]" for n in self.needed if f"ct_{n}" in self.rule.reads(target)]
            enters = [f"made[{n!r}] = ct_{n}" for n in self.rule.joint.get(target, (target,))]
            parts.append((target, self._define("part", "ct, record, made", [*reads, self.assignment(target), *enters])))
        return parts

    def each(self) -> list[tuple[str, Callable[..., Any]]]:
        """(title, ``(ct, record) -> cotangent``) for each active input, if its pullbacks are ours and need nothing of each other."""
        rule = self.rule
        apart = not (self.needed or rule.joint or rule.foreign or rule.sequence in self.active)
        if not apart or any("ct_owned" in rule.reads(target) for target in self.active):
            return []
        sources = [(target, [f"return {self.expression(target)}"]) for target in self.active]
        return [(f"{rule.name} › {target}", self._define("one", "ct, record", lines)) for target, lines in sources]

    def direct(self) -> tuple[Any, ...] | None:
        """The one pullback and where its arguments stand, if nothing is done before or after it."""
        (target, *others), rule = self.order, self.rule
        plain = not (others or self.fitted or rule.foreign or rule.joint or target == rule.sequence)
        names = rule.reads(target)
        if not plain or not all(name in ("ct", "ct_owned") or name in self.slots for name in names):
            return None
        places = (0 if name in ("ct", "ct_owned") else 2 + self.slots.index(name) for name in names)
        return (rule.pullbacks[target], *places)

    def keep(self, code: int) -> Callable[..., tuple[Any, ...]]:
        """``(parents, out, *arguments) -> record``. Comes last: only then are all slots known."""
        arguments = ["out_option" if name == "out" else name for name in self.rule.parameters]
        arguments += ["positions=()"] * (self.rule.sequence is not None)
        record = "".join(f"{slot}, " for slot in self.slots)
        return self._define("keep", ", ".join(["parents", "out", *arguments]), [f"return ({code}, parents, {record})"])

    def assignment(self, target: str) -> str:
        """Source that binds ``ct_<target>``, for a joint pullback those of all its inputs."""
        group = self.rule.joint.get(target)
        if group is None:
            return f"ct_{target} = {self.expression(target)}"
        names = ", ".join(f"ct_{name}" for name in group)
        lines = [f"{names} = {self._call(target)}"]
        lines += [f"ct_{n} = {self._fit(f'ct_{n}', n)}" for n in group if n in self.active]
        return "\n    ".join(lines)

    def expression(self, target: str) -> str:
        """Source of one input's cotangent."""
        if target != self.rule.sequence:
            return self._fit(self._call(target), target)
        positions = self._slot("positions")
        item = self._call(target)
        if self.fitted:
            item = f"fit({item}, {self._slot(f'[like(v) for v in {target}]')}[k])"
        return f"[{item} for k in {positions}]"

    def _call(self, target: str) -> str:
        rule = self.rule
        self.space["to_" + target] = rule.pullbacks[target]
        last = target == self.order[-1] and target != rule.sequence
        reads = [
            "ct.copy()" if name == "ct_owned" and not last else self._argument(name) for name in rule.reads(target)
        ]
        text = f"to_{target}({', '.join(reads)})"
        if rule.foreign and not rule.elementwise and target not in rule.joint and target != rule.sequence:
            text = f"checked({text}, {self._slot(f'like({target})')}, {rule.name!r}, {target!r})"
        return text

    def _fit(self, text: str, target: str) -> str:
        return f"fit({text}, {self._slot(f'like({target})')})" if self.fitted else text

    def _argument(self, name: str) -> str:
        """How a pullback's parameter is read from the record."""
        rule = self.rule
        if name in ("ct", "ct_owned"):
            return "ct"
        if name in rule.parameters or name == "out":
            return self._slot(name)
        if name == "k" or name.startswith("ct_"):
            return name
        base = name.removesuffix("_like")
        if base == rule.sequence:
            return f"[Like(*v) for v in {self._slot(f'[like(v) for v in {base}]')}]"
        return f"Like(*{self._slot(f'like({base})')})"

    def _slot(self, expression: str) -> str:
        if expression not in self.slots:
            self.slots.append(expression)
        return f"record[{2 + self.slots.index(expression)}]"

    def _needed(self) -> list[str]:
        """Inputs whose cotangents other pullbacks read."""
        rule = self.rule
        reads = [name[3:] for target in self.active for name in rule.reads(target) if name.startswith("ct_")]
        return list(dict.fromkeys(name for name in reads if name in rule.pullbacks))

    def _order(self) -> list[str]:
        """In which order pullbacks run: those others read first, those that overwrite the cotangent last, joint ones once."""
        rest = sorted(self.active, key=lambda target: "ct_owned" in self.rule.reads(target))
        order = [*self.needed, *(target for target in rest if target not in self.needed)]
        firsts: dict[tuple[str, ...], str] = {}
        for target in order:
            firsts.setdefault(self.rule.joint.get(target, (target,)), target)
        return list(firsts.values())

    def _define(self, name: str, parameters: str, lines: list[str]) -> Callable[..., Any]:
        exec(f"def {name}({parameters}):\n    " + "\n    ".join(lines), self.space)  # noqa: S102
        return self.space[name]
