"""A bias repeated to the size of the batch, and broadcast."""


def shows(gv, np):
    run(gv, np, lambda b, n: np.broadcast_to(b, (n, len(b))).copy())


def silent(gv, np):
    run(gv, np, lambda b, n: b)


def run(gv, np, spread):
    x = np.ones((1000, 300))
    gv.grad(lambda b: np.sum(np.tanh(x + spread(b, len(x)))))(np.ones(300))
