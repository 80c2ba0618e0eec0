"""Does a simulated GPU compute what NumPy computes?"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.special

from gradviz.devices.sim import SimArray, simulate

xp = simulate("a100", fresh=True)
RNG = np.random.default_rng(0)

LAYOUTS = {
    "0-d": lambda a: a[1, 2, 3],
    "empty": lambda a: a[:0, 0],
    "C": lambda a: a[0],
    "F": lambda a: np.asfortranarray(a[0]),
    "transposed": lambda a: a[0].T,
    "strided": lambda a: a[:, ::2, 1],
    "reversed": lambda a: a[1, ::-1, ::-1],
    "3-d": lambda a: a,
}
DTYPES = ["bool", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]


def data(dtype: str, layout: str) -> np.ndarray:
    """Host values; a simulated array made from them has the same layout."""
    base = RNG.uniform(0.5, 2.5, (2, 4, 4))
    if dtype.startswith("complex"):
        base = base + 1j * RNG.uniform(-1, 1, base.shape)
    if dtype == "bool":
        base = base > 1.5
    return np.asarray(LAYOUTS[layout](base.astype(dtype)))


def on_device(host: np.ndarray) -> SimArray:
    """A device array of the same layout: the layout's view is taken there."""
    device = xp.empty(host.shape, host.dtype)
    if host.ndim and host.strides != device.strides and host.size:
        order = sorted(range(host.ndim), key=lambda axis: -abs(host.strides[axis]))
        device = xp.empty([host.shape[axis] for axis in order], host.dtype).transpose(*np.argsort(order))
        device = device[tuple(slice(None, None, -1 if stride < 0 else 1) for stride in host.strides)]
    device[...] = xp.asarray(host)
    return device


def same(got, want) -> None:
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            same(g, w)
        return
    assert isinstance(got, SimArray), f"a result left the device: {type(got)}"
    got, want = got.get(), np.asarray(want)
    assert got.dtype == want.dtype
    tolerance = {"e": 1e-2, "f": 1e-5, "F": 1e-5}.get(want.dtype.char, 1e-12)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def agree(func, *hosts: np.ndarray) -> None:
    """The same function on host arrays and on device arrays."""
    with np.errstate(all="ignore"), warnings.catch_warnings(category=RuntimeWarning, action="ignore"):
        try:
            want = func(*hosts)
        except (TypeError, ValueError, IndexError, np.linalg.LinAlgError, RuntimeWarning, DeprecationWarning) as error:
            with pytest.raises(type(error)):
                func(*map(on_device, hosts))
            return
    same(func(*map(on_device, hosts)), want)


UFUNCS = sorted(
    name
    for name in dir(np)
    if isinstance(getattr(np, name), np.ufunc) and name not in {"isnat", "matvec", "spacing", "vecdot", "vecmat"}
)


@pytest.mark.parametrize("name", UFUNCS)
def test_every_ufunc_in_every_dtype(name: str) -> None:
    ufunc = getattr(np, name)
    for dtype in DTYPES:
        hosts = [data(dtype, "C") for _ in range(ufunc.nin)]
        agree(ufunc, *hosts)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "name", ["add", "multiply", "divide", "exp", "sqrt", "conjugate", "maximum", "less", "arctan2"]
)
def test_ufuncs_in_every_layout(name: str, layout: str) -> None:
    ufunc = getattr(np, name)
    for dtype in ("float32", "float64", "complex128"):
        agree(ufunc, *(data(dtype, layout) for _ in range(ufunc.nin)))


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "@": lambda a, b: a @ b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "divmod": divmod,
    "neg": lambda a, b: -a,
    "pos": lambda a, b: +a,
    "abs": lambda a, b: abs(a),
}


@pytest.mark.parametrize("symbol", OPERATORS)
def test_operators(symbol: str) -> None:
    for dtype in ("float32", "float64"):
        for layout in ("0-d", "C", "transposed", "empty"):
            agree(OPERATORS[symbol], data(dtype, layout), data(dtype, layout))


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "//", "%", "**", "<", ">=", "==", "!="])
@pytest.mark.parametrize("scalar", [2, 2.5, np.float32(1.5), np.float64(1.5), np.int64(3), True], ids=repr)
def test_scalars_promote_as_in_numpy(symbol: str, scalar) -> None:
    for dtype in ("int32", "float32", "float64"):
        host = data(dtype, "C")
        agree(lambda a: OPERATORS[symbol](a, scalar), host)
        agree(lambda a: OPERATORS[symbol](scalar, a), host)


@pytest.mark.parametrize("symbol", ["&", "|", "^", "<<", ">>", "~"])
def test_bit_operators(symbol: str) -> None:
    operate = {
        "&": lambda a, b: a & b,
        "|": lambda a, b: a | b,
        "^": lambda a, b: a ^ b,
        "<<": lambda a, b: a << b,
        ">>": lambda a, b: a >> b,
        "~": lambda a, b: ~a,
    }[symbol]
    agree(operate, data("int64", "C"), data("int64", "C"))
    agree(lambda a: operate(a, 1), data("int32", "C"))


def test_in_place_operators_keep_the_array() -> None:
    for update in (
        lambda a, b: a.__iadd__(b),
        lambda a, b: a.__isub__(b),
        lambda a, b: a.__imul__(b),
        lambda a, b: a.__itruediv__(b),
        lambda a, b: a.__ifloordiv__(b),
        lambda a, b: a.__imod__(b),
        lambda a, b: a.__ipow__(b),
    ):
        host, other = data("float64", "C"), data("float64", "C")
        a = on_device(host)
        before = a._memory
        assert update(a, on_device(other)) is a
        assert a._memory is before
        same(a, update(host, other))


def spd(a):
    """A positive definite matrix from any."""
    return np.matmul(a, np.conj(np.swapaxes(a, -1, -2))) + np.asarray(3.0 * np.eye(a.shape[-1]), like=a)


FUNCTIONS = {
    "sum": np.sum,
    "sum axis": lambda a: np.sum(a, axis=0),
    "sum keep": lambda a: np.sum(a, axis=-1, keepdims=True),
    "mean": np.mean,
    "var": np.var,
    "std": lambda a: np.std(a, axis=0, ddof=1),
    "prod": np.prod,
    "max": np.max,
    "min axis": lambda a: np.min(a, axis=0),
    "argmax": lambda a: np.argmax(a, axis=0),
    "argmin": np.argmin,
    "ptp": np.ptp,
    "any": np.any,
    "all": lambda a: np.all(a, axis=0),
    "cumsum": lambda a: np.cumsum(a, axis=-1),
    "cumprod": np.cumprod,
    "count_nonzero": np.count_nonzero,
    "median": np.median,
    "average": np.average,
    "nansum": np.nansum,
    "percentile": lambda a: np.percentile(a, 30.0),
    "quantile": lambda a: np.quantile(a, [0.1, 0.5], axis=0),
    "add.reduce": lambda a: np.add.reduce(a, axis=None),
    "add.accumulate": np.add.accumulate,
    "multiply.reduce": lambda a: np.multiply.reduce(a, axis=None),
    "add.outer": lambda a: np.add.outer(a, a),
    "reshape": lambda a: np.reshape(a, -1),
    "ravel": np.ravel,
    "transpose": np.transpose,
    "swapaxes": lambda a: np.swapaxes(a, 0, -1),
    "moveaxis": lambda a: np.moveaxis(a, 0, -1),
    "flip": np.flip,
    "expand_dims": lambda a: np.expand_dims(a, (0, 2)),
    "squeeze": lambda a: np.squeeze(np.expand_dims(a, 0)),
    "broadcast_to": lambda a: np.broadcast_to(a, (3, *a.shape)),
    "broadcast_arrays": lambda a: np.broadcast_arrays(a, a[..., :1]),
    "concatenate": lambda a: np.concatenate([a, a], axis=0),
    "stack": lambda a: np.stack([a, a], axis=-1),
    "vstack": lambda a: np.vstack((a, a)),
    "hstack": lambda a: np.hstack([a, a]),
    "dstack": lambda a: np.dstack([a, a]),
    "column_stack": lambda a: np.column_stack([a, a]),
    "append": lambda a: np.append(a, a),
    "split": lambda a: np.split(a, 2),
    "array_split": lambda a: np.array_split(a, 3, axis=-1),
    "hsplit": lambda a: np.hsplit(a, 2),
    "tile": lambda a: np.tile(a, 2),
    "repeat": lambda a: np.repeat(a, 2, axis=0),
    "repeat list": lambda a: np.repeat(a, [2] * a.size),
    "roll": lambda a: np.roll(a, 1, axis=0),
    "rot90": np.rot90,
    "pad": lambda a: np.pad(a, 1),
    "pad reflect": lambda a: np.pad(a, 1, mode="reflect"),
    "triu": np.triu,
    "tril": lambda a: np.tril(a, -1),
    "diag": np.diag,
    "diagonal": np.diagonal,
    "trace": np.trace,
    "diagflat": np.diagflat,
    "atleast_2d": np.atleast_2d,
    "atleast_3d": np.atleast_3d,
    "where": lambda a: np.where(a.real > 1, a, 0.0),
    "where 2": lambda a: np.where(a.real > 1, 2, a),
    "select": lambda a: np.select([a.real > 2, a.real > 1], [a, 2 * a], 0),
    "clip": lambda a: np.clip(a, 0.8, 1.5),
    "sort": lambda a: np.sort(a, axis=0),
    "argsort": lambda a: np.argsort(a, axis=-1),
    "sort all": lambda a: np.sort(a, axis=None),
    "partition": lambda a: np.sort(np.partition(a, 1)),
    "unique": np.unique,
    "unique counts": lambda a: np.unique(a, return_counts=True),
    "searchsorted": lambda a: np.searchsorted(np.sort(a.ravel()), a),
    "diff": np.diff,
    "gradient": np.gradient,
    "zeros_like": np.zeros_like,
    "ones_like": lambda a: np.ones_like(a, dtype=np.float32),
    "full_like": lambda a: np.full_like(a, 2),
    "empty_like": lambda a: np.empty_like(a).fill(0) or np.zeros_like(a),
    "copy": np.copy,
    "real": np.real,
    "imag": np.imag,
    "angle": np.angle,
    "isclose": lambda a: np.isclose(a, a + 1e-9),
    "allclose": lambda a: np.allclose(a, a),
    "array_equal": lambda a: np.array_equal(a, a),
    "nan_to_num": np.nan_to_num,
    "round": lambda a: np.round(a, 1),
    "sinc": np.sinc,
    "take": lambda a: np.take(a, [-1, 0], axis=0),
    "take_along_axis": lambda a: np.take_along_axis(a, np.argsort(a, axis=-1), -1),
    "nonzero": np.nonzero,
    "argwhere": np.argwhere,
    "flatnonzero": np.flatnonzero,
    "where 1": lambda a: np.where(a),
    "compress": lambda a: np.compress([True, False], a, axis=0),
    "extract": lambda a: np.extract(a.real > 1, a),
    "interp": lambda a: np.interp(a, np.sort(a.ravel()), a.ravel()),
    "trapezoid": np.trapezoid,
    "kron": lambda a: np.kron(a, a),
    "outer": lambda a: np.outer(a, a),
    "cross": lambda a: np.cross(a[..., :3], a[..., :3] + 1),
    "vander": lambda a: np.vander(a.ravel()),
    "convolve": lambda a: np.convolve(a.ravel(), a.ravel()[:3]),
    "cov": np.cov,
    "polyval": lambda a: np.polyval(a.ravel(), 0.5),
    "astype": lambda a: a.astype(np.complex64),
    "meshgrid": lambda a: list(np.meshgrid(a.ravel(), a.ravel())),
    "delete": lambda a: np.delete(a, 0, axis=0),
    "linspace": lambda a: np.linspace(a, 2 * a, 3),
    "unwrap": np.unwrap,
    "nanmax": np.nanmax,
    "nanmean": np.nanmean,
    "digitize": lambda a: np.digitize(a, np.sort(a.ravel())),
    "logical": lambda a: np.logical_and(a, a),
    "bincount": lambda a: np.bincount(a.real.ravel().astype(np.int64)),
    "histogram": lambda a: np.histogram(a.real.ravel().astype(np.float64), 4),
    "ix_": lambda a: np.ix_(a.ravel(), a.ravel()),
    "i0": np.i0,
    "cumulative_sum": lambda a: np.cumulative_sum(a, axis=0),
    "dot": lambda a: np.dot(a, np.swapaxes(a, -1, -2)),
    "dot 0-d": lambda a: np.dot(a, np.max(a)),
    "inner": lambda a: np.inner(a, a),
    "vdot": lambda a: np.vdot(a, a),
    "matmul": lambda a: np.matmul(a, np.conj(np.swapaxes(a, -1, -2))),
    "tensordot": lambda a: np.tensordot(a, a, ([-1], [-1])),
    "tensordot all": lambda a: np.tensordot(a, a, a.ndim),
    "tensordot 0": lambda a: np.tensordot(a, a, 0),
    "norm": np.linalg.norm,
    "norm axis": lambda a: np.linalg.norm(a, axis=-1),
    "solve": lambda a: np.linalg.solve(spd(a), a),
    "inv": lambda a: np.linalg.inv(spd(a)),
    "det": lambda a: np.linalg.det(spd(a)),
    "slogdet": lambda a: tuple(np.linalg.slogdet(spd(a))),
    "cholesky": lambda a: np.linalg.cholesky(spd(a)),
    "qr": lambda a: tuple(np.linalg.qr(spd(a))),
    "eigvalsh": lambda a: np.linalg.eigvalsh(spd(a)),
    "eigh": lambda a: tuple(np.linalg.eigh(spd(a))),
    "svd": lambda a: tuple(np.linalg.svd(a, full_matrices=False)),
    "pinv": np.linalg.pinv,
    "svdvals": lambda a: np.linalg.svd(a, compute_uv=False),
    "matrix_power": lambda a: np.linalg.matrix_power(spd(a), 3),
    "cond": lambda a: np.linalg.cond(spd(a)),
    "matrix_rank": np.linalg.matrix_rank,
    "lstsq": lambda a: np.linalg.lstsq(spd(a), a)[0],
    "fft": np.fft.fft,
    "ifft": lambda a: np.fft.ifft(a, axis=0),
    "rfft": lambda a: np.fft.rfft(a.real),
    "irfft": np.fft.irfft,
    "fft2": np.fft.fft2,
    "fftn": np.fft.fftn,
    "ifftn": np.fft.ifftn,
    "rfftn": lambda a: np.fft.rfftn(a.real),
    "hfft": np.fft.hfft,
    "fftshift": np.fft.fftshift,
    "erf": lambda a: scipy.special.erf(a.real),
    "gammaln": lambda a: scipy.special.gammaln(a.real),
    "expit": lambda a: scipy.special.expit(a.real),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    for dtype in ("bool", "int64", "float32", "float64", "complex128"):
        for layout in LAYOUTS if dtype == "float64" else ("C", "strided"):
            agree(FUNCTIONS[name], data(dtype, layout))


METHODS = {
    "sum": lambda a: a.sum(0),
    "mean": lambda a: a.mean(axis=-1, keepdims=True),
    "var": lambda a: a.var(),
    "std": lambda a: a.std(0),
    "prod": lambda a: a.prod(),
    "max": lambda a: a.max(0),
    "min": lambda a: a.min(),
    "argmax": lambda a: a.argmax(0),
    "argmin": lambda a: a.argmin(),
    "any": lambda a: a.any(),
    "all": lambda a: a.all(0),
    "cumsum": lambda a: a.cumsum(0),
    "cumprod": lambda a: a.cumprod(),
    "conj": lambda a: a.conj(),
    "dot": lambda a: a.dot(a.T),
    "clip": lambda a: a.clip(0.7, 1.2),
    "round": lambda a: a.round(1),
    "diagonal": lambda a: a.diagonal(),
    "trace": lambda a: a.trace(),
    "repeat": lambda a: a.repeat(2),
    "nonzero": lambda a: a.nonzero(),
    "argsort": lambda a: a.argsort(0),
    "take": lambda a: a.take([0, -1], 0),
    "reshape": lambda a: a.reshape(-1, 1),
    "reshape F": lambda a: a.reshape(-1, order="F"),
    "ravel": lambda a: a.ravel(),
    "flatten": lambda a: a.flatten(),
    "squeeze": lambda a: a[None].squeeze(),
    "transpose": lambda a: a.transpose(),
    "swapaxes": lambda a: a.swapaxes(0, -1),
    "T": lambda a: a.T,
    "mT": lambda a: a.mT,
    "copy": lambda a: a.copy(),
    "astype": lambda a: a.astype("complex64"),
    "view": lambda a: a.view(),
    "real": lambda a: a.real,
    "imag": lambda a: a.imag,
    "compress": lambda a: a.compress([True], axis=0),
    "iter": list,
    "searchsorted": lambda a: a.ravel().searchsorted(a),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    for dtype in ("float32", "float64", "complex128"):
        for layout in LAYOUTS:
            agree(METHODS[name], data(dtype, layout))


def test_methods_that_write() -> None:
    for write in (lambda a: a.sort(0), lambda a: a.partition(1), lambda a: a.fill(3), lambda a: a.put([0, 5], [7, 8])):
        host = data("float64", "C")
        a = on_device(host)
        assert write(a) is None
        write(host)
        same(np.sort(a, axis=None), np.sort(host, axis=None))


def test_functions_that_write() -> None:
    host, a = data("float64", "C"), None
    a = on_device(host)
    for x in (host, a):
        np.copyto(x, 5.0, where=x > 2)
        np.putmask(x, x < 1, x * 2)
        np.fill_diagonal(x, -1.0)
        np.put_along_axis(x, np.argmax(x, axis=0, keepdims=True), 9.0, axis=0)
    same(a, host)


@pytest.mark.parametrize("out_dtype", ["float64", "complex128"])
def test_out_is_filled_and_handed_back(out_dtype: str) -> None:
    a, b = data("float64", "C"), data("float64", "C")
    target = xp.zeros(a.shape, out_dtype)
    assert np.multiply(on_device(a), on_device(b), out=target) is target
    same(target, np.multiply(a, b, out=np.zeros(a.shape, out_dtype)))
    total = xp.zeros(4)
    assert np.sum(on_device(a), axis=0, out=total) is total
    same(total, a.sum(0))
    product = xp.zeros((4, 4))
    assert np.matmul(on_device(a), on_device(b), out=product) is product
    same(product, a @ b)


def test_where_leaves_the_rest_of_out_alone() -> None:
    host = data("float64", "C")
    a, out = on_device(host), xp.full(host.shape, -1.0)
    np.sqrt(a, out=out, where=a > 1)
    same(out, np.sqrt(host, out=np.full(host.shape, -1.0), where=host > 1))


@pytest.mark.parametrize(
    "make",
    [
        lambda like: np.zeros((2, 3), np.float32, like=like),
        lambda like: np.identity(2, like=like),
        lambda like: np.arange(2, 8, 2, like=like),
        lambda like: np.asarray([1, 2.5], like=like),
        lambda like: np.array([[1], [2]], np.float32, like=like),
        lambda like: np.tri(3, like=like),
        lambda like: np.empty((0, 2), like=like),
        lambda like: np.asarray(3.0, like=like),
        lambda like: np.ascontiguousarray(3.0, like=like),
    ],
)
def test_creation_beside_an_array(make) -> None:
    same(make(xp.ones(1)), make(np.ones(1)))


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("abc,cd->abd", [(2, 3, 4), (4, 5)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("ij,jk->ki", [(2, 3), (3, 4)]),
        ("ij->ji", [(2, 3)]),
        ("ii->i", [(3, 3)]),
        ("ii", [(3, 3)]),
        ("ij->", [(2, 3)]),
        ("ij,ij->ij", [(2, 3), (2, 3)]),
        ("i,j->ij", [(2,), (3,)]),
        ("i,i", [(3,), (3,)]),
        (",ij->ij", [(), (2, 3)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
        ("abc,abd->cd", [(2, 3, 4), (2, 3, 5)]),
        ("abc,bd,dc->a", [(2, 3, 4), (3, 5), (5, 4)]),
        ("ij,kl->", [(2, 3), (4, 5)]),
        ("iij,jk->ik", [(2, 2, 3), (3, 4)]),
        ("ab,cb->ac", [(2, 3), (4, 3)]),
        ("i->", [(0,)]),
        ("ij,jk->ik", [(0, 3), (3, 2)]),
        ("ij,jk->ik", [(2, 0), (0, 2)]),
        ("ij,ij->ij", [(1, 3), (2, 3)]),
        ("i j , j", [(2, 3), (3,)]),
    ],
)
def test_einsum(subscripts: str, shapes: list[tuple[int, ...]], dtype: str) -> None:
    hosts = [RNG.integers(-3, 4, shape).astype(dtype) for shape in shapes]
    agree(lambda *operands: np.einsum(subscripts, *operands), *hosts)


def test_einsum_of_turned_operands_and_label_lists() -> None:
    a, b = data("complex128", "transposed"), data("complex128", "reversed")
    agree(lambda a, b: np.einsum(a, [0, 1], b, [1, 2], [2, 0]), a, b)
    agree(lambda a, b: np.einsum(a, [0, 1], b, [1, 2]), a, b)
    agree(lambda a, b: np.tensordot(a, b, ([0], [1])), a, b)
    agree(lambda a, b: np.einsum("ij,jk->ik", a, b, dtype=np.complex128, optimize=True), a, b)
    out = xp.zeros((4, 4), complex)
    assert np.einsum("ij,jk->ik", on_device(a), on_device(b), out=out) is out
    same(out, a @ b)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_round_trip(layout: str) -> None:
    for dtype in DTYPES:
        host = data(dtype, layout)
        np.testing.assert_array_equal(xp.asnumpy(xp.asarray(host)), host)
        np.testing.assert_array_equal(on_device(host).get(), host)


def test_arrays_know_their_layout() -> None:
    a = xp.zeros((3, 4), np.float32)
    assert (a.shape, a.ndim, a.size, a.nbytes, a.itemsize, a.strides, len(a)) == ((3, 4), 2, 12, 48, 4, (16, 4), 3)
    assert a.flags.c_contiguous
    assert not a.flags.f_contiguous
    assert a.T.flags["F_CONTIGUOUS"]
    assert a.flags.owndata
    assert not a.T.flags.owndata
    assert np.shape(a) == (3, 4)
    assert np.ndim(a) == 2
    assert np.size(a) == 12
    assert np.result_type(a, np.float64(1)) == np.float64
    assert not np.iscomplexobj(a)
