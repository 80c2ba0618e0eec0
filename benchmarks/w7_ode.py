"""W7: two-patch Lotka-Volterra, 4 state variables and 4 parameters, classic RK4, 2000
steps on scalars (float64); gradient of the sum of the final state wrt the parameters.

inputs: u (4 floats), p (4 floats), steps, dt.  extract: value (), p (4,).
The reference is complex-step differentiation.
"""

from __future__ import annotations

import numpy as np

import gradviz as gv
from benchmarks.compiled import compiled
from benchmarks.rivals import fresh, torch_module, warm_inductor
from benchmarks.workload import Case, Workload

W = Workload("W7", "RK4 on scalars, two-patch Lotka-Volterra", unit="step")
EPS = 0.05


def rhs(u, p):
    x1, y1, x2, y2 = u
    a, b, c, d = p
    return (
        a * x1 - b * x1 * y1 + EPS * (x2 - x1),
        d * x1 * y1 - c * y1,
        a * x2 - b * x2 * y2 + EPS * (x1 - x2),
        d * x2 * y2 - c * y2,
    )


def rk4_step(u, p, dt):
    k1 = rhs(u, p)
    k2 = rhs([v + dt / 2 * k for v, k in zip(u, k1)], p)
    k3 = rhs([v + dt / 2 * k for v, k in zip(u, k2)], p)
    k4 = rhs([v + dt * k for v, k in zip(u, k3)], p)
    return [v + dt / 6 * (q1 + 2.0 * q2 + 2.0 * q3 + q4) for v, q1, q2, q3, q4 in zip(u, k1, k2, k3, k4)]


def final(u, p, steps, dt):
    for _ in range(steps):
        u = rk4_step(u, p, dt)
    return u[0] + u[1] + u[2] + u[3]


def make_case(steps):
    u, p, dt = [1.0, 0.5, 0.7, 0.9], [1.1, 0.4, 0.9, 0.35], 0.005

    def ref():
        h, g = 1e-40, []
        for k in range(4):
            q = list(p)
            q[k] = complex(p[k], h)
            r = final(u, q, steps, dt)
            g.append(r.imag / h)
        return {"value": r.real, "p": np.array(g)}

    return Case(f"steps={steps}", steps, {"u": u, "p": p, "steps": steps, "dt": dt}, ref, rtol=1e-9, unit_count=steps)


W.cases = [make_case(2000)]
W.pilot_cases = [make_case(4), make_case(16)]


def value_p(o):
    return {"value": np.asarray(o[0]), "p": np.array([float(v) for v in o[1]])}


@compiled(W)
def gradviz_engine(case, wrap):
    i = case.inputs
    f = wrap(gv.value_and_grad(lambda p, u: final(u, p, i["steps"], i["dt"])))
    p, u = list(i["p"]), list(i["u"])
    return (lambda: f(p, u)), value_p


def torch_job(case, compiled):
    torch = torch_module()
    i = case.inputs
    u = [torch.tensor(v, dtype=torch.float64) for v in i["u"]]
    p = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in i["p"]]
    steps, dt = i["steps"], i["dt"]

    def f(u, p):
        for _ in range(steps):
            u = rk4_step(u, p, dt)
        return u[0] + u[1] + u[2] + u[3]

    if compiled == "all":
        f = torch.compile(fresh(f), dynamic=False)
    elif compiled == "step":
        one = torch.compile(fresh(rk4_step), dynamic=False)

        def f(u, p):
            for _ in range(steps):
                u = one(u, p, dt)
            return u[0] + u[1] + u[2] + u[3]

    def call():
        y = f(u, p)
        return y.detach(), torch.autograd.grad(y, p)

    return call, value_p


@W.engine("torch eager")
def torch_eager(case):
    return torch_job(case, None)


@W.engine("torch.compile, all steps", pilots=True, scale=1.5)
def torch_all(case):
    return torch_job(case, "all")


@W.engine("torch.compile, one step")
def torch_step(case):
    return torch_job(case, "step")


def jax_job(case, loop, jit):
    import jax
    import jax.numpy as jnp

    i = case.inputs
    u, p = [[jnp.asarray(v) for v in i[k]] for k in "up"]
    g = jax.value_and_grad(lambda p, u: loop(u, p, i["steps"], i["dt"]))
    if jit:
        g = jax.jit(g)
    return (lambda: jax.block_until_ready(g(p, u))), value_p


@W.engine("jax, no jit", pilots=True, scale=1)
def jax_eager(case):
    return jax_job(case, final, False)


@W.engine("jax.jit, unrolled", pilots=True, scale=2)
def jax_unrolled(case):
    return jax_job(case, final, True)


@W.engine("jax.jit, lax.scan")
def jax_scan(case):
    import jax

    def loop(u, p, steps, dt):
        u, _ = jax.lax.scan(lambda u, _: (rk4_step(u, p, dt), None), u, None, length=steps)
        return u[0] + u[1] + u[2] + u[3]

    return jax_job(case, loop, True)


@W.engine("autograd", pilots=True)
def autograd_engine(case):
    import autograd

    i = case.inputs
    g = autograd.value_and_grad(lambda p: final(i["u"], p, i["steps"], i["dt"]))
    p = tuple(i["p"])
    return (lambda: g(p)), value_p


@W.engine("mygrad", pilots=True)
def mygrad_engine(case):
    import mygrad as mg

    i = case.inputs

    def call():
        p = [mg.tensor(v) for v in i["p"]]
        y = final(i["u"], p, i["steps"], i["dt"])
        y.backward()
        return y.data, [v.grad for v in p]

    return call, value_p


@W.engine("tinygrad", pilots=True, scale=1.5)
def tinygrad_engine(case):
    from tinygrad import Tensor

    i = case.inputs
    u, p = [[Tensor(np.array([v])).realize() for v in i[k]] for k in "up"]

    def call():
        y = final(u, p, i["steps"], i["dt"]).sum()
        g = y.gradient(*p)
        Tensor.realize(y, *g)
        return y.numpy(), [v.numpy()[0] for v in g]

    return call, value_p


def numba_parts():
    import numba

    @numba.njit(inline="always")
    def f(x1, y1, x2, y2, a, b, c, d):
        return (
            a * x1 - b * x1 * y1 + EPS * (x2 - x1),
            d * x1 * y1 - c * y1,
            a * x2 - b * x2 * y2 + EPS * (x1 - x2),
            d * x2 * y2 - c * y2,
        )

    @numba.njit(inline="always")
    def f_vjp(x1, y1, x2, y2, a, b, c, d, g1, g2, g3, g4):
        return (
            (a - b * y1 - EPS) * g1 + d * y1 * g2 + EPS * g3,
            -b * x1 * g1 + (d * x1 - c) * g2,
            EPS * g1 + (a - b * y2 - EPS) * g3 + d * y2 * g4,
            -b * x2 * g3 + (d * x2 - c) * g4,
            x1 * g1 + x2 * g3,
            -x1 * y1 * g1 - x2 * y2 * g3,
            -y1 * g2 - y2 * g4,
            x1 * y1 * g2 + x2 * y2 * g4,
        )

    return numba, f, f_vjp


@W.limit("numba hand-written adjoint")
def numba_adjoint(case):
    numba, f, f_vjp = numba_parts()
    i = case.inputs

    @numba.njit(fastmath=True)
    def vjp(u, p, steps, dt, tape):
        a, b, c, d = p
        x, y, z, w = u
        h = dt / 2
        for s in range(steps):
            k1, k2, k3, k4 = f(x, y, z, w, a, b, c, d)
            x2, y2, z2, w2 = x + h * k1, y + h * k2, z + h * k3, w + h * k4
            l1, l2, l3, l4 = f(x2, y2, z2, w2, a, b, c, d)
            x3, y3, z3, w3 = x + h * l1, y + h * l2, z + h * l3, w + h * l4
            m1, m2, m3, m4 = f(x3, y3, z3, w3, a, b, c, d)
            x4, y4, z4, w4 = x + dt * m1, y + dt * m2, z + dt * m3, w + dt * m4
            n1, n2, n3, n4 = f(x4, y4, z4, w4, a, b, c, d)
            t = tape[s]
            t[0], t[1], t[2], t[3] = x, y, z, w
            t[4], t[5], t[6], t[7] = x2, y2, z2, w2
            t[8], t[9], t[10], t[11] = x3, y3, z3, w3
            t[12], t[13], t[14], t[15] = x4, y4, z4, w4
            x += dt / 6 * (k1 + 2 * l1 + 2 * m1 + n1)
            y += dt / 6 * (k2 + 2 * l2 + 2 * m2 + n2)
            z += dt / 6 * (k3 + 2 * l3 + 2 * m3 + n3)
            w += dt / 6 * (k4 + 2 * l4 + 2 * m4 + n4)
        value = x + y + z + w
        g1 = g2 = g3 = g4 = 1.0
        pa = pb = pc = pd = 0.0
        q = dt / 6
        for s in range(steps - 1, -1, -1):
            t = tape[s]
            e1, e2, e3, e4, ra, rb, rc, rd = f_vjp(
                t[12], t[13], t[14], t[15], a, b, c, d, q * g1, q * g2, q * g3, q * g4
            )
            pa += ra
            pb += rb
            pc += rc
            pd += rd
            s1, s2, s3, s4 = e1, e2, e3, e4
            e1, e2, e3, e4, ra, rb, rc, rd = f_vjp(
                t[8],
                t[9],
                t[10],
                t[11],
                a,
                b,
                c,
                d,
                2 * q * g1 + dt * e1,
                2 * q * g2 + dt * e2,
                2 * q * g3 + dt * e3,
                2 * q * g4 + dt * e4,
            )
            pa += ra
            pb += rb
            pc += rc
            pd += rd
            s1 += e1
            s2 += e2
            s3 += e3
            s4 += e4
            e1, e2, e3, e4, ra, rb, rc, rd = f_vjp(
                t[4],
                t[5],
                t[6],
                t[7],
                a,
                b,
                c,
                d,
                2 * q * g1 + h * e1,
                2 * q * g2 + h * e2,
                2 * q * g3 + h * e3,
                2 * q * g4 + h * e4,
            )
            pa += ra
            pb += rb
            pc += rc
            pd += rd
            s1 += e1
            s2 += e2
            s3 += e3
            s4 += e4
            e1, e2, e3, e4, ra, rb, rc, rd = f_vjp(
                t[0], t[1], t[2], t[3], a, b, c, d, q * g1 + h * e1, q * g2 + h * e2, q * g3 + h * e3, q * g4 + h * e4
            )
            pa += ra
            pb += rb
            pc += rc
            pd += rd
            g1 += s1 + e1
            g2 += s2 + e2
            g3 += s3 + e3
            g4 += s4 + e4
        return value, (pa, pb, pc, pd)

    u, p, tape = tuple(i["u"]), tuple(i["p"]), np.empty((i["steps"], 16))
    return (lambda: vjp(u, p, i["steps"], i["dt"], tape)), value_p


@W.limit("numba forward mode, 4 tangents")
def numba_forward(case):
    numba, f, _ = numba_parts()
    i = case.inputs

    @numba.njit(fastmath=True)
    def rhs_t(u, du, p, k, dk):
        a, b, c, d = p[0], p[1], p[2], p[3]
        x, y, z, w = u[0], u[1], u[2], u[3]
        k[0], k[1], k[2], k[3] = f(x, y, z, w, a, b, c, d)
        for j in range(4):
            dx, dy, dz, dw = du[0, j], du[1, j], du[2, j], du[3, j]
            dk[0, j] = (a - b * y - EPS) * dx - b * x * dy + EPS * dz
            dk[1, j] = d * y * dx + (d * x - c) * dy
            dk[2, j] = EPS * dx + (a - b * w - EPS) * dz - b * z * dw
            dk[3, j] = d * w * dz + (d * z - c) * dw
        dk[0, 0] += x
        dk[2, 0] += z
        dk[0, 1] -= x * y
        dk[2, 1] -= z * w
        dk[1, 2] -= y
        dk[3, 2] -= w
        dk[1, 3] += x * y
        dk[3, 3] += z * w

    @numba.njit(fastmath=True)
    def run(u0, p, steps, dt):
        u, du = u0.copy(), np.zeros((4, 4))
        k, dk = np.empty(4), np.empty((4, 4))
        acc, dacc = np.empty(4), np.empty((4, 4))
        v, dv = np.empty(4), np.empty((4, 4))
        for _ in range(steps):
            for i in range(4):
                v[i] = u[i]
                acc[i] = u[i]
                for j in range(4):
                    dv[i, j] = du[i, j]
                    dacc[i, j] = du[i, j]
            for stage in range(4):
                rhs_t(v, dv, p, k, dk)
                wt = dt / 6 if stage in (0, 3) else dt / 3
                nx = dt / 2 if stage < 2 else dt
                for i in range(4):
                    acc[i] += wt * k[i]
                    v[i] = u[i] + nx * k[i]
                    for j in range(4):
                        dacc[i, j] += wt * dk[i, j]
                        dv[i, j] = du[i, j] + nx * dk[i, j]
            for i in range(4):
                u[i] = acc[i]
                for j in range(4):
                    du[i, j] = dacc[i, j]
        return u.sum(), du.sum(0)

    u, p = np.array(i["u"]), np.array(i["p"])
    return (lambda: run(u, p, i["steps"], i["dt"])), value_p


W.before.append(lambda: {"inductor_start_s": warm_inductor()})

if __name__ == "__main__":
    raise SystemExit(W.main())
