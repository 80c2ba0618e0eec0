"""A. Wrong gradients and crashes on NumPy semantics."""

import numpy as onp

from tests.cases.expect import check, error, stored, value
from tests.cases.registry import case, rng


@case(
    id="A01",
    source="HIPS/autograd#39; pytorch/pytorch#1528",
    expect=value((onp.array([7.0, 0.0, 3.0]), onp.array([[0.0, 0.0], [11.0, 22.0]]))),
)
def repeated_integer_index_accumulates(np, gv):
    """Selecting an element several times must add up its gradients; a plain `+=` scatter
    keeps only the last one. Also a repeated (row, column) pair."""
    w = onp.array([1.0, 2.0, 3.0, 4.0])
    g1 = gv.grad(lambda x: np.sum(w * x[onp.array([0, 0, 2, 0])]))(onp.array([1.0, 2.0, 3.0]))
    r, c = onp.array([1, 1, 1, 1]), onp.array([0, 1, 1, 0])
    v = onp.array([1.0, 2.0, 20.0, 10.0])
    g2 = gv.grad(lambda x: np.sum(v * x[r, c]))(onp.ones((2, 2)))
    return g1, g2


@case(id="A05", source="HIPS/autograd#242; HIPS/autograd pull 31", expect=stored())
def einsum_summed_out_and_repeated_labels(np, gv):
    """Labels summed inside one operand, a repeated label (trace, diagonal), implicit output,
    the operand/sublist calling form and three operands."""
    x4, m, v = rng(0).randn(3, 2, 3, 2), rng(1).randn(3, 3), rng(2).randn(3)
    t3 = rng(3).randn(3, 3, 4)
    return (
        gv.grad(lambda x: np.sum(np.einsum("abcd->bd", x) ** 2))(x4),
        gv.grad(lambda m: np.einsum("ii", m) ** 2)(m),
        gv.grad(lambda m: np.sum(np.einsum("ii->i", m) ** 3))(m),
        gv.grad(lambda t: np.sum(np.einsum("iij->j", t) ** 2))(t3),
        gv.grad(lambda m: np.sum(np.einsum("ij,j,i", m, v, v) * m[0, 0]))(m),
        gv.grad(lambda m: np.sum(np.einsum(m, [0, 1], v, [1], [0]) ** 2))(m),
    )


@case(id="A07", source="HIPS/autograd#466; HIPS/autograd pull 473", expect=stored())
def tensordot_axes_forms(np, gv):
    """Every way to name the contracted axes: an int (0, 1, 2), a pair of ints, pairs of
    lists in crossed order, negative axes."""
    a, b = rng(0).randn(2, 3, 4), rng(1).randn(4, 3, 2)
    out = []
    for axes in (0, 1, (0, 2), ((0, 2), (2, 0)), ((-1, 1), (0, 1))):
        f = lambda a, b: np.sum(np.sin(np.tensordot(a, b, axes)))
        out.append(gv.grad(f, (0, 1))(a, b))
    g = gv.grad(lambda x: np.sum(np.tensordot(onp.array([1.0, 0.0]), x, (0, 1)) * onp.array([5.0, 7.0])))
    out.append(g(onp.ones((2, 2))))
    return tuple(out)


def _ties(r):
    mx, twice, relu, clip, ab = [onp.asarray(v, float) for v in r]
    if not onp.all(onp.isfinite(onp.concatenate([onp.ravel(v) for v in (mx, twice, relu, clip, ab)]))):
        return "non-finite subgradient"
    if mx[0] != 0 or (mx < 0).any() or abs(mx.sum() - 1) > 1e-12:
        return f"max over ties is no subgradient: {mx}"
    if abs(twice - 1) > 1e-12:
        return f"d/dx max(x,x) must be 1, got {twice}"
    if not 0 <= relu <= 1:
        return f"maximum(x,0) at 0: {relu}"
    if (clip < 0).any() or (clip > 1).any() or clip[1] != 1 or clip[3] != 0:
        return f"clip: {clip}"
    if not -1 <= ab <= 1:
        return f"abs at 0: {ab}"
    return True


@case(
    id="A10",
    source="jax-ml/jax#13600; pytorch/pytorch#184572; HIPS/autograd pull 141; Theano/Theano#4568",
    expect=check(_ties, "a valid subgradient at ties"),
)
def ties_of_max_clip_abs(np, gv):
    """At ties any convention is fine so long as it is a subgradient: max must not hand a full
    1 to every maximum, and max over two copies of x must have slope 1."""
    mx = gv.grad(lambda x: np.max(x))(onp.array([1.0, 3.0, 3.0]))
    twice = gv.grad(lambda x: np.max(np.stack([x, x])))(2.0)
    relu = gv.grad(lambda x: np.maximum(x, 0.0))(0.0)
    clip = gv.grad(lambda x: np.sum(np.clip(x, -1.0, 1.0)))(onp.array([-1.0, 0.0, 1.0, 5.0]))
    return mx, twice, relu, clip, gv.grad(lambda x: np.abs(x))(0.0)


@case(
    id="A11",
    source="HIPS/autograd#151; HIPS/autograd#570; jax-ml/jax#21723; rsokl/MyGrad#378",
    expect=value((onp.zeros(3), onp.zeros((2, 2)), onp.array([[0.0, 0.0], [0.6, 0.8]]))),
)
def norm_at_zero(np, gv):
    """A zero vector must not poison the gradient: norm(x)**2 has derivative 0 there, norm(x)
    the subgradient 0, and one zero row must leave the other rows alone."""
    return (
        gv.grad(lambda x: np.linalg.norm(x) ** 2)(onp.zeros(3)),
        gv.grad(lambda x: np.linalg.norm(x))(onp.zeros((2, 2))),
        gv.grad(lambda x: np.sum(np.linalg.norm(x, axis=1)))(onp.array([[0.0, 0.0], [3.0, 4.0]])),
    )


def _spectral(r):
    a = onp.diag([1.0, 1.0, 2.0, 3.0])
    want = (a / onp.sqrt(15.0), 2 * onp.eye(3) * 2)
    for g, w, n in zip(r, want, ("svd", "eigh")):
        if not onp.allclose(onp.asarray(g), w, atol=1e-8):
            return n + ": " + str(onp.asarray(g).ravel()[:4])
    return True


@case(
    id="A17",
    source="jax-ml/jax#8732; jax-ml/jax#2311; under-Peter/TensorNetworkAD.jl pull 2",
    expect=check(_spectral, "gauge-invariant functions stay finite and right"),
)
def equal_singular_values_and_eigenvalues(np, gv):
    """U S V rebuilt and a sum over eigenvalues do not depend on the choice of vectors, so their
    gradient exists when values coincide; 1/(si-sj) must not produce NaN."""

    def f(a):
        u, s, vh = np.linalg.svd(a, full_matrices=False)
        return np.sqrt(np.sum(((u * s) @ vh) ** 2))

    g1 = gv.grad(f)(onp.diag([1.0, 1.0, 2.0, 3.0]))

    def h(a):
        w, v = np.linalg.eigh(a)
        return np.sum(w**2)

    return g1, gv.grad(h)(2 * onp.eye(3))


@case(id="A18", source="HIPS/autograd pull 56; jax-ml/jax#40421; pytorch/pytorch#18825", expect=stored())
def cholesky_logdet_and_solve(np, gv):
    """Log-determinant by Cholesky of B B^T + I, differentiated by B, is free of the
    triangle/symmetry convention. Also the symmetrised gradient by the matrix itself (= inverse)
    and a solve with the factor."""
    b = rng(0).randn(3, 3)
    x = b @ b.T + onp.eye(3)
    logdet = lambda m: 2 * np.sum(np.log(np.diag(np.linalg.cholesky(m))))
    g1 = gv.grad(lambda b: logdet(b @ np.transpose(b) + onp.eye(3)))(b)
    g2 = gv.grad(lambda m: logdet((m + np.transpose(m)) / 2))(x)
    g3 = gv.grad(
        lambda b: np.sum(np.linalg.solve(np.linalg.cholesky(b @ np.transpose(b) + onp.eye(3)), onp.arange(3.0)) ** 2)
    )(b)
    return g1, g2, g3


@case(id="A20", source="HIPS/autograd#361; HIPS/autograd#577", expect=error(clear=r"real|complex|holomorphic"))
def gradient_of_a_complex_output(np, gv):
    """grad of a function with a complex scalar output has no single meaning: ask for a real
    output with a clear message instead of returning a made-up number."""
    return gv.grad(lambda z: z * z)(onp.array(1.0 + 2.0j))


@case(id="A22", source="pytorch/pytorch#171704; HIPS/autograd#372; HIPS/autograd pull 29", expect=stored())
def trace_diag_diagonal_offsets(np, gv):
    """trace, diagonal and diag with offsets on tall and wide matrices, diag of a vector, and
    diagonal over chosen axes of a 3-d array."""
    t, w = rng(0).randn(4, 2), rng(1).randn(2, 5)
    c = rng(2).randn(3, 4, 3)
    v = onp.array([1.0, 2.0, 3.0])
    return (
        gv.grad(lambda t: np.trace(t))(t),
        gv.grad(lambda t: np.trace(t, -2))(t),
        gv.grad(lambda w: np.trace(w, 3) ** 2)(w),
        gv.grad(lambda t: np.sum(np.diagonal(t, -1) ** 2))(t),
        gv.grad(lambda w: np.sum(np.diag(w, 1) ** 3))(w),
        gv.grad(lambda v: np.sum(np.diag(v, -1) ** 2 * 2))(v),
        gv.grad(lambda c: np.sum(np.diagonal(c, 0, 0, 2) ** 2))(c),
    )


@case(id="A23", source="HIPS/autograd#349; Theano/Theano#3024", expect=stored())
def sort_and_median_along_axes(np, gv):
    """Sorting along any axis of a matrix, a partial gather by argsort, and an even-length
    median; the backward permutation must follow the axis."""
    x = rng(0).randn(4, 3)
    w = rng(1).randn(4, 3)
    return (
        gv.grad(lambda x: np.sum(np.sort(x, axis=0) * w))(x),
        gv.grad(lambda x: np.sum(np.sort(x, axis=1) ** 2 * w))(x),
        gv.grad(lambda x: np.sum(np.sort(x, axis=None) * w.ravel()))(x),
        gv.grad(lambda x: np.sum(np.take_along_axis(x, onp.argsort(rng(0).randn(4, 3), 0), 0) * w))(x),
        gv.grad(lambda x: np.sum(np.median(x, axis=0)))(x),
    )


def _dtypes(r):
    bad = {k: str(onp.asarray(v).dtype) for k, v in r.items() if onp.asarray(v).dtype != onp.float32}
    return True if not bad else f"not float32: {bad}"


@case(
    id="A24",
    source="HIPS/autograd#163; HIPS/autograd#671; pytorch/pytorch#160513; HIPS/autograd pull 199",
    expect=check(_dtypes, "float32 in, float32 out"),
)
def float32_is_preserved(np, gv):
    """Python scalars, a mean (division by a count), max ties, std, a power, a norm and an
    einsum must not lift gradients or tangents of float32 input to float64."""
    x = rng(0).randn(4, 3).astype(onp.float32)
    out = {}
    for name, f in {
        "scalar": lambda x: np.sum(0.5 * x + 1.0),
        "mean": lambda x: np.mean(x**2),
        "max": lambda x: np.sum(np.max(x, axis=1)),
        "std": lambda x: np.std(x),
        "pow": lambda x: np.sum(np.exp(x) ** 1.5),
        "norm": lambda x: np.linalg.norm(x),
        "einsum": lambda x: np.sum(np.einsum("ij,kj->ik", x, x)),
        "index": lambda x: np.sum(x[onp.array([0, 0])] * 2.0),
    }.items():
        out[name] = gv.grad(f)(x)
    out["tangent"] = gv.jvp(lambda x: 0.5 * x[0] * 2.0, (x,), (x,))[1]
    return out


@case(
    id="A25",
    source="cupy/cupy#3576; HIPS/autograd#304",
    expect=value((onp.array([2.0, 4.0], onp.float32), onp.array([[6.0], [8.0]]), 3.0), check_dtype=True, rtol=1e-5),
)
def join_of_mixed_dtypes(np, gv):
    """concatenate / stack / array over a float32 array, a float64 array and a Python float:
    each input's gradient comes back in its own dtype and shape."""
    a, b = onp.array([1.0, 2.0], onp.float32), onp.array([[3.0], [4.0]])

    def f(a, b, s):
        c = np.concatenate([a, np.ravel(b)])
        return np.sum(c**2) + 3 * np.sum(np.stack([s, np.sum(a) * 0]))

    return gv.grad(f, (0, 1, 2))(a, b, 1.5)


@case(
    id="A27",
    source="openai/guided-diffusion#167; pytorch/pytorch pull 14253; allenai/OLMo-core pull 828",
    expect=check(
        lambda r: True if onp.allclose(r[0], r[1]) else "recomputed with other random numbers",
        "same gradient with and without recomputation",
    ),
)
def recompute_with_random_numbers(np, gv):
    """A recomputed block that draws from numpy's global generator must see the same draws in
    backward as in forward (restore the state, or refuse)."""
    x = onp.linspace(1.0, 2.0, 50)

    def block(x):
        keep = onp.random.rand(50) < 0.5
        return np.sum(np.sin(x) * keep) ** 2

    onp.random.seed(7)
    g1 = gv.grad(block)(x)
    onp.random.seed(7)
    g2 = gv.grad(gv.checkpoint(block))(x)
    return onp.asarray(g1), onp.asarray(g2)


@case(id="A29", source="elixir-nx/nx#1748; pytorch/pytorch#196694", expect=stored())
def stacked_linear_algebra(np, gv):
    """solve / inv / det / slogdet on stacks, with a broadcast right-hand side and a 1-d
    right-hand side."""
    a = rng(0).randn(2, 3, 3) + 3 * onp.eye(3)
    b, v = rng(1).randn(3, 2), rng(2).randn(3)
    w = rng(3).randn(2, 3, 2)
    return (
        gv.grad(lambda a, b: np.sum(np.linalg.solve(a, b) * w), (0, 1))(a, onp.stack([b, 2 * b])),
        gv.grad(lambda m, v: np.sum(np.linalg.solve(m, v) ** 2), (0, 1))(a[0], v),
        gv.grad(lambda a: np.sum(np.linalg.inv(a) ** 2))(a),
        gv.grad(lambda a: np.sum(np.sin(np.linalg.det(a))))(a),
        gv.grad(lambda a: np.sum(np.linalg.slogdet(a)[1] ** 2))(a),
    )


@case(id="A30", source="tensorflow/tensorflow#35172; FluxML/Zygote.jl#217", expect=stored())
def second_order_through_indexing(np, gv):
    """Hessian, Hessian-vector product by jvp of grad, and grad of a jvp, through integer and
    mask indexing, a closure over an outer traced value and a broadcast."""
    x, v = onp.array([1.0, 2.0, 3.0]), onp.array([1.0, -1.0, 0.5])
    f = lambda x: np.sum(x[onp.array([True, True, True])] ** 3) + x[0] * x[onp.array([1, 1])][0] ** 2
    h = gv.hessian(f)(x)
    hvp = gv.jvp(gv.grad(f), (x,), (v,))[1]
    outer = gv.grad(lambda a: gv.grad(lambda b: np.sum(a * b**2 * a[0]))(onp.ones(3))[1])(x)
    return h, hvp, outer


@case(id="A31", source="HIPS/autograd pull 148; pytorch/pytorch#65599; pytorch/pytorch#18275", expect=stored())
def norm_orders(np, gv):
    """Vector orders 1, 3, inf, -inf, 0.5 and matrix orders fro, nuc, 1, inf, 2 at points where
    they are differentiable, with axis given and omitted."""
    x, m = onp.array([1.0, -2.0, 4.0]), rng(0).randn(3, 4)
    out = [gv.grad(lambda x: np.linalg.norm(x, o))(x) for o in (1, 3, onp.inf, -onp.inf, 0.5)]
    out += [gv.grad(lambda m: np.linalg.norm(m, o))(m) for o in ("fro", "nuc", 1, onp.inf, 2)]
    out += [gv.grad(lambda m: np.sum(np.linalg.norm(m, axis=0, keepdims=True) ** 3))(m)]
    return tuple(out)
