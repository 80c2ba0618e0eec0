"""Forward mode: tangents carried along with values, by the same rules.

An elementwise function multiplies the tangent by its slope, a linear one is applied to the tangent itself. Any other rule knows only
its pullback; that is linear in the cotangent, so its own pullback is the tangent map we want (transposing twice).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradviz.engine.array import Array, View, bottom, can_be_shared, snapshot
from gradviz.engine.backward import backward
from gradviz.engine.batch import Batch, as_batch, counts, joined, near, rows_of
from gradviz.engine.call import below, looks_at, nested, not_differentiable, stacked
from gradviz.engine.cotangent import Indexed, Owned, lifted, owned, zeros
from gradviz.engine.like import like
from gradviz.engine.mutate import Views, axes_by_stride, store_below
from gradviz.engine.rule import Rule
from gradviz.engine.step import STEPS
from gradviz.engine.tape import Tape, new_level


class Forward:
    """One run under forward mode. An `Array` on it holds its tangent where one on a tape holds its variable."""

    quick = False
    log = ()

    def __init__(self, recorder: Any = None) -> None:
        self.level = new_level()
        self.recorder = recorder
        self.open = True
        self.count = 0  # how many directions the tangents have, if they are batches
        self.inputs: list[Any] = []

    def finish(self) -> None:
        """The run is over: using an array of this level is an error from now on."""
        self.open = False

    def input(self, value: Any, tangent: Any) -> Array:
        value = snapshot(value)
        self.inputs.append(value)
        if isinstance(tangent, Batch):
            self.count = tangent.count
            return Array(value, self, snapshot(tangent))
        return Array(value, self, lifted(snapshot(tangent), bottom(value)))

    def is_foreign(self, root: Array) -> bool:
        return any(root.value is value for value in self.inputs)

    def call(self, rule: Rule, arguments: tuple[Any, ...]) -> Any:
        """Compute a function and the tangent of its output."""
        arguments = tuple(
            stacked(value)
            if type(value) in (list, tuple) and name in rule.pullbacks and name != rule.sequence and nested(value)
            else value
            for name, value in zip(rule.parameters, arguments, strict=True)
        )
        values = [below(value, self.level) for value in arguments]
        for k, name in enumerate(rule.parameters):
            if type(values[k]) in (list, tuple) and name in rule.pullbacks and name != rule.sequence:
                values[k] = np.asarray(values[k])
        tangents: dict[str, Any] = {}
        for name, value in zip(rule.parameters, arguments, strict=True):
            if isinstance(value, Array) and value.tape is self:
                if name in rule.pullbacks:
                    tangents[name] = value.index
                elif name not in rule.constant and (rule.inputs or rule.foreign):
                    raise not_differentiable(rule, name)
            elif name == rule.sequence and any(isinstance(item, Array) and item.tape is self for item in value):
                tangents[name] = [
                    item.index if isinstance(item, Array) and item.tape is self else None for item in value
                ]
        recorder: Any = None if nested(values) else self.recorder
        out = rule.run(*values) if recorder is None else recorder.call(rule.name, rule.run, values)
        if not tangents:
            return out
        if recorder is not None:
            number = recorder.last
            tangent = recorder.call(f"{rule.name} › tangent", tangent_of, (rule, values, out, tangents))
            recorder.last = number
        else:
            tangent = tangent_of(rule, values, out, tangents)
        if rule.outputs and isinstance(out, (tuple, list)):
            made = [o if t is None else Array(o, self, t) for o, t in zip(out, tangent, strict=True)]
            return type(out)(*made) if hasattr(out, "_fields") else type(out)(made)
        if rule.view and isinstance(arguments[0], Array) and looks_at(out, values[0]):
            return View(out, self, tangent, arguments[0], (rule, tuple(values[1:])))
        return Array(out, self, tangent)

    def zeros_like(self, value: Any) -> Any:
        """A tangent of zeros, laid out as the value is."""
        return near(value, self.count) if self.count and isinstance(value, np.ndarray) else np.zeros_like(value)

    def store(self, root: Array, views: Views, value: Any) -> None:
        """A write: the tangent is written where the value is."""
        inner = below(value, self.level)
        mine = root.tape is self
        lower = root.value if mine or root.tape is None else Array(root.value, root.tape, root.index)
        tangent = root.index if mine else self.zeros_like(lower)
        if self.count and not isinstance(tangent, Batch):
            tangent = as_batch(tangent, self.count)
        arriving = value.index if isinstance(value, Array) and value.tape is self else 0
        foreign = self.is_foreign(root) if mine else root.tape is not None
        if np.iscomplexobj(arriving) and not np.iscomplexobj(tangent):  # as NumPy does, and says, of the value
            arriving = arriving.real
        shared = not owned(tangent, 1) if mine else False
        if mine and not (can_be_shared(tangent) and axes_by_stride(tangent) == axes_by_stride(lower)):  # other views
            alike = self.zeros_like(lower)
            alike[...] = tangent
            tangent, shared = alike, False
        root.value = store_below(lower, views, inner, foreign, None)
        written = store_below(tangent, views, arriving, shared, None)
        root.tape, root.index = self, written if isinstance(written, Array) else written[...]


def tangent_of(rule: Rule, values: list[Any], out: Any, tangents: dict[str, Any]) -> Any:
    """The tangent of ``out``, from those of some inputs."""
    with np.errstate(all="ignore"):  # as in the reverse pass: what a slope does where nothing flows concerns nobody
        count = counts(list(tangents.values()))
        if not count:
            return _tangent_of(rule, values, out, tangents)
        try:
            made = _tangent_of(rule, values, out, tangents)
        except Exception:  # noqa: BLE001 - whatever it is, single rows show whether it is the program's fault
            rows = [
                _tangent_of(rule, values, out, {name: rows_of(tangent, k) for name, tangent in tangents.items()})
                for k in range(count)
            ]
            return joined(rows)
        return (
            type(made)(as_batch(t, count) for t in made) if isinstance(made, (list, tuple)) else as_batch(made, count)
        )


def _tangent_of(rule: Rule, values: list[Any], out: Any, tangents: dict[str, Any]) -> Any:
    if rule.slopes:
        return _along_slopes(rule, tangents, dict(zip(rule.parameters, values, strict=True), out=out))
    if rule.linear == "each" and rule.sequence is None:
        return shaped(
            sum_of([rule.run(*_with(rule, values, {name: tangent})) for name, tangent in tangents.items()]), out
        )
    if rule.linear == "joint":
        filled = {
            name: _filled(tangents.get(name), values[position])
            for name, position in zip(rule.inputs, rule.positions, strict=True)
        }
        return shaped(rule.run(*_with(rule, values, filled)), out)
    return transposed_twice(rule, values, out, tangents)


def sum_of(terms: list[Any]) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def shaped(tangent: Any, out: Any) -> Any:
    """A tangent has the shape of its value, and is real where that is."""
    if isinstance(out, (tuple, list)):
        return tangent
    if np.shape(tangent) != np.shape(out):
        tangent = np.broadcast_to(tangent, np.shape(out))
    if (
        getattr(tangent, "dtype", None) != getattr(out, "dtype", None)
        and hasattr(tangent, "dtype")
        and hasattr(out, "dtype")
    ):
        tangent = (np.real(tangent) if out.dtype.kind != "c" and tangent.dtype.kind == "c" else tangent).astype(
            out.dtype
        )
    return tangent


def _along_slopes(rule: Rule, tangents: dict[str, Any], known: dict[str, Any]) -> Any:
    """The tangent of an elementwise function, or those of its several outputs, from its slopes and all that is known of the call."""
    slopes = [_slope(rule.slopes[name], known) for name in tangents]
    if not rule.outputs:
        return _total(list(tangents.values()), slopes, known["out"])
    return [
        _total(list(tangents.values()), of_output, out)
        for of_output, out in zip(zip(*slopes, strict=True), known["out"], strict=True)
    ]


def _slope(slope: Any, known: dict[str, Any]) -> Any:
    return slope(*(known[read] for read in inspect.signature(slope).parameters))


def _total(tangents: list[Any], slopes: Sequence[Any], out: Any) -> Any:
    return shaped(sum_of([_product(tangent, slope) for tangent, slope in zip(tangents, slopes, strict=True)]), out)


def _product(tangent: Any, slope: Any) -> Any:
    product = tangent * slope
    return np.where(tangent == 0, np.zeros_like(product), product)


def _with(rule: Rule, values: list[Any], replaced: dict[str, Any]) -> list[Any]:
    return [replaced.get(name, value) for name, value in zip(rule.parameters, values, strict=True)]


def _filled(tangent: Any, value: Any) -> Any:
    if type(value) in (list, tuple):
        return [_filled(t, v) for t, v in zip(tangent or [None] * len(value), value, strict=True)]
    return np.zeros_like(value) if tangent is None else tangent


def transposed_twice(rule: Rule, values: list[Any], out: Any, tangents: dict[str, Any]) -> Any:
    """The tangent map as the pullback of the pullback, which is linear in its cotangent."""
    tape = Tape()
    several = rule.outputs and isinstance(out, (tuple, list))
    outs = list(out) if several else [out]
    flowing = [k for k, o in enumerate(outs) if getattr(o, "dtype", np.dtype(float)).kind in "fc"]
    # Decompositions refuse cotangents that depend on a choice of vectors; zero does not.
    probe = np.zeros_like if several else np.ones_like
    probes: list[Any] = [Array(probe(o), tape, tape.leaf()) if k in flowing else None for k, o in enumerate(outs)]
    active = tuple(tangents)
    variant = rule.variant((active, True))
    if active == (rule.sequence,):
        positions = tuple(k for k, t in enumerate(tangents[active[0]]) if t is not None)
        record = variant.keep(positions, out, *values, positions=positions)
        arriving = [tangents[active[0]][k] for k in positions]
    else:
        record = variant.keep(0, out, *values)
        arriving = [tangents[name] for name in active]
    pulled = STEPS[variant.code].back(tuple(probes) if several else probes[0], record)
    pulled = [pulled] if STEPS[variant.code].single else list(pulled)
    seeds = []
    for cotangent, tangent in zip(pulled, arriving, strict=True):
        if type(cotangent) is Indexed or type(cotangent) is Owned:
            cotangent = cotangent.dense()
        if isinstance(cotangent, Array) and cotangent.tape is tape:
            tangent = tangent if hasattr(tangent, "dtype") else np.asarray(tangent)[()]
            seeds.append((cotangent.index, lifted(tangent, cotangent.value)))
    cts = backward(tape, seeds, free=True)
    made = []
    for k, o in enumerate(outs):
        if k not in flowing:
            made.append(None)
            continue
        ct = cts[flowing.index(k)]
        ct = zeros(like(o), o) if ct is None else ct.dense() if type(ct) is Indexed or type(ct) is Owned else ct
        made.append(ct)
    tape.close()
    return made if several else made[0]


def tangent_below(array: Any, level: Forward) -> Any:
    """The tangent of a result, in memory of its own; None where it does not depend on the inputs."""
    if not isinstance(array, Array) or array.tape is not level:
        return None
    tangent = array.index
    return tangent.copy() if can_be_shared(tangent) and not owned(tangent, 1) else tangent


def value_below(array: Any, level: Forward) -> Any:
    """A result as the caller sees it, in memory of its own."""
    if not isinstance(array, Array) or array.tape is not level:
        return array
    value = array.value
    return value.copy() if can_be_shared(value) and not owned(value, 1) else value
