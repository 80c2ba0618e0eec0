"""Do healthy programs give no findings, on the host and on a simulated GPU?"""

from __future__ import annotations

import numpy as np
import pytest

import gradviz as gv
from gradviz.findings.all import find_all


def mlp(xp):
    rng = np.random.default_rng(0)
    ws = [xp.asarray(rng.normal(size=shape) * 0.1) for shape in ((64, 128), (128, 128), (128, 10))]
    x, t = xp.asarray(rng.normal(size=(256, 64))), xp.asarray(rng.normal(size=(256, 10)))

    def loss(ws, x):
        for w in ws[:-1]:
            x = np.tanh(x @ w)
        return np.mean((x @ ws[-1] - t) ** 2)

    for _ in range(5):
        ws = [w - 0.1 * g for w, g in zip(ws, gv.grad(loss)(ws, x), strict=True)]


def adam(xp):
    rng = np.random.default_rng(0)
    x, y = xp.asarray(rng.normal(size=(500, 300))), xp.asarray(rng.normal(size=500))
    w, m, v = xp.zeros(300), xp.zeros(300), xp.zeros(300)
    gradient = gv.grad(lambda w: np.mean((x @ w - y) ** 2))
    for t in range(1, 20):
        g = gradient(w)
        m *= 0.9
        m += 0.1 * g
        v *= 0.999
        v += 0.001 * g * g
        w -= 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)


def evalpoly(xp):
    def horner(p, x):
        value = p[-1]
        for i in range(len(p) - 2, -1, -1):
            value = value * x + p[i]
        return value

    gv.grad(horner, (0, 1))(xp.linspace(0.0, 1.0, 500), 0.9)


def contractions(xp):
    def loss(a, b):
        for _ in range(10):
            a = np.einsum("abc,cd->abd", a, b)
        return np.sum(a * a)

    gv.grad(loss, (0, 1))(xp.ones((32, 32, 32)), xp.full((32, 32), 1 / 32))


def recurrence(xp):
    def loss(w, x):
        h = x
        for _ in range(30):
            h = np.tanh(h @ w) + x
        return np.sum(h * h)

    gv.grad(loss)(xp.full((64, 64), 0.01), xp.ones((32, 64)))


def softmax(xp):
    def loss(x):
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return -np.sum(np.log(e[:, 0] / np.sum(e, axis=1)))

    gv.grad(loss)(xp.ones((2000, 100)))


def rows_written_in_a_loop(xp):
    def loss(x):
        rows = gv.numpy.zeros((500, 50))
        rows[0] = x
        for i in range(1, 500):
            rows[i] = rows[i - 1] * 0.99
        return np.sum(rows)

    gv.grad(loss)(np.ones(50))


@pytest.mark.parametrize("device", ["host", "sim"])
@pytest.mark.parametrize("program", [mlp, adam, evalpoly, contractions, recurrence, softmax, rows_written_in_a_loop])
def test_a_healthy_program_gives_no_finding(program, device):
    xp = np if device == "host" else gv.simulate("a100", fresh=True)
    with gv.profile() as p:
        program(xp)
    assert not [str(finding) for finding in find_all(p.trace) if finding.kind != "peak_memory"]
