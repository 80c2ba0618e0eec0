"""A captured program as bytes, and back: JSON for what is said of it, plain columns for its rows and arrays.

What is read is checked: every number has to mean something. A file that is cut off, changed, or made by somebody else is no program,
and the function is captured as if there were none.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

from gradviz.plan.disk.names import (
    Damaged,
    Unnamed,
    dtype_name,
    dtype_of,
    function_of,
    meta_name,
    meta_of,
    name_of,
    slots_of,
    told,
    value_of,
)
from gradviz.plan.program.loop import Body, Carry, Count, Listed, Out, Same
from gradviz.plan.program.operation import Meta, Operation
from gradviz.plan.program.program import NO_NUMBER, Program, Rows, value_numbers

MAGIC = b"gradviz plan 1\n"
MOST_NBYTES = 16 << 20


class Kept(NamedTuple):
    """A program, and what else a plan knows of the run it was captured in.

    Attributes
    ----------
    program : with its loops rolled up
    result : how its outputs make the result, as `told_tree` says it
    count : how many outputs that takes
    written : (position of an input, of the output that is to be written into it)
    reads : (site, kind, answer) for each look that Python took at a value
    arrays : (site, number of a constant) for each array that was met and is kept
    sites : (number of a code object of the function, instruction); None for lines of its callers
    calls : how many rows were captured
    derived : whether something may have been computed of the arrays that the function refers to
    """

    program: Program
    result: Any
    count: int
    written: tuple[tuple[int, int], ...]
    reads: tuple[tuple[int, str, Any], ...]
    arrays: tuple[tuple[int, int], ...]
    sites: tuple[tuple[int, int] | None, ...]
    calls: int
    derived: bool

    def site(self, n: Any) -> int:
        """A site of the function's own lines; -1 for others."""
        return n if isinstance(n, int) and n >= 0 and self.sites[n] is not None else -1


def encoded(kept: Kept) -> bytes:
    """The bytes of a program. Raises `Unnamed`."""
    program = kept.program
    columns = [program.rows.codes, program.rows.operands]
    constants: list[Any] = []
    for value in program.constants:
        if type(value) is np.ndarray:
            order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
            if order == "C" and not value.flags.c_contiguous:
                raise Unnamed("it keeps an array whose entries do not follow each other")
            constants.append({"shape": list(value.shape), "dtype": dtype_name(value.dtype), "order": order})
            columns.append(value.ravel(order=order))
        else:
            constants.append(["empty"] if value is None else ["is", told(value)])
    said = {
        "operations": [operation_told(made, kept.site(made.site)) for made in program.operations[1:]],
        "rows": len(program.rows),
        "operands": len(program.rows.operands),
        "constants": constants,
        "inputs": [meta_name(m) for m in program.inputs],
        "outputs": list(program.outputs),
        "result": kept.result,
        "count": kept.count,
        "written": [list(pair) for pair in kept.written],
        "reads": [[kept.site(site), kind, told(answer)] for site, kind, answer in kept.reads],
        "arrays": [[kept.site(site), number] for site, number in kept.arrays],
        "sites": [list(place) if place else None for place in kept.sites],
        "calls": kept.calls,
        "derived": kept.derived,
    }
    head = json.dumps(said, separators=(",", ":")).encode()
    if len(head) + sum(c.nbytes for c in columns) > MOST_NBYTES:
        raise Unnamed(f"its program takes more than {MOST_NBYTES >> 20} MiB")
    return b"".join(
        [MAGIC, len(head).to_bytes(8, "little"), head, *(np.ascontiguousarray(c).tobytes() for c in columns)]
    )


def decoded(data: bytes) -> Kept:
    """What `encoded` was given. Raises `Damaged`."""
    try:
        return Reading(data).kept()
    except Damaged:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError, ImportError) as error:
        raise Damaged(str(error)) from None


# ---- operations and loops


def operation_told(made: Operation, site: int) -> Any:
    if isinstance(made.function, Body):
        return {
            "loop": body_told(made.function),
            "integers": list(made.integers),
            "meta": meta_name(made.meta),
            "site": site,
        }
    return {
        "function": name_of(made.function),
        "args": [told(a) for a in made.args],
        "kwargs": [[name, told(a)] for name, a in made.kwargs],
        "meta": meta_name(made.meta),
        "integers": list(made.integers),
        "view": made.view,
        "site": site,
    }


def body_told(body: Body) -> Any:
    parameters: list[Any] = []
    for p in body.parameters:
        match p:
            case Carry(first, following, meta):
                parameters.append(["carry", first, following, meta_name(meta)])
            case Same(operand, meta):
                parameters.append(["same", operand, meta_name(meta)])
            case Count(start, step):
                parameters.append(["count", start, step])
            case Listed(operand):
                parameters.append(["listed", operand])
            case _:
                raise Unnamed(f"it has a loop with {p}")
    rows = [[int(n) for n in row] for row in body.rows]
    return {
        "count": body.count,
        "parameters": parameters,
        "rows": rows,
        "outs": [[o.number, o.stacked] for o in body.outs],
    }


def integer(n: Any) -> int:
    if type(n) is not int:
        raise Damaged(n)
    return n


def within(n: Any, low: int, high: int) -> int:
    if not low <= integer(n) < high:
        raise Damaged(n)
    return n


class Reading:
    """Reads the bytes of one program."""

    def __init__(self, data: bytes) -> None:
        start = len(MAGIC) + 8
        if data[: len(MAGIC)] != MAGIC or len(data) < start or len(data) > 2 * MOST_NBYTES:
            raise Damaged("no plan")
        size = int.from_bytes(data[len(MAGIC) : start], "little")
        self.said: dict[str, Any] = json.loads(data[start : start + size])
        self.rest = memoryview(data)[start + size :]

    def column(self, dtype: Any, count: int) -> np.ndarray:
        nbytes = np.dtype(dtype).itemsize * within(count, 0, MOST_NBYTES)
        if nbytes > len(self.rest):
            raise Damaged("cut off")
        found = np.frombuffer(self.rest[:nbytes], dtype)
        self.rest = self.rest[nbytes:]
        return found

    def kept(self) -> Kept:
        said = self.said
        codes = self.column(np.int64, said["rows"])
        operands = self.column(np.int64, said["operands"])
        self.constants = [self.constant(c) for c in said["constants"]]
        if len(self.rest):
            raise Damaged("longer than it says")
        self.operations: list[Operation] = [Operation(0, None, (), (), None, ())]
        for code, made in enumerate(said["operations"], 1):
            self.operations.append(self.operation(code, made))
        inputs = tuple(map(meta_of, said["inputs"]))
        if not all(isinstance(m, Meta) for m in inputs):
            raise Damaged("inputs")
        rows = self.rows(codes, operands, len(inputs))
        low, high = -len(self.constants), len(rows)
        outputs = tuple(within(n, low, high) for n in said["outputs"])
        count = within(said["count"], 0, len(outputs) + 1)
        sites = tuple(
            None if place is None else (within(place[0], 0, 1 << 31), within(place[1], -1, 1 << 31))
            for place in said["sites"]
        )
        return Kept(
            Program(self.operations, rows, self.constants, inputs, outputs),
            said["result"],
            count,
            tuple((within(a, 0, len(inputs)), within(b, count, len(outputs))) for a, b in said["written"]),
            tuple((within(s, -1, len(sites)), str(kind), value_of(answer)) for s, kind, answer in said["reads"]),
            tuple((within(s, -1, len(sites)), within(n, low, 0)) for s, n in said["arrays"]),
            sites,
            integer(said["calls"]),
            bool(said["derived"]),
        )

    def constant(self, said: Any) -> Any:
        match said:
            case {"shape": [*shape], "dtype": name, "order": ("C" | "F") as order}:
                dtype = dtype_of(name)
                size = 1
                for n in shape:
                    size *= within(n, 0, 1 << 48)
                return self.column(dtype, size).reshape(shape, order=order).copy(order="K")
            case ["is", value]:
                return value_of(value)
            case ["empty"]:
                return None
        raise Damaged(said)

    def rows(self, codes: np.ndarray, operands: np.ndarray, inputs: int) -> Rows:
        widths = np.array([len(made.integers) for made in self.operations])
        if len(codes) < inputs or (len(codes) and (codes.min() < 0 or codes.max() >= len(widths))):
            raise Damaged("operations")
        if codes[:inputs].any() or not codes[inputs:].all():
            raise Damaged("inputs")
        starts = np.zeros(len(codes) + 1, np.int64)
        np.cumsum(widths[codes], out=starts[1:])
        if starts[-1] != len(operands):
            raise Damaged("operands")
        rows = Rows(codes.copy(), operands.copy(), starts)
        numbers = value_numbers(self.operations, rows)
        makers = np.repeat(np.arange(len(codes)), np.diff(starts))
        valued = numbers != NO_NUMBER
        if ((numbers < -len(self.constants)) | (numbers >= makers))[valued].any():
            raise Damaged("operands")
        return rows

    def operation(self, code: int, said: Any) -> Operation:
        integers = tuple(said["integers"])
        if not all(type(i) is bool for i in integers):
            raise Damaged("integers")
        site = within(said["site"], -1, len(self.said["sites"]))
        if "loop" in said:
            meta = meta_of(said["meta"])
            body = self.body(said["loop"], len(integers))
            if type(meta) is not tuple or len(meta) != len(body.outs):
                raise Damaged("loop")
            return Operation(code, body, (), (), meta, integers, False, site)
        args = tuple(map(value_of, said["args"]))
        kwargs = tuple((str(name), value_of(value)) for name, value in said["kwargs"])
        for k in slots_of((args, kwargs)):
            within(k, 0, len(integers))
        return Operation(
            code,
            function_of(said["function"]),
            args,
            kwargs,
            meta_of(said["meta"]),
            integers,
            said["view"] is True,
            site,
        )

    def body(self, said: Any, operands: int) -> Body:
        parameters: list[Any] = []
        size = len(said["parameters"]) + len(said["rows"])
        low = -len(self.constants)
        for p in said["parameters"]:
            match p:
                case ["carry", first, following, meta]:
                    parameters.append(Carry(within(first, 0, operands), within(following, low, size), meta_of(meta)))
                case ["same", operand, meta]:
                    parameters.append(Same(within(operand, 0, operands), meta_of(meta)))
                case ["count", start, step]:
                    parameters.append(Count(within(start, 0, operands), integer(step)))
                case ["listed", operand]:
                    parameters.append(Listed(within(operand, 0, operands)))
                case _:
                    raise Damaged(p)
        rows: list[tuple[int, ...]] = []
        for row in said["rows"]:
            code, *reads = row
            made = self.operations[within(code, 1, len(self.operations))]  # those of loops inside come first
            if len(reads) != len(made.integers):
                raise Damaged(row)
            rows.append((code, *(within(n, low, len(parameters) + len(rows)) for n in reads)))
        outs = tuple(Out(within(n, low, size), stacked is True) for n, stacked in said["outs"])
        return Body(within(said["count"], 0, 1 << 48), tuple(parameters), tuple(rows), outs)
