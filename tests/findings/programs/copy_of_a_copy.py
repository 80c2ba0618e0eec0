"""A transposed array put in order and then copied again, and copied once."""


def ordered(x):
    return x.T.copy()


def shows(gv, np):
    run(gv, np, lambda x: ordered(x).copy())


def silent(gv, np):
    run(gv, np, ordered)


def run(gv, np, turned):
    def loss(x):
        y = turned(x)
        y *= 2.0
        return np.sum(np.sin(x) * y)

    gv.grad(loss)(np.ones((600, 600)))
