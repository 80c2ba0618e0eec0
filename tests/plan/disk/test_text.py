"""Is a program the same when it has been written and read, and is what is no program refused?"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gradviz as gv
from gradviz.plan.disk.names import Damaged, Unnamed, told, value_of
from gradviz.plan.disk.shelf import Shelf
from gradviz.plan.disk.text import MAGIC, decoded, encoded
from gradviz.plan.program.loop import Body, Carry, Count, Listed, Out, Same
from gradviz.plan.program.operation import Items, Meta, Nth, Operation, Sliced, Slot, put
from gradviz.plan.program.program import Program


def horner(x, p):
    r = p[-1]
    for i in range(len(p) - 2, -1, -1):
        r = r * x + p[i]
    return r


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[bytes]:
    """A program as it stands on disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GRADVIZ_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield written()


def written() -> bytes:
    compiled = gv.compile(gv.value_and_grad(horner, argnums=(0, 1)))
    path = compiled.path(0.5, np.ones(60))
    return encoded(path.to_keep(Shelf(compiled.__wrapped__, [0.5, np.ones(60)], None, frozenset())))


def test_a_program_reads_as_it_was_written(data: bytes) -> None:
    assert encoded(decoded(data)) == data


ARGUMENTS = [
    None, True, 3, -0.0, float("inf"), 0.1 + 0.2, 1j, complex(float("-inf"), -0.0), "text", Ellipsis, np.dtype("f4"), float, np.float32,
    np.float64(0.1), np.bool_(True), np.complex64(1j), Slot(3), Slot(0, True), Sliced(None, Slot(1, True), -1), (Slot(0), (1, None)),
    Items((Slot(0), 2)), np.add, np.add.reduce, np.linalg.solve, np.sum, put, Nth(np.linalg.eigh, 1), np.transpose,
]  # fmt: skip


@pytest.mark.parametrize("value", ARGUMENTS)
def test_arguments(value: Any) -> None:
    found = value_of(json.loads(json.dumps(told(value))))
    assert type(found) is type(value)
    assert repr(found) == repr(value)


def test_nan() -> None:
    found = value_of(told(float("nan")))
    assert found != found


def a_function() -> None: ...


@pytest.mark.parametrize(
    "value", [a_function, np.ones(3), {}, object(), np.dtype("U3"), lambda x: x, np.frompyfunc(abs, 1, 1)]
)
def test_what_has_no_name(value: Any) -> None:
    with pytest.raises(Unnamed):
        told(value)


@pytest.mark.parametrize(
    "said",
    [
        ["function", "os.system"], ["function", "builtins.eval"], ["function", "numpy.__builtins__"], ["function", "numpy.os.system"],
        ["function", "numpy.ndarray"], ["function", "numpy.linalg"], ["function", ["numpy.sum", "reduce"]],
        ["function", ["numpy.add", "__class__"]], ["type", "object"], ["dtype", "O"], ["dtype", "V1000000000"], ["slot", -1, False],
        ["slot", "0", False], ["number", "f8", "00"], ["float", "0x"], ["unheard of"], {"a": 1}, ["slice", 1], [[]],
        ["function", ["nth", "numpy.sum"]], ["complex", "1"],
    ],
    ids=repr,
)  # fmt: skip
def test_names_that_mean_nothing(said: Any) -> None:
    with pytest.raises((Damaged, ValueError)):
        value_of(said)


def mutated(said: Any, rng: random.Random) -> Any:
    """The same JSON with one thing in it another."""
    if isinstance(said, dict) and said and rng.random() < 0.95:
        key = rng.choice(sorted(said))
        return {**said, key: mutated(said[key], rng)}
    if isinstance(said, list) and said and rng.random() < 0.9:
        k = rng.randrange(len(said))
        return [*said[:k], mutated(said[k], rng), *said[k + 1 :]]
    return rng.choice([None, -1, 1 << 40, 0, 1, 2.5, "numpy.sum", [], {}, [[]], True, -(1 << 62), "*", said])


@pytest.mark.parametrize("seed", range(60))
def test_a_file_that_somebody_changed_is_a_program_or_none(data: bytes, seed: int) -> None:
    rng = random.Random(seed)
    start = len(MAGIC) + 8
    size = int.from_bytes(data[len(MAGIC) : start], "little")
    for _ in range(20):
        if rng.random() < 0.7:
            head = json.dumps(mutated(json.loads(data[start : start + size]), rng)).encode()
            changed = MAGIC + len(head).to_bytes(8, "little") + head + data[start + size :]
        else:
            at = rng.randrange(len(data))
            changed = data[:at] + bytes([rng.randrange(256)]) * rng.randrange(1, 9) + data[at + rng.randrange(9) :]
        try:
            found = decoded(changed)
        except Damaged:
            continue
        assert isinstance(found.program, Program)
        str(found.program)


def test_no_part_of_a_program_is_left_out() -> None:
    """What a program is made of has just the parts that are written: a new one must be written too."""
    assert Program._fields == ("operations", "rows", "constants", "inputs", "outputs")
    assert set(Operation.__slots__) == {
        "args",
        "code",
        "function",
        "integers",
        "kwargs",
        "meta",
        "name",
        "site",
        "view",
    }
    assert Body._fields == ("count", "parameters", "rows", "outs")
    assert (Carry._fields, Same._fields, Count._fields) == (
        ("first", "next", "meta"),
        ("operand", "meta"),
        ("start", "step"),
    )
    assert (Listed._fields, Out._fields) == (("operand",), ("number", "stacked"))
    assert Meta._fields == ("shape", "dtype", "kind")
