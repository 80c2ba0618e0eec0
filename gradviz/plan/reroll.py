"""How a loop is found again: a Python loop leaves a period in the rows, whose operands stay, move on evenly, or are carried.

Repeated until nothing is found, so that loops of loops are found from the inside out:

1. `distances` at which many sequences of operations come again: the periods there could be;
2. `repeated`: how far one reaches, and `best_cut`: where an iteration is best said to begin, where fewest values cross;
3. `columns_of`: what each operand does from iteration to iteration. What follows no rule is left as it was;
4. `Rolling` writes the rows anew. What is read of single iterations becomes an array, and an entry taken from it next to the reader;
   so a backward loop that reads a forward one is found in the next round, with one more row in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.loop import Body, Carry, Count, Listed, Out, Same
from gradviz.plan.operation import Items, Meta, Operation, Slot, meta_of, pick, take, take_number
from gradviz.plan.program import Program, Rows, value_numbers

MIN_COUNT = 8  # iterations; fewer are as well left written out
MIN_ROWS = 40
MOST_GATHERED_NBYTES = 2048  # of each of many arrays that are put into one
GRAMS = (
    3,
    16,
    64,
)  # operations in a row that have to come again to suggest a period; a long body repeats itself in small
CANDIDATES = 8  # of each length
LONGEST = 20_000  # rows of a body
SAMPLED_ROWS = 50_000  # programs longer than this are searched in samples first
SAMPLES = 64


def reroll(program: Program) -> Program:
    """The same program with its loops as loops."""
    while (rolled := roll_once(program, False) or roll_once(program, True)) is not None:
        program = rolled
    return program


def roll_once(program: Program, gather: bool) -> Program | None:
    """Roll the loops of one period, the one that covers most; None if there are none.

    With ``gather``, values that stand apart are put into one array for a loop to read. Where another loop makes them, that is rolled first,
    and they are in one already.
    """
    numbers = value_numbers(program.operations, program.rows)
    codes = program.rows.codes[len(program.inputs) :].astype(np.int32)
    best: list[Stretch] = []
    covered = 0
    for searched in (sampled_distances, distances) if len(codes) > SAMPLED_ROWS else (distances,):
        for period in sorted({d for length in GRAMS for d in searched(codes, length)}):
            reaches = list(repeated(codes, period))
            if sum(reach for _, reach in reaches) <= 1.2 * covered:
                continue
            found = [
                stretch
                for begin, reach in reaches
                if (stretch := best_cut(program, numbers, begin + len(program.inputs), period, reach, gather))
                is not None
            ]
            covers = sum(s.period * s.count for s in found)
            if covers > 1.2 * covered:
                best, covered = found, covers
        if best:
            break
    rolled = Rolling(program, numbers, best).result() if best else None
    return rolled if rolled is not None and len(rolled.rows) < len(program.rows) else None


def grams_of(codes: np.ndarray, length: int) -> np.ndarray:
    """A number for each sequence of ``length`` operations."""
    last = len(codes) - length + 1
    grams = codes[:last].astype(np.uint32)
    for k in range(1, length):
        grams *= np.uint32(1_000_003)
        grams += codes[k : last + k].view(np.uint32)
    return grams


def distances(codes: np.ndarray, length: int) -> list[int]:
    """Distances at which sequences of operations of one length come again, the likely ones."""
    if len(codes) - length + 1 < MIN_ROWS:
        return []
    grams = grams_of(codes, length)
    order = np.argsort(grams, kind="stable")
    same = grams[order[1:]] == grams[order[:-1]]
    return likely((order[1:] - order[:-1])[same])


def sampled_distances(codes: np.ndarray, length: int) -> list[int]:
    """The same of a long program, looked for from some places in it only."""
    grams = grams_of(codes, length)
    anchors = np.linspace(0, len(grams) - 2, SAMPLES).astype(int)
    found = []
    for at in anchors.tolist():
        again = np.flatnonzero(grams[at + 1 : at + 1 + LONGEST] == grams[at])
        if len(again):
            found.append(again[0] + 1)
            if len(again) > 1 and again[1] != 2 * again[0] + 1:
                found += np.diff(again[:MIN_COUNT]).tolist()
    return likely(np.repeat(np.array(found, int), MIN_COUNT))


def likely(found: np.ndarray) -> list[int]:
    counts = np.bincount(found[found <= LONGEST], minlength=1)
    most = np.argsort(counts, kind="stable")[::-1][:CANDIDATES]
    return [int(d) for d in most if counts[d] >= MIN_COUNT - 2]


class Stretch(NamedTuple):
    """Rows with a period, in which every operand follows a rule."""

    first: int
    period: int
    count: int
    columns: list[list[tuple[str, Any]]]  # for each row of an iteration, for each operand

    @property
    def end(self) -> int:
        return self.first + self.period * self.count


def repeated(codes: np.ndarray, period: int) -> Iterator[tuple[int, int]]:
    """Where the operations have a period: (first row, number of rows), counted without the inputs."""
    again = np.zeros(len(codes) - period + 2, bool)
    np.equal(codes[:-period], codes[period:], out=again[1:-1])
    edges = np.flatnonzero(again[1:] != again[:-1])
    begins, ends = edges[::2], edges[1::2]
    reaches = ends - begins + period
    long = (reaches >= MIN_COUNT * period) & (reaches >= MIN_ROWS)
    yield from zip(begins[long].tolist(), reaches[long].tolist(), strict=True)


def best_cut(
    program: Program, numbers: np.ndarray, begin: int, period: int, reach: int, gather: bool
) -> Stretch | None:
    """The stretch, begun where fewest values cross, and without an odd iteration at either end if need be."""
    body = program.rows.codes[begin : begin + period].tolist()
    if all(is_entry(program.operations[code]) for code in body):  # nothing would be done in it
        return None
    for first in beginnings(program.rows, numbers, begin, period, reach):
        count = (reach - (first - begin)) // period
        for before, after in ((0, 0), (1, 0), (0, 1), (1, 1), (2, 1)):
            kept = count - before - after
            if kept < MIN_COUNT:
                break
            columns = columns_of(program, numbers, first + before * period, period, kept, gather)
            if columns is not None:
                return Stretch(first + before * period, period, kept, columns)
    return None


def beginnings(rows: Rows, numbers: np.ndarray, begin: int, period: int, reach: int) -> list[int]:
    """Where iterations could begin, the two best: fewest values pass from one to the next there."""
    middle = begin + (reach // period // 2) * period
    lo, hi = rows.starts[middle], rows.starts[middle + period]
    readers = np.repeat(np.arange(middle, middle + period), np.diff(rows.starts[middle : middle + period + 1]))
    made = numbers[lo:hi]
    near = (made >= max(begin, middle - period)) & (made < readers)
    furthest: dict[int, int] = {}  # within an iteration: which row -> how much later it is read
    for source, reader in zip(made[near].tolist(), readers[near].tolist(), strict=True):
        phase = (source - begin) % period
        furthest[phase] = max(furthest.get(phase, 0), reader - source)
    crossing = np.zeros(2 * period + 2, np.int64)
    for phase, distance in furthest.items():  # a cut before row t is crossed if source < t <= reader
        crossing[phase + 1] += 1
        crossing[phase + min(distance, period) + 1] -= 1
    crossing = np.cumsum(crossing)[: 2 * period]
    cost = crossing[:period] + crossing[period:]
    most = reach - MIN_COUNT * period
    order = np.lexsort((np.arange(period), cost))
    return [begin + int(t) for t in order if t <= most][:2]


def columns_of(program: Program, numbers: np.ndarray, first: int, period: int, count: int, gather: bool) -> Any:
    """What each operand does from iteration to iteration; None if one follows no rule."""
    rows = program.rows
    lo, hi = rows.starts[first], rows.starts[first + period * count]
    values, plain = numbers[lo:hi].reshape(count, -1), rows.operands[lo:hi].reshape(count, -1)
    ends = (rows.starts[first : first + period + 1] - lo).tolist()
    columns: list[list[tuple[str, Any]]] = []
    for j in range(period):
        integers = program.operations[int(rows.codes[first + j])].integers
        columns.append([])
        for k, c in enumerate(range(ends[j], ends[j + 1])):
            column = (
                integer_column(plain[:, c])
                if integers[k]
                else value_column(program, values[:, c], first, period, gather)
            )
            if column is None:
                return None
            columns[-1].append(column)
    return columns


def integer_column(values: np.ndarray) -> tuple[str, Any]:
    step = int(values[1] - values[0])
    if (np.diff(values) == step).all():
        return "count", (int(values[0]), step)
    return "listed", values


def value_column(program: Program, values: np.ndarray, first: int, period: int, gather: bool) -> tuple[str, Any] | None:
    start = int(values[0])
    if values[-1] == start and (values == start).all():
        return "same", start
    if values[-1] < 0:
        return constant_column(program, values) if (values < 0).all() else None
    steady = int(values[-1]) - first - period * (len(values) - 1)
    back = -(steady // period)  # iterations between making and reading
    if values[-1] < first:
        return outside_column(program, values, first, gather) if values.min() >= 0 else None
    if back >= MIN_COUNT:
        return None
    moving = first + steady + period * np.arange(max(back, 0), len(values))
    if not (values[max(back, 0) :] == moving).all():
        return None
    if back <= 0:
        return "local", steady
    slot = steady % period
    inits = tuple(int(v) for v in values[:back])
    if any(program.meta(v) != program.meta(first + slot) for v in inits) or max(inits) >= first:
        return None
    return "carried", (slot, inits)


class Column(NamedTuple):
    """One number for each iteration."""

    numbers: np.ndarray
    meta: Meta


def outside_column(program: Program, values: np.ndarray, first: int, gather: bool) -> tuple[str, Any] | None:
    """Another value from before the loop in each iteration: entries of one array, or values few enough to be put into one."""
    if values.max() >= first:
        return None
    rows = program.rows
    codes = np.unique(rows.codes[values]) if values.min() >= len(program.inputs) else ()
    if len(codes) == 1 and is_entry(program.operations[int(codes[0])]):
        starts = rows.starts[values]
        sources = np.unique(rows.operands[starts])
        if len(sources) == 1:
            return "entry", Entry(int(codes[0]), int(sources[0]), *integer_column(rows.operands[starts + 1]))
    if not gather:
        return None
    metas = {program.meta(int(v)) for v in np.unique(values)}
    meta = metas.pop()
    if metas or not isinstance(meta, Meta) or (meta.kind == "array" and meta.nbytes > MOST_GATHERED_NBYTES):
        return None
    return "gathered", Gathered(tuple(values.tolist()), meta)


def is_entry(operation: Operation) -> bool:
    """Whether it takes one entry along the first axis."""
    return operation.function in (take, take_number) and operation.args == (Slot(0), Slot(1, True))


class Entry(NamedTuple):
    """One entry of an array for each iteration; the positions are an integer column."""

    code: int
    source: int
    kind: str
    positions: Any


class Gathered(NamedTuple):
    """Values that stand apart, one for each iteration."""

    numbers: tuple[int, ...]
    meta: Meta


def constant_column(program: Program, values: np.ndarray) -> tuple[str, Any] | None:
    """Another number in each iteration, all of one kind."""
    numbers = [program.constants[-1 - v] for v in values.tolist()]
    metas = {meta_of(n) for n in numbers}
    meta = metas.pop()
    return None if metas or meta.kind == "array" else ("constants", Column(np.array(numbers), meta))


# ---- writing


class Rolling:
    """Writes the rows of a program anew, with stretches replaced by loops."""

    def __init__(self, program: Program, numbers: np.ndarray, stretches: list[Stretch]) -> None:
        self.program, self.numbers = program, numbers
        self.stretches = sorted(stretches, key=lambda s: s.first)
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

    def constant(self, value: Any) -> int:
        self.constants.append(value)
        return -len(self.constants)

    def _loop(self, stretch: Stretch) -> None:
        wanted = self._wanted(stretch)
        body, operands, integers = Writing(self, stretch).body(wanted)
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


def told(data: Any) -> Any:
    """What a column says, in a form that can be looked up."""
    if isinstance(data, Column):
        return data.numbers.tobytes(), data.meta
    if isinstance(data, Entry):
        return data._replace(positions=told(data.positions))
    return (data.tobytes(), data.dtype) if isinstance(data, np.ndarray) else data


class Writing:
    """Writes the body of one loop."""

    def __init__(self, rolling: Rolling, stretch: Stretch) -> None:
        self.rolling, self.stretch = rolling, stretch
        self.operands: list[Any] = []  # old numbers, or integers, or what is to be gathered
        self.integers: list[bool] = []
        self.parameters: list[Any] = []
        self.known: dict[Any, Any] = {}
        self.rows: list[tuple[int, list[tuple[bool, int]]]] = []  # operands: (is a row of the body, which)
        self.slots: list[int] = []  # row of the stretch -> row of the body

    def body(self, wanted: list[tuple[int, bool]]) -> tuple[Body, list[int], list[bool]]:
        program, stretch = self.rolling.program, self.stretch
        for j, columns in enumerate(stretch.columns):
            operands = [self._operand(kind, data) for kind, data in columns]
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

    def _operand(self, kind: str, data: Any) -> tuple[bool, int]:
        if kind == "local":
            return True, self.slots[data]
        key = kind, told(data)
        if key not in self.known:
            self.known[key] = getattr(self, f"_{kind}")(data)
        return self.known[key]

    def _outer(self, number: int, integer: bool = False) -> int:
        """The place of a value or an integer among the loop's operands."""
        key = "outer", number, integer
        if integer or key not in self.known:
            self.known[key] = len(self.operands)
            self.operands.append(number)
            self.integers.append(integer)
        return self.known[key]

    def _parameter(self, parameter: Any) -> tuple[bool, int]:
        self.parameters.append(parameter)
        return False, len(self.parameters) - 1

    def _same(self, number: int) -> tuple[bool, int]:
        if number < 0:
            return False, number
        return self._parameter(Same(self._outer(number), self.rolling.program.meta(number)))

    def _count(self, data: tuple[int, int]) -> tuple[bool, int]:
        return self._parameter(Count(self._outer(data[0], True), data[1]))

    def _listed(self, values: np.ndarray) -> tuple[bool, int]:
        return self._parameter(Listed(self._outer(self.rolling.constant(values.copy()))))

    def _entry(self, entry: Entry) -> tuple[bool, int]:
        positions = self._operand(entry.kind, entry.positions)
        whole = self._operand("same", entry.source)
        self.rows.append((entry.code, [whole, positions]))
        return True, len(self.rows) - 1

    def _gathered(self, gathered: Gathered) -> tuple[bool, int]:
        place = len(self.operands)
        self.operands.append(gathered)
        self.integers.append(False)
        whole = self._parameter(Same(place, stacked(gathered.meta, len(gathered.numbers))))
        self.rows.append((self.rolling.entry_operation(gathered.meta), [whole, self._count((0, 1))]))
        return True, len(self.rows) - 1

    def _constants(self, column: Column) -> tuple[bool, int]:
        code = self.rolling.entry_operation(column.meta)
        whole, at = self.rolling.constant(column.numbers), self._count((0, 1))
        self.rows.append((code, [(False, whole), at]))
        return True, len(self.rows) - 1

    def _carried(self, data: tuple[int, tuple[int, ...]]) -> tuple[bool, int]:
        slot, inits = data
        following: tuple[bool, int] = True, slot
        made = (False, 0)
        for init in reversed(inits):
            meta = self.rolling.program.meta(init)
            made = self._parameter(Carry(self._outer(init), following, meta))  # type: ignore[arg-type]
            following = made
        return made
