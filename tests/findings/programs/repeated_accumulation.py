"""A sum of twenty large terms, with a new array for each and in place."""


def shows(gv, np):
    def loss(x):
        total = x * 0.0
        for k in range(20):
            total = total + x * k
        return np.sum(total)

    gv.grad(loss)(np.ones(200_000))


def silent(gv, np):
    def loss(x):
        total = x * 0.0
        for k in range(20):
            total += x * k
        return np.sum(total)

    gv.grad(loss)(np.ones(200_000))
