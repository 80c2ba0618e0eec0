"""A likelihood as small as 1e-305 pulled back through a recurrence that forgets, and its logarithm's size instead."""


def shows(gv, np):
    run(gv, np, 1e-305)


def silent(gv, np):
    run(gv, np, 1.0)


def run(gv, np, likelihood):
    def loss(a):
        h = np.ones(8) * a
        for _ in range(400):
            h = h * 0.95 + a
        return np.sum(h) * likelihood

    gv.grad(loss)(1.0)
