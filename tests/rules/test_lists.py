"""May lists stand where arrays are meant, beside a traced array, as they may in NumPy?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv

L = [1.0, 2.0, 4.0]
X = np.array([0.3, 1.2, -0.7])
STEP = 1e-6


def written(write, x):
    copied = x * 1
    write(copied)
    return copied


FUNCTIONS = {
    "interp x": lambda x: np.interp(x, [0.0, 1.0, 2.0], [0.0, 1.0, 5.0]),
    "interp fp": lambda x: np.interp([0.5, 1.5], [0.0, 1.0, 2.0], x),
    "interp scalar": lambda x: np.interp(0.5, [0.0, 1.0, 2.0], x),
    "trapezoid": lambda x: np.trapezoid(x, L),
    "trapezoid y": lambda x: np.trapezoid(L, x),
    "gradient": lambda x: np.gradient(x, L),
    "gradient f": lambda x: np.gradient(L, x),
    "polyval p": lambda x: np.polyval(x, L),
    "polyval x": lambda x: np.polyval(L, x),
    "polyval int": lambda x: np.polyval(x, 2),
    "polyadd": lambda x: np.polyadd(x, L),
    "polymul": lambda x: np.polymul(L, x),
    "polydiv": lambda x: np.polydiv(L, x)[0],
    "polyfit": lambda x: np.polyfit(L, x, 1),
    "polyfit2": lambda x: np.polyfit(x, L, 1),
    "cov": lambda x: np.cov(x, L),
    "cov2": lambda x: np.cov(L, x),
    "cov w": lambda x: np.cov(x, aweights=L),
    "corrcoef": lambda x: np.corrcoef(L, x),
    "average": lambda x: np.average(x, weights=L),
    "average2": lambda x: np.average(L, weights=x),
    "convolve": lambda x: np.convolve(L, x, "same"),
    "correlate": lambda x: np.correlate(x, L, "same"),
    "kron": lambda x: np.kron(L, x),
    "outer": lambda x: np.outer(L, x),
    "cross": lambda x: np.cross(L, x),
    "inner": lambda x: np.inner(L, x),
    "dot": lambda x: np.dot(L, x),
    "vdot": lambda x: np.vdot(L, x),
    "tensordot": lambda x: np.tensordot(L, x, 1),
    "einsum": lambda x: np.einsum("i,i->", L, x),
    "matmul": lambda x: np.matmul([L, L], x),
    "where": lambda x: np.where([True, False, True], x, L),
    "where2": lambda x: np.where([True, False, True], L, x),
    "clip": lambda x: np.clip(x, [0.0, 0.0, 0.0], [1, 1, 1]),
    "clip2": lambda x: np.clip(L, x, 5),
    "maximum": lambda x: np.maximum(L, x),
    "select": lambda x: np.select([[True, False, False], [False, True, False]], [x, L], 0),
    "choose": lambda x: np.choose([0, 1, 0], [x, L]),
    "take": lambda x: np.take(x, [0, 2]),
    "take_along": lambda x: np.take_along_axis(x, np.array([0, 1]), 0),
    "compress": lambda x: np.compress([1, 0, 1], x),
    "extract": lambda x: np.extract([1, 0, 1], x),
    "place": lambda x: written(lambda c: np.place(c, [True, False, True], L), x),
    "put": lambda x: written(lambda c: np.put(c, [0, 1], L), x),
    "putmask": lambda x: written(lambda c: np.putmask(c, [True, False, True], L), x),
    "copyto": lambda x: written(lambda c: np.copyto(c, L), x),
    "insert": lambda x: np.insert(L, 1, x),
    "insert2": lambda x: np.insert(x, [1, 2], [5.0, 6.0]),
    "append": lambda x: np.append(x, L),
    "append2": lambda x: np.append(L, x),
    "delete": lambda x: np.delete(x, [0, 1]),
    "diff": lambda x: np.diff(x, prepend=L),
    "diff2": lambda x: np.diff(L, prepend=x),
    "ediff1d": lambda x: np.ediff1d(x, to_end=L),
    "concatenate": lambda x: np.concatenate((L, x)),
    "stack": lambda x: np.stack((L, x)),
    "vstack": lambda x: np.vstack((L, x)),
    "hstack": lambda x: np.hstack((L, x)),
    "dstack": lambda x: np.dstack((L, x)),
    "column_stack": lambda x: np.column_stack((L, x)),
    "meshgrid": lambda x: np.meshgrid(L, x)[1],
    "linspace": lambda x: np.linspace(L, x, 3),
    "linspace2": lambda x: np.linspace(x, 2, 3),
    "geomspace": lambda x: np.geomspace(L, x**2, 3),
    "logspace": lambda x: np.logspace(L, x, 3),
    "bincount": lambda x: np.bincount([0, 1, 1], x),
    "histogram": lambda x: np.histogram(L, 3, weights=x)[0],
    "histogram2d": lambda x: np.histogram2d(L, L, 2, weights=x)[0],
    "histogramdd": lambda x: np.histogramdd([L, L], 2, weights=x)[0],
    "quantile": lambda x: np.quantile(x, [0.1, 0.5]),
    "percentile": lambda x: np.percentile(x, (10, 50)),
    "quantile q": lambda x: np.quantile(L, x[:1]),
    "union1d": lambda x: np.union1d(L, x),
    "setdiff1d": lambda x: np.setdiff1d(x, L),
    "setxor1d": lambda x: np.setxor1d(L, x),
    "piecewise": lambda x: np.piecewise(x, [[True, False, False]], [lambda v: v**2, 0.0]),
    "apply_over": lambda x: np.apply_over_axes(np.sum, np.stack([x, x]), [0, 1]),
    "unwrap": lambda x: np.unwrap(x, period=2.0),
    "pad": lambda x: np.pad(x, [1, 2]),
    "roll": lambda x: np.roll(x, 1),
    "repeat": lambda x: np.repeat(x, [1, 2, 0]),
    "tile": lambda x: np.tile(x, [2, 2]),
    "split": lambda x: np.split(x, [1])[1],
    "lexsort": lambda x: x[np.lexsort((x, L))],
    "searchsorted": lambda x: np.searchsorted(L, x) * 1.0,
    "digitize": lambda x: np.digitize(L, np.sort(x)) * 1.0,
    "isin": lambda x: np.isin(x, L) * 1.0,
    "add.at": lambda x: written(lambda c: np.add.at(c, [0, 0, 1], L), x),
    "multiply.at": lambda x: written(lambda c: np.multiply.at(c, [0, 0, 1], L), x),
    "add.outer": lambda x: np.add.outer(L, x),
    "add.reduceat": lambda x: np.add.reduceat(x, [0, 2]),
    "power": lambda x: np.power(L, x),
    "arctan2": lambda x: np.arctan2(x, L),
    "heaviside": lambda x: np.heaviside(L, x),
    "ldexp": lambda x: np.ldexp(x, [1, 2, 3]),
    "nan_to_num": lambda x: np.nan_to_num(x, nan=1),
    "vecdot": lambda x: np.vecdot(L, x),
    "matvec": lambda x: np.matvec([L, L], x),
    "vecmat": lambda x: np.vecmat(x, [[1.0], [2.0], [3.0]]),
    "solve": lambda x: np.linalg.solve([[1, 0, 0], [0, 2, 0], [1, 0, 1]], x),
    "multi_dot": lambda x: np.linalg.multi_dot([np.array([L, L, L]), x]),
    "mean where": lambda x: np.mean(x, where=[True, False, True]),
    "sum initial": lambda x: np.sum(x, initial=x[0]),
    "max where": lambda x: np.max(x, where=[True, False, True], initial=-5),
}


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_lists(f):
    def total(x):
        return np.sum(f(x) * 1.0)

    slopes = [(total(X + STEP * e) - total(X - STEP * e)) / (2 * STEP) for e in np.eye(3)]
    np.testing.assert_allclose(gv.grad(total)(X), slopes, rtol=1e-5, atol=1e-6)
