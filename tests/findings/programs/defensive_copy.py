"""The parameters of an unrolled optimizer: copied before each update for fear of aliases, and updated in place."""


def shows(gv, np):
    def update(w, g):
        new = w.copy()
        new -= 0.1 * g
        return new

    run(gv, np, update)


def silent(gv, np):
    def update(w, g):
        w -= 0.1 * g
        return w

    run(gv, np, update)


def needed(gv, np):
    """A copy that keeps what a pullback has yet to read."""

    def loss(x):
        y = np.exp(x)
        z = y.copy()
        z *= 2.0
        return np.sum(y * z)

    gv.grad(loss)(np.ones(500_000))


def run(gv, np, update):
    target = np.linspace(0.0, 1.0, 200_000)

    def loss(rate):
        w = rate * target
        for _ in range(10):
            w = update(w, target)
        return np.sum(w)

    gv.grad(loss)(0.5)
