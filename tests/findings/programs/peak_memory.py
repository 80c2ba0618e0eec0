"""A deep recurrence whose every step is kept for the backward pass, and one that is recomputed in blocks."""


def shows(gv, np):
    def loss(x):
        for _ in range(40):
            x = np.tanh(x)
        return np.sum(x)

    gv.grad(loss)(np.ones(100_000))


def silent(gv, np):
    def loss(x):
        for _ in range(40):
            x = np.tanh(x)
        return np.sum(x)

    gv.grad(loss)(np.ones(1000))
