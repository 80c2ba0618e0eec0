"""F. Small gradient programs people really write; all data made here, values in expected.json."""

import numpy as onp

from tests.cases.expect import stored
from tests.cases.registry import case, rng


@case(id="F01", source="HIPS/autograd examples/logistic_regression.py (pattern)", expect=stored())
def logistic_regression_training(np, gv):
    """Twenty gradient-descent steps of regularised logistic regression; final weights."""
    x = rng(0).randn(30, 3)
    t = (x @ onp.array([1.0, -2.0, 0.5]) + 0.3 * rng(1).randn(30) > 0).astype(float)

    def loss(w):
        z = np.dot(x, w)
        return np.mean(np.logaddexp(0.0, z) - t * z) + 0.01 * np.sum(w**2)

    w = onp.zeros(3)
    for _ in range(20):
        w = w - 1.0 * gv.grad(loss)(w)
    return w


@case(id="F03", source="HIPS/autograd examples/neural_net.py (pattern)", expect=stored())
def mlp_classifier(np, gv):
    """Softmax cross-entropy of a two-layer network held in a list of (W, b) tuples, one-hot by
    integer indexing, L2 term by a loop over the nested parameters."""
    r = rng(0)
    p = [(0.5 * r.randn(4, 6), 0.1 * r.randn(6)), (0.5 * r.randn(6, 3), 0.1 * r.randn(3))]
    x, t = r.randn(10, 4), r.randint(0, 3, 10)

    def loss(p):
        h = x
        for w, b in p[:-1]:
            h = np.tanh(np.dot(h, w) + b)
        z = np.dot(h, p[-1][0]) + p[-1][1]
        m = np.max(z, axis=1, keepdims=True)
        logp = z - m - np.log(np.sum(np.exp(z - m), axis=1, keepdims=True))
        return -np.mean(logp[onp.arange(10), t]) + 1e-2 * sum(np.sum(w**2) for w, _ in p)

    v, g = gv.value_and_grad(loss)(p)
    return v, tuple(tuple(layer) for layer in g)


def _ising_tensor(np, beta):
    c, s = np.sqrt(np.cosh(beta)), np.sqrt(np.sinh(beta))
    w = np.stack([np.stack([c, s]), np.stack([c, -s])])  # w[spin, bond]
    return np.einsum("ai,aj,ak,al->ijkl", w, w, w, w)


@case(id="F07", source="wangleiphy/tensorgrad 1_ising_TRG (pattern)", expect=stored(rtol=1e-5))
def ising_trg_energy(np, gv):
    """Two-dimensional Ising free energy by tensor renormalisation (SVD split, square roots of the
    singular values, truncation to 2, 4, 4, 6, 6, four-tensor contraction, running log norm) and
    its beta-derivative. The split matrices are rank deficient: equal (zero) singular values among
    the discarded ones must not put NaN into the gradient of the kept ones."""

    def lnz(beta):
        t, ln = _ising_tensor(np, beta), 0.0
        for n, k in enumerate((2, 4, 4, 6, 6)):
            f = np.max(np.abs(t))
            t, ln = t / f, ln + np.log(f) / 2**n
            d = t.shape[0]
            a = np.reshape(np.transpose(t, (0, 1, 2, 3)), (d * d, d * d))
            b = np.reshape(np.transpose(t, (3, 0, 1, 2)), (d * d, d * d))
            ua, sa, va = np.linalg.svd(a, full_matrices=False)
            ub, sb, vb = np.linalg.svd(b, full_matrices=False)
            ra, rb = np.sqrt(sa[:k]), np.sqrt(sb[:k])
            s1, s3 = np.reshape(ua[:, :k] * ra, (d, d, k)), np.reshape(ra[:, None] * va[:k], (k, d, d))
            s2, s4 = np.reshape(ub[:, :k] * rb, (d, d, k)), np.reshape(rb[:, None] * vb[:k], (k, d, d))
            t = np.einsum("war,abu,lbg,dgw->ruld", s1, s2, s3, s4)
        return ln + np.log(np.einsum("iijj->", np.transpose(t, (0, 2, 1, 3)))) / 2**5

    return gv.value_and_grad(lnz)(0.4)


@case(id="F10", source="HIPS/autograd examples/variational_autoencoder.py (pattern)", expect=stored())
def vae_elbo(np, gv):
    """Negative ELBO of a small Gaussian-Bernoulli VAE with fixed noise: split of the encoder
    output, reparametrisation, clipped Bernoulli log-likelihood."""
    r = rng(0)
    p = {"enc": (0.3 * r.randn(6, 4), onp.zeros(4)), "dec": (0.3 * r.randn(2, 6), onp.zeros(6))}
    x, eps = (r.rand(5, 6) > 0.5).astype(float), r.randn(5, 2)

    def loss(p):
        h = np.tanh(x @ p["enc"][0] + p["enc"][1])
        mu, lv = h[:, :2], h[:, 2:]
        zz = mu + np.exp(0.5 * lv) * eps
        o = 1 / (1 + np.exp(-(zz @ p["dec"][0] + p["dec"][1])))
        o = np.clip(o, 1e-6, 1 - 1e-6)
        ll = np.sum(x * np.log(o) + (1 - x) * np.log(1 - o), axis=1)
        return np.mean(0.5 * np.sum(np.exp(lv) + mu**2 - 1 - lv, axis=1) - ll)

    return gv.value_and_grad(loss)(p)


@case(id="F11", source="common curve-fitting notebooks (de Casteljau by slices)", expect=stored())
def bezier_curve_fit(np, gv):
    """Control points of a Bezier curve by de Casteljau (neighbouring slices, shrinking arrays)
    against target points, with a length penalty through norms of differences."""
    c, t = rng(0).randn(5, 2), onp.linspace(0, 1, 9)
    target = onp.stack([t, t**2], 1)

    def curve(c, u):
        while c.shape[0] > 1:
            c = (1 - u) * c[:-1] + u * c[1:]
        return c[0]

    def loss(c):
        pts = np.stack([curve(c, u) for u in t])
        return np.sum((pts - target) ** 2) + 0.1 * np.sum(np.linalg.norm(np.diff(pts, axis=0), axis=1))

    return gv.value_and_grad(loss)(c)


@case(id="F14", source="HIPS/autograd examples/fluidsim (pattern); jax-ml/jax#2491", expect=stored())
def inverse_heat_equation(np, gv):
    """Explicit heat equation with fixed ends by slices and concatenation, periodic advection by
    np.roll, misfit to an observed end state; gradient by start field and diffusivity."""
    u0, obs = onp.sin(onp.linspace(0, onp.pi, 16)) + 0.1 * rng(0).randn(16), onp.zeros(16)

    def misfit(u, k):
        for _ in range(25):
            lap = u[2:] - 2 * u[1:-1] + u[:-2]
            inner = u[1:-1] + 0.2 * np.exp(k) * lap
            u = np.concatenate([u[:1], inner, u[-1:]])
            u = u - 0.05 * (u - np.roll(u, 1))
        return np.sum((u - obs) ** 2)

    return gv.grad(misfit, (0, 1))(u0, -0.2)


@case(id="F15", source="HIPS/autograd examples/convnet.py (pattern)", expect=stored())
def convolution_and_pooling(np, gv):
    """A valid 2-d convolution as a double loop over kernel offsets with strided slices, then 2x2
    max pooling by reshape, then a padded second layer."""
    r = rng(0)
    x, k1, k2 = r.randn(2, 1, 7, 7), r.randn(3, 1, 2, 2), r.randn(2, 3, 3, 3)

    def conv(x, k):
        n, _, h, w = x.shape
        o, _, a, b = k.shape
        s = 0.0
        for i in range(a):
            for j in range(b):
                s = s + np.einsum("nchw,oc->nohw", x[:, :, i : h - a + 1 + i, j : w - b + 1 + j], k[:, :, i, j])
        return s

    def loss(k1, k2):
        h = np.maximum(conv(x, k1), 0.0)  # 6x6
        h = np.max(np.reshape(h, (2, 3, 3, 2, 3, 2)), axis=(3, 5))
        h = np.pad(h, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="constant")
        return np.sum(np.tanh(conv(h, k2)) ** 2)

    return gv.grad(loss, (0, 1))(k1, k2)


@case(id="F17", source="jax-ml/jax#9040; jax-ml/jax#8128 (pattern)", expect=stored())
def matrix_factorisation_with_missing_data(np, gv):
    """Low-rank factorisation of a matrix with NaN for missing entries, masked by np.where on the
    residual; NaN data must not reach the gradient. Second factor rows picked by an index list."""
    r = rng(0)
    m = r.randn(6, 5)
    m[1, 2] = m[4, 0] = onp.nan
    u, v = r.randn(6, 2), r.randn(5, 2)
    seen = ~onp.isnan(m)

    def loss(u, v):
        e = np.where(seen, np.where(seen, m, 0.0) - u @ np.transpose(v), 0.0)
        return np.sum(e**2) + 0.1 * np.sum(u[onp.array([0, 0, 3])] ** 2) + 0.1 * np.sum(v**2)

    return gv.grad(loss, (0, 1))(u, v)


@case(id="F18", source="hand-written samplers over autograd-style libraries (pattern)", expect=stored())
def hamiltonian_monte_carlo(np, gv):
    """Ten leapfrog steps of HMC on a banana-shaped density with numpy in-place momentum updates
    on returned gradients; final position, momentum and energy error."""
    u = lambda q: 0.5 * q[0] ** 2 + 0.5 * (q[1] - q[0] ** 2) ** 2 / 0.3
    q, p = onp.array([0.5, 0.2]), onp.array([1.0, -0.4])
    h0 = u(q) + 0.5 * onp.sum(p**2)
    g = gv.grad(u)
    for _ in range(10):
        p = p - 0.05 * onp.asarray(g(q))
        q = q + 0.1 * p
        p = p - 0.05 * onp.asarray(g(q))
    return q, p, u(q) + 0.5 * onp.sum(p**2) - h0


@case(id="F19", source="google-research/ott#7; google-research/ott#9; jeanfeydy/geomloss#40 (pattern)", expect=stored())
def sinkhorn_distance(np, gv):
    """Entropic transport cost between two point clouds by 30 log-domain Sinkhorn updates,
    differentiated through the loop by the point positions."""
    x, y = rng(0).randn(5, 2), rng(1).randn(4, 2) + 0.5

    def lse(z, ax):
        m = np.max(z, axis=ax, keepdims=True)
        return np.squeeze(m, ax) + np.log(np.sum(np.exp(z - m), axis=ax))

    def cost(x):
        c = np.sum((x[:, None] - y[None]) ** 2, axis=-1)
        f, g, e = onp.zeros(5), onp.zeros(4), 0.5
        for _ in range(30):
            f = -e * lse((g[None] - c) / e + onp.log(1 / 4), 1)
            g = -e * lse((f[:, None] - c) / e + onp.log(1 / 5), 0)
        p = np.exp((f[:, None] + g[None] - c) / e) / 20
        return np.sum(p * c)

    return gv.value_and_grad(cost)(x)


@case(id="F22", source="HIPS/autograd examples/hmm_em.py (pattern)", expect=stored())
def hidden_markov_model(np, gv):
    """Forward recursion of an HMM in the log domain, parameters as unnormalised logs; the
    gradient by the initial, transition and emission tables gives expected counts."""
    r = rng(0)
    p = (r.randn(3), r.randn(3, 3), r.randn(3, 4))
    obs = r.randint(0, 4, 12)

    def lse(z, ax):
        m = np.max(z, axis=ax, keepdims=True)
        return np.log(np.sum(np.exp(z - m), axis=ax)) + np.squeeze(m, ax)

    def logp(p):
        pi = p[0] - lse(p[0], 0)
        A = p[1] - lse(p[1], 1)[:, None]
        B = p[2] - lse(p[2], 1)[:, None]
        a = pi + B[:, obs[0]]
        for o in obs[1:]:
            a = lse(a[:, None] + A, 0) + B[:, o]
        return lse(a, 0)

    return gv.value_and_grad(logp)(p)
