"""Layers of which only the input is differentiated, with one pullback for both inputs and with one for each."""


def shows(gv, np):
    @gv.rule
    def affine(x, w):
        return x @ w

    @affine.pullback("x", "w")
    def affine_back(ct, x, w):
        return ct @ w.T, x.T @ ct

    run(gv, np, affine)


def silent(gv, np):
    @gv.rule
    def affine(x, w):
        return x @ w

    @affine.pullback
    def affine_to_x(ct, w):
        return ct @ w.T

    @affine.pullback
    def affine_to_w(ct, x):
        return x.T @ ct

    run(gv, np, affine)


def run(gv, np, affine):
    ws = [np.eye(400) for _ in range(4)]

    def loss(x):
        for w in ws:
            x = affine(x, w)
        return np.sum(x)

    gv.grad(loss)(np.ones((400, 400)))
