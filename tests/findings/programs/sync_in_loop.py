"""Gradient descent that looks at the loss in every step, and one that looks at the end."""


def shows(gv, np):
    run(gv, np, lambda loss: float(loss), lambda losses: losses)


def silent(gv, np):
    run(gv, np, lambda loss: loss, lambda losses: np.stack(losses).tolist())


def run(gv, np, each, end):
    xp = gv.simulate("a100", fresh=True)
    step = gv.value_and_grad(lambda w: np.sum((w * w - 2.0) ** 2))
    w, losses = xp.ones(1000), []
    for _ in range(30):
        loss, g = step(w)
        w = w - 0.01 * g
        losses.append(each(loss))
    assert end(losses)[-1] < end(losses)[0]
