"""Ten contractions ``alpha·A·B + beta``: cotangents of all inputs made together, and by a pullback for each."""


def shows(gv, np):
    @gv.rule
    def contract(A, B, alpha, beta):
        return alpha * np.tensordot(A, B, 1) + beta

    @contract.pullback("A", "B", "alpha", "beta")
    def contract_back(ct, A, B, alpha):
        to_A = alpha * np.tensordot(ct, B.T, 1)
        to_B = alpha * np.tensordot(np.transpose(A, (2, 0, 1)), ct, 2)
        return to_A, to_B, np.sum(np.tensordot(A, B, 1) * ct).item(), np.sum(ct).item()

    run(gv, np, contract)


def silent(gv, np):
    @gv.rule
    def contract(A, B, alpha, beta):
        return alpha * np.tensordot(A, B, 1) + beta

    @contract.pullback
    def contract_to_A(ct, B, alpha):
        return alpha * np.tensordot(ct, B.T, 1)

    @contract.pullback
    def contract_to_B(ct, A, alpha):
        return alpha * np.tensordot(np.transpose(A, (2, 0, 1)), ct, 2)

    run(gv, np, contract)


def run(gv, np, contract):
    def loss(A, B):
        for _ in range(10):
            A = contract(A, B, 1.0, 0.0)
        return np.sum(A)

    xp = gv.simulate("a100", fresh=True)
    gv.grad(loss, (0, 1))(xp.ones((32, 32, 32)), xp.full((32, 32), 1 / 32))
