"""A value computed to be looked at, on the tape and off it."""


def shows(gv, np):
    run(gv, np, lambda x: x)


def silent(gv, np):
    run(gv, np, gv.stop_gradient)


def run(gv, np, watched):
    def loss(x):
        monitor = np.exp(watched(x))
        assert monitor.shape == x.shape
        return np.sum(np.sin(x))

    gv.grad(loss)(np.ones(500_000))
