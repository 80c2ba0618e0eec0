"""A transposed matrix flattened in every turn of a loop, and once before it."""


def shows(gv, np):
    def loss(w):
        total = 0.0
        for k in range(10):
            total = total + np.sum(np.reshape(w.T, -1) * k)
        return total

    gv.grad(loss)(np.ones((400, 400)))


def silent(gv, np):
    def loss(w):
        flat, total = np.reshape(w.T, -1), 0.0
        for k in range(10):
            total = total + np.sum(flat * k)
        return total

    gv.grad(loss)(np.ones((400, 400)))
