"""Single precision scaled by a double-precision number, and by a Python number."""


def shows(gv, np):
    run(gv, np, np.float64(0.5))


def silent(gv, np):
    run(gv, np, 0.5)


def run(gv, np, half):
    gv.grad(lambda x: np.sum(np.sin(x * half)))(np.ones(800_000, np.float32))
