"""Horner's rule over ``p[i]``: with a rule of one's own that answers with dense zeros, and by plain indexing."""


def shows(gv, np):
    @gv.rule
    def pick(p, i):
        return p[i]

    @pick.pullback
    def pick_to_p(ct, p, i):
        zeros = np.zeros_like(p)
        zeros[i] = ct
        return zeros

    run(gv, np, pick)


def silent(gv, np):
    run(gv, np, lambda p, i: p[i])


def run(gv, np, pick):
    def evalpoly(p, x):
        value = p[-1]
        for i in range(len(p) - 2, -1, -1):
            value = value * x + pick(p, i)
        return value

    gv.grad(evalpoly)(np.ones(1000), 0.999)
