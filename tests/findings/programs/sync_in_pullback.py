"""Layers that bring a vector to length 1; the pullback needs a dot product."""


def shows(gv, np):
    run(gv, np, lambda product: float(product))


def silent(gv, np):
    run(gv, np, lambda product: product)


def run(gv, np, read):
    @gv.rule
    def unit(x):
        return x / np.sqrt(np.sum(x * x))

    @unit.pullback
    def unit_to_x(ct, out, x):
        along = read(np.sum(ct * out))
        return (ct - along * out) / np.sqrt(np.sum(x * x))

    def loss(x):
        for _ in range(10):
            x = unit(x + 1.0)
        return np.sum(x[:100])

    xp = gv.simulate("a100", fresh=True)
    gv.grad(loss)(xp.ones(100_000))
