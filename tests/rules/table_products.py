"""Entries for `gradviz.rules.products` and `gradviz.rules.contraction`."""

from __future__ import annotations

import numpy as np

from tests.rules.check import entry, real


def both(name, f, *shapes, **options):
    """A product of arrays of these shapes, real and complex."""
    return entry(name, f, *(real(*shape) for shape in shapes), **{"is_complex": True, "exact": False, **options})


def einsum(subscripts, *shapes, **options):
    return both(f"einsum {subscripts}", lambda *xs: np.einsum(subscripts, *xs), *shapes, **options)


def shown(shapes):
    return " ".join("x".join(map(str, shape)) for shape in shapes)


MATRICES = [
    ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 2)),
    ((2, 3), (5, 3, 4)), ((5, 2, 3), (1, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((4, 1, 2, 3), (5, 3, 2)), ((0, 3), (3, 2)), ((2, 0), (0, 3)),
    ((2, 3, 0), (0, 4)),
]  # fmt: skip

ENTRIES = [
    *(both(f"matmul {shown(shapes)}", np.matmul, *shapes) for shapes in MATRICES),
    *(both(f"dot {shown(shapes)}", np.dot, *shapes) for shapes in MATRICES if len(shapes[0]) < 4),
    both("dot with a number", lambda a, b: np.dot(a[0], b), (1,), (2, 3)),
    *(
        both(f"inner {shown(s)}", np.inner, *s)
        for s in (((3,), (3,)), ((2, 3), (4, 3)), ((2, 3), (3,)), ((2, 2, 3), (4, 3)))
    ),
    both("outer", np.outer, (3,), (2, 2)),
    both("linalg.outer", np.linalg.outer, (3,), (2,)),
    both("vdot", np.vdot, (2, 3), (6,)),
    both("vecdot", np.vecdot, (2, 3), (3,), device=False),
    both("vecdot axis", lambda a, b: np.vecdot(a, b, axis=0), (3, 2), (3, 2), device=False),
    both("vecdot keepdims", lambda a, b: np.vecdot(a, b, axis=-2, keepdims=True), (2, 3, 2), (3, 2), device=False),
    both("vecdot axes", lambda a, b: np.vecdot(a, b, axes=[0, 1]), (3, 2), (2, 3), device=False),
    both("matmul axes", lambda a, b: np.matmul(a, b, axes=[(0, 2), (2, 0), (1, 0)]), (2, 4, 3), (2, 4, 3)),
    both("matmul axes of a vector", lambda a, b: np.matmul(a, b, axes=[(2, 0), 0, 0]), (3, 4, 2), (3,)),
    both("matvec axes", lambda a, b: np.matvec(a, b, axes=[(1, 0), 1, 0]), (3, 2), (4, 3), device=False),
    both("linalg.vecdot", lambda a, b: np.linalg.vecdot(a, b, axis=0), (3, 2), (3, 2), device=False),
    both("matvec", np.matvec, (5, 2, 3), (3,), device=False),
    both("matvec spread", np.matvec, (2, 3), (5, 3), device=False),
    both("vecmat", np.vecmat, (2,), (5, 2, 3), device=False),
    both("vecmat spread", np.vecmat, (5, 2), (2, 3), device=False),
    both("kron", np.kron, (2, 3), (3, 2)),
    both("kron of unequal axes", np.kron, (3,), (3, 2)),
    both("cross", np.cross, (4, 3), (4, 3)),
    both("linalg.cross", lambda a, b: np.linalg.cross(a, b, axis=0), (3, 2), (3, 2)),
    both("linalg.matmul", np.linalg.matmul, (2, 3), (3, 4)),
    both("linalg.tensordot", lambda a, b: np.linalg.tensordot(a, b, axes=1), (2, 3), (3, 4)),
    both("cross axis 0", lambda a, b: np.cross(a, b, axis=0), (3, 2), (3, 2)),
    both("cross spread", np.cross, (4, 3), (3,)),
    both("multi_dot", lambda *a: np.linalg.multi_dot(a), (2, 3), (3, 4), (4, 2)),
    both("multi_dot with vectors", lambda *a: np.linalg.multi_dot(a), (3,), (3, 4), (4, 2), (2,)),
    *(
        both(f"tensordot {axes}", lambda a, b, axes=axes: np.tensordot(a, b, axes), (2, 3, 4), (4, 3, 2))
        for axes in (0, 1, (0, 2), ((0, 2), (2, 0)), ((-1, 1), (0, 1)), ([0, 1, 2], [2, 1, 0]))
    ),
    # lists where arrays are meant
    both("matmul with a list", lambda a: a @ [1.0, 2.0, 3.0] + [1.0, 2.0, 3.0] @ a, (3, 3), device=False, single=False),
    both(
        "vdot with a list",
        lambda a: np.vdot([[1.0, 2.0]], a) + np.inner(a, [1.0, 2.0]),
        (2,),
        device=False,
        single=False,
    ),
    both("solve with a list", lambda a: np.linalg.solve(a, [1, 2]), (2, 2), device=False, single=False),
    # one operand
    einsum("ii", (3, 3)),
    einsum("ii->i", (3, 3)),
    einsum("iij->j", (3, 3, 4)),
    einsum("iijj->", (2, 2, 3, 3)),
    einsum("abcd->bd", (3, 2, 3, 2)),
    einsum("ijk->kij", (2, 3, 4)),
    # two
    einsum("ab,bc->ac", (3, 4), (4, 5)),
    einsum("ab,bc->ca", (3, 4), (4, 5)),
    einsum("abc,cd->abd", (2, 3, 4), (4, 5)),
    einsum("abc,dc->abd", (2, 3, 4), (5, 4)),
    einsum("bac,cd->abd", (2, 3, 4), (4, 5)),
    einsum("abij,bcjk->acik", (2, 2, 3, 2), (2, 2, 2, 3)),
    einsum("i,i", (3,), (3,)),
    einsum("i,j", (3,), (4,)),
    einsum("ij,kl->ikjl", (2, 3), (3, 2)),
    einsum("ij,k->ik", (2, 3), (4,)),
    einsum("ij,ij", (2, 3), (2, 3)),
    einsum("ij,ij->ij", (3, 4), (3, 4)),
    einsum("ij,j->ij", (3, 4), (4,)),
    einsum("iij,j->i", (3, 3, 2), (2,)),
    einsum("ijk,kji->", (2, 3, 4), (4, 3, 2)),
    einsum("ijk,ilk->ijl", (2, 3, 4), (2, 2, 4)),
    einsum("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    einsum("bij,bjk->ibk", (2, 3, 4), (2, 4, 5)),
    einsum("bi,bi->b", (2, 3), (2, 3)),
    einsum("bi,b->i", (2, 3), (2,)),
    einsum("...ij,...jk->...ik", (2, 3, 4), (4, 5)),
    einsum("...ij,...jk", (2, 3, 4), (1, 4, 5)),
    einsum("ij,jk", (2, 3), (1, 4)),
    einsum("ab,cb->ac", (1, 3), (4, 3)),
    einsum("ab,b->a", (0, 3), (3,)),
    both("einsum ,ij->ji", lambda a, b: np.einsum(",ij->ji", a[0], b), (1,), (2, 3)),
    # more
    einsum("ij,j,i", (3, 4), (4,), (3,)),
    einsum("ai,aj,ak,al->ijkl", (2, 3), (2, 3), (2, 3), (2, 3)),
    einsum("war,abu,lbg,dgw->ruld", (2, 3, 2), (3, 2, 2), (2, 2, 3), (2, 3, 2)),
    # by lists
    both("einsum by lists", lambda m, v: np.einsum(m, [0, 1], v, [1], [0]), (3, 4), (4,)),
    both("einsum by lists with dots", lambda m, v: np.einsum(m, [..., 1], v, [1]), (3, 4), (4,)),
]
