"""How a loop is found again: a Python loop leaves a period in the rows, whose operands stay, move on evenly, or are carried.

Repeated until nothing is found, so that loops of loops are found from the inside out:

1. `distances` at which many sequences of operations come again: the periods there could be;
2. `repeated`: how far one reaches, and `best_cut`: where an iteration is best said to begin, where fewest values cross;
3. `stretch.columns_of`: what each operand does from iteration to iteration. What follows no rule is left as it was;
4. `rolling` writes the rows anew. What is read of single iterations becomes an array, and an entry is taken from it next to
   the reader; so a backward loop that reads a forward one is found in the next round, with one more row in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gradviz.plan.program.operation import guard, pick
from gradviz.plan.program.program import Program, Rows, value_numbers
from gradviz.plan.reroll.rolling import Rolling
from gradviz.plan.reroll.stretch import MIN_COUNT, Stretch, columns_of, is_entry

MIN_ROWS = 40
# operations in a row that have to come again to suggest a period; a long body repeats itself in small
GRAMS = (3, 16, 64)
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
                if (stretch := shortest(program, numbers, begin + len(program.inputs), period, reach, gather))
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


def repeated(codes: np.ndarray, period: int) -> Iterator[tuple[int, int]]:
    """Where the operations have a period: (first row, number of rows), counted without the inputs."""
    again = np.zeros(len(codes) - period + 2, bool)
    np.equal(codes[:-period], codes[period:], out=again[1:-1])
    edges = np.flatnonzero(again[1:] != again[:-1])
    begins, ends = edges[::2], edges[1::2]
    reaches = ends - begins + period
    long = (reaches >= MIN_COUNT * period) & (reaches >= MIN_ROWS)
    yield from zip(begins[long].tolist(), reaches[long].tolist(), strict=True)


def shortest(
    program: Program, numbers: np.ndarray, begin: int, period: int, reach: int, gather: bool
) -> Stretch | None:
    """The stretch with that period, or with a part of it that the rows have as well: four turns of a loop are not one of another."""
    codes = program.rows.codes[begin : begin + reach]
    for part in range(1, period // 2 + 1):
        if period % part == 0 and (codes[part:] == codes[:-part]).all():
            found = best_cut(program, numbers, begin, part, reach, gather)
            if found is not None:
                return found
    return best_cut(program, numbers, begin, period, reach, gather)


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
            if splits_results(program, first + (before + kept) * period):
                break
            columns = columns_of(program, numbers, first + before * period, period, kept, gather)
            if columns is not None:
                return Stretch(first + before * period, period, kept, columns)
    return None


def splits_results(program: Program, at: int) -> bool:
    """Whether a call with several results would stay before ``at``, and what picks one of them would come behind."""
    rows = program.rows
    while at < len(rows) and program.operations[int(rows.codes[at])].function in (pick, guard):
        if rows.row(at)[1] < at and program.operations[int(rows.codes[at])].function is pick:
            return True
        at += 1
    return False


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
