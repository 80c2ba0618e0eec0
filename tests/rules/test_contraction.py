"""Which steps does a contraction take, and which of them copy?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv


def calls(subscripts, *arrays):
    """Names of the forward calls of a contraction, and of its pullbacks."""
    argnums = tuple(range(len(arrays)))
    with gv.profile() as profile:
        gv.grad(lambda *xs: np.sum(np.einsum(subscripts, *xs)), argnums)(*arrays)
    trace = profile.trace
    names = [trace.strings[name] for name in trace.events["name_str"]]
    backward = names.index("backward")
    return names[names.index("forward") + 1 : backward], names[backward + 1 :]


def ones(*shape):
    return np.ones(shape)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ab,bc->ac", ((3, 4), (4, 5))),
        ("ab,cb->ac", ((3, 4), (5, 4))),
        ("ba,bc->ac", ((4, 3), (4, 5))),
        ("ab,bc->ca", ((3, 4), (4, 5))),
        ("abc,cd->abd", ((2, 3, 4), (4, 5))),
        ("abc,dbc->ad", ((2, 3, 4), (5, 3, 4))),
        ("bij,bkj->bik", ((2, 3, 4), (2, 5, 4))),
    ],
)
def test_what_blas_takes_as_it_is_is_not_copied(subscripts, shapes):
    forward, _ = calls(subscripts, *(ones(*shape) for shape in shapes))
    assert "ascontiguousarray" not in forward
    assert forward.count("matmul") == 1


def test_a_summed_axis_in_the_middle_takes_one_copy():
    forward, _ = calls("abc,bd->acd", ones(4, 5, 6), ones(5, 3))
    assert forward.count("ascontiguousarray") == 1


def test_the_smaller_copy_is_chosen():
    """Summing over the order of either operand's axes: the small one is turned, not the large one."""
    forward, _ = calls("abc,dcb->ad", ones(40, 5, 6), ones(2, 6, 5))
    assert forward[: forward.index("matmul")].count("ascontiguousarray") == 1
    with gv.profile() as profile:
        gv.grad(lambda a, b: np.sum(np.einsum("abc,dcb->ad", a, b)), (0, 1))(ones(40, 5, 6), ones(2, 6, 5))
    trace = profile.trace
    names = [trace.strings[name] for name in trace.events["name_str"]]
    assert trace.events["nbytes"][names.index("ascontiguousarray")] == 60 * 8


def test_four_operands_are_taken_in_pairs():
    forward, backward = calls("war,abu,lbg,dgw->ruld", ones(2, 3, 4), ones(3, 5, 4), ones(4, 5, 2), ones(4, 2, 2))
    assert forward.count("matmul") == 3
    assert sum(name.startswith("matmul") for name in backward) == 6


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [("ij,jk", ((2, 3), (4, 5))), ("ijk", ((2, 3),)), ("ii", ((2, 3),))],
)
def test_wrong_shapes_are_named(subscripts, shapes):
    with pytest.raises(ValueError, match="einsum"):
        gv.grad(lambda *xs: np.sum(np.einsum(subscripts, *xs)))(*(ones(*shape) for shape in shapes))


def test_tensordot_of_wrong_shapes():
    with pytest.raises(ValueError, match="shape-mismatch"):
        gv.grad(lambda a: np.sum(np.tensordot(a, ones(4, 5), 1)))(ones(2, 3))
