"""How the rows of a program are written anew, with stretches replaced by loops."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradviz.plan.program.loop import Body, Carry, Count, Listed, Out, Same
from gradviz.plan.program.operation import Items, Meta, Operation, Slot, meta_of, pick, take, take_number
from gradviz.plan.program.program import Program, Rows
from gradviz.plan.reroll.stretch import Column, Entry, Gathered, Stretch, sort, told


class Rolling:
    """Writes the rows of a program anew, with stretches replaced by loops."""

    def __init__(self, program: Program, numbers: np.ndarray, stretches: list[Stretch]) -> None:
        self.program, self.numbers = program, numbers
        self.stretches = sorted(stretches, key=lambda s: s.first)
        self.families: dict[Any, list[Stretch]] = {}
        for stretch in self.stretches:
            self.families.setdefault(self._family(stretch), []).append(stretch)
        self.operations = list(program.operations)
        self.constants = list(program.constants)
        self.found: dict[Any, int] = {
            (made.function, made.args, made.meta): code
            for code, made in enumerate(self.operations)
            if isinstance(made.function, Body) or made.function in (pick, take, take_number)
        }
        count = len(program.rows)
        self.new = np.full(count, -1, np.int64)  # old number -> new; -1 - k: entry of stack k
        self.entry = np.zeros(count, np.int64)  # which entry of the stack
        self.stacks: list[tuple[int, int]] = []  # (number, operation that takes an entry of it)
        self.codes: list[np.ndarray] = []
        self.operands: list[np.ndarray] = []
        self.lengths: list[np.ndarray] = []
        self.made = 0

    def result(self) -> Program:
        at = 0
        for stretch in self.stretches:
            self._copy(at, stretch.first)
            self._loop(stretch)
            at = stretch.end
        self._copy(at, len(self.program.rows))
        outputs = tuple(n if n < 0 else self._single(n) for n in self.program.outputs)
        lengths = np.concatenate(self.lengths)
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = Rows(np.concatenate(self.codes), np.concatenate(self.operands), starts)
        return Program(self.operations, rows, self.constants, self.program.inputs, outputs)

    # rows that stay

    def _copy(self, begin: int, end: int) -> None:
        """Rows as they were, with their operands renumbered; entries of stacks are taken just before the row that reads them."""
        rows = self.program.rows
        lo, hi = rows.starts[begin], rows.starts[end]
        if begin == end:
            return
        numbers, operands = self.numbers[lo:hi], rows.operands[lo:hi].copy()
        lengths = np.diff(rows.starts[begin : end + 1])
        owners = np.repeat(np.arange(end - begin), lengths)
        outer = (numbers >= 0) & (numbers < begin)
        known = np.where(outer, self.new[np.where(outer, numbers, 0)], 0)
        takes = np.flatnonzero(outer & (known < 0))
        before = np.cumsum(np.bincount(owners[takes], minlength=end - begin))  # entries taken up to and for each row
        self.new[begin:end] = self.made + np.arange(end - begin) + before
        valued = numbers >= 0
        operands[valued] = self.new[numbers[valued]]
        at = owners[takes] + np.arange(len(takes))
        operands[takes] = self.made + at
        total = end - begin + len(takes)
        places = np.arange(end - begin) + before
        codes, sizes = np.empty(total, np.int64), np.empty(total, np.int64)
        codes[places], sizes[places] = rows.codes[begin:end], lengths
        stacks = -1 - known[takes]
        table = np.array(self.stacks or [(0, 0)], np.int64)
        codes[at], sizes[at] = table[stacks, 1], 2
        starts = np.concatenate([[0], np.cumsum(sizes)])
        out = np.empty(int(starts[-1]), np.int64)
        out[
            np.repeat(starts[places], lengths) + np.arange(hi - lo) - np.repeat(rows.starts[begin:end] - lo, lengths)
        ] = operands
        out[starts[at]], out[starts[at] + 1] = table[stacks, 0], self.entry[numbers[takes]]
        self._append(codes, out, sizes)

    def _append(self, codes: Any, operands: Any, lengths: Any) -> None:
        self.codes.append(np.asarray(codes, np.int64))
        self.operands.append(np.asarray(operands, np.int64))
        self.lengths.append(np.asarray(lengths, np.int64))
        self.made += len(self.codes[-1])

    def _row(self, code: int, *operands: int) -> int:
        self._append([code], operands, [len(operands)])
        return self.made - 1

    def _single(self, old: int) -> int:
        """The new number of one value."""
        if old < 0 or self.new[old] >= 0:
            return old if old < 0 else int(self.new[old])
        number, code = self.stacks[-1 - int(self.new[old])]
        return self._row(code, number, int(self.entry[old]))

    # loops

    def operation(self, function: Any, args: Any, meta: Any, integers: tuple[bool, ...], site: Any = None) -> int:
        """The code of an operation that rolling needs."""
        code = self.found.get((function, args, meta))
        if code is None:
            code = self.found[function, args, meta] = len(self.operations)
            self.operations.append(Operation(code, function, args, (), meta, integers, function is take, site))
        return code

    def entry_operation(self, meta: Meta) -> int:
        """Taking one entry of a stack of such values."""
        function = take_number if meta.kind == "weak" else take
        return self.operation(function, (Slot(0), Slot(1, True)), meta, (False, True))

    def constant(self, value: np.ndarray) -> int:
        """The number of an array of numbers that rolling needs."""
        key = told(value)
        if key not in self.found:
            self.constants.append(value.copy())
            self.found[key] = -len(self.constants)
        return self.found[key]

    def _family(self, stretch: Stretch) -> Any:
        """What the loops have in common that can be the same but for numbers."""
        codes = self.program.rows.codes[stretch.first : stretch.first + stretch.period]
        return stretch.count, codes.tobytes(), tuple(tuple(sort(*column) for column in row) for row in stretch.columns)

    def _loop(self, stretch: Stretch) -> None:
        wanted = self._wanted(stretch)
        body, operands, integers = Writing(self, stretch, self.families[self._family(stretch)]).body(wanted)
        metas = tuple(
            stacked(self._meta(stretch, slot), stretch.count) if many else self._meta(stretch, slot)
            for slot, many in wanted
        )
        site = next((s for row in body.rows if (s := self.operations[row[0]].site) is not None), None)
        args = tuple(Slot(k, whole) for k, whole in enumerate(integers))
        outer = [o if whole else self._outer(o) for o, whole in zip(operands, integers, strict=True)]
        loop = self._row(self.operation(body, args, metas, tuple(integers), site), *outer)
        for k, (slot, many) in enumerate(wanted):
            number = self._row(self.operation(pick, (Slot(0), k), metas[k], (False,)), loop)
            made = stretch.first + slot + stretch.period * np.arange(stretch.count)
            if many:
                self.stacks.append((number, self.entry_operation(self._meta(stretch, slot))))
                self.new[made] = -len(self.stacks)
                self.entry[made] = np.arange(stretch.count)
            else:
                self.new[made[-1]] = number

    def _outer(self, operand: Any) -> int:
        """The new number of what a loop reads from outside."""
        if not isinstance(operand, Gathered):
            return self._single(operand)
        numbers = [self._single(n) for n in operand.numbers]
        slots = Items(Slot(k) for k in range(len(numbers)))
        meta = stacked(operand.meta, len(numbers))
        return self._row(self.operation(np.stack, (slots,), meta, (False,) * len(numbers)), *numbers)

    def _meta(self, stretch: Stretch, slot: int) -> Any:
        return self.program.meta(stretch.first + slot)

    def _wanted(self, stretch: Stretch) -> list[tuple[int, bool]]:
        """(row of the body, whether of more iterations than the last) for what is read from outside."""
        starts, first, end = self.program.rows.starts, stretch.first, stretch.end
        later = self.numbers[starts[end] :]
        marks = np.zeros(end - first, bool)
        marks[later[(later >= first) & (later < end)] - first] = True
        marks[[n - first for n in self.program.outputs if first <= n < end]] = True
        read = np.flatnonzero(marks) + first
        slots, iterations = (read - first) % stretch.period, (read - first) // stretch.period
        return [(int(slot), bool((iterations[slots == slot] != stretch.count - 1).any())) for slot in np.unique(slots)]


def stacked(meta: Meta, count: int) -> Meta:
    return Meta((count, *meta.shape), meta.dtype, "array")


class Writing:
    """Writes the body of one loop.

    Two columns become one parameter if they say the same in each loop of the ``family``, of those that are the same but for numbers:
    what is the same by chance in one of them must not tell it apart, since they may be the iterations of a loop around.
    """

    def __init__(self, rolling: Rolling, stretch: Stretch, family: list[Stretch]) -> None:
        self.rolling, self.stretch, self.family = rolling, stretch, family
        self.operands: list[Any] = []  # old numbers, or integers, or what is to be gathered
        self.integers: list[bool] = []
        self.parameters: list[Any] = []
        self.known: dict[Any, Any] = {}
        self.rows: list[tuple[int, list[tuple[bool, int]]]] = []  # operands: (is a row of the body, which)
        self.slots: list[int] = []  # row of the stretch -> row of the body

    def body(self, wanted: list[tuple[int, bool]]) -> tuple[Body, list[int], list[bool]]:
        program, stretch = self.rolling.program, self.stretch
        for j, columns in enumerate(stretch.columns):
            operands = [
                self._operand(kind, data, tuple([s.columns[j][k][1] for s in self.family]))
                for k, (kind, data) in enumerate(columns)
            ]
            self.slots.append(len(self.rows))
            self.rows.append((int(program.rows.codes[stretch.first + j]), operands))
        shift = len(self.parameters)
        parameters = tuple(
            p._replace(next=self._resolved(p.next, shift)) if isinstance(p, Carry) else p for p in self.parameters
        )
        rows = tuple((code, *(n + shift if inner else n for inner, n in operands)) for code, operands in self.rows)
        outs = tuple(Out(self.slots[slot] + shift, many) for slot, many in wanted)
        return Body(stretch.count, parameters, rows, outs), self.operands, self.integers

    def _resolved(self, following: Any, shift: int) -> int:
        inner, n = following
        return self.slots[n] + shift if inner else n

    def _operand(self, kind: str, data: Any, alike: tuple[Any, ...]) -> tuple[bool, int]:
        """What stands for a column; ``alike`` is what the same column says in each loop of the family."""
        if kind == "local":
            return True, self.slots[data]
        key = kind, tuple(map(told, alike))
        if key not in self.known:
            self.known[key] = getattr(self, f"_{kind}")(data, alike)
        return self.known[key]

    def _outer(self, number: int, alike: tuple[int, ...]) -> int:
        """The place of a value among the loop's operands."""
        key = "outer", alike
        if key not in self.known:
            self.known[key] = self._place(number, False)
        return self.known[key]

    def _place(self, operand: Any, integer: bool) -> int:
        self.operands.append(operand)
        self.integers.append(integer)
        return len(self.operands) - 1

    def _parameter(self, parameter: Any) -> tuple[bool, int]:
        self.parameters.append(parameter)
        return False, len(self.parameters) - 1

    def _same(self, number: int, alike: tuple[int, ...]) -> tuple[bool, int]:
        if number < 0 and len(set(alike)) == 1:
            return False, number
        return self._parameter(Same(self._outer(number, alike), self.rolling.program.meta(number)))

    def _count(self, data: tuple[int, int], _: Any = ()) -> tuple[bool, int]:
        return self._parameter(Count(self._place(data[0], True), data[1]))

    def _listed(self, values: np.ndarray, _: Any) -> tuple[bool, int]:
        return self._parameter(Listed(self._place(self.rolling.constant(values), False)))

    def _entry(self, entry: Entry, alike: tuple[Entry, ...]) -> tuple[bool, int]:
        positions = self._operand(entry.kind, entry.positions, tuple(e.positions for e in alike))
        whole = self._operand("same", entry.source, tuple(e.source for e in alike))
        self.rows.append((entry.code, [whole, positions]))
        return True, len(self.rows) - 1

    def _gathered(self, gathered: Gathered, _: Any) -> tuple[bool, int]:
        whole = self._parameter(Same(self._place(gathered, False), stacked(gathered.meta, len(gathered.numbers))))
        self.rows.append((self.rolling.entry_operation(gathered.meta), [whole, self._count((0, 1))]))
        return True, len(self.rows) - 1

    def _constants(self, column: Column, alike: tuple[Column, ...]) -> tuple[bool, int]:
        number = self.rolling.constant(column.numbers)
        whole = False, number
        if len(set(map(told, alike))) > 1:
            whole = self._parameter(Same(self._place(number, False), meta_of(column.numbers)))
        self.rows.append((self.rolling.entry_operation(column.meta), [whole, self._count((0, 1))]))
        return True, len(self.rows) - 1

    def _carried(self, data: tuple[int, tuple[int, ...]], alike: tuple[Any, ...]) -> tuple[bool, int]:
        slot, inits = data
        following: tuple[bool, int] = True, slot
        made = (False, 0)
        for k in reversed(range(len(inits))):
            place = self._outer(inits[k], tuple(other[1][k] for other in alike))
            made = self._parameter(Carry(place, following, self.rolling.program.meta(inits[k])))  # type: ignore[arg-type]
            following = made
        return made
