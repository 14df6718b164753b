"""Formulas of every kind that the LaTeX printer has a notation for."""

FORMULAS = (
    "2 * X.T @ r / n",
    "where(x > 0, x, 0.01 * x)",
    "(torch.ones([a.shape[0], c.shape[1]]) @ c.T) @ b.T",
    "x[:, None] + y[1:3, ...]",
    "abs(x) // 2 - floor(y) + ceil(z)",
    "-x ** -2",
    "~(x == y) & (y != z) | (x <= y)",
    "linalg.inv(A).mT @ conj(B)",
    "softmax(x, dim=-1) % 2",
    "sum(x, dim=(0, 1), keepdim=True)",
    "1e-10 * long_name_2 + 3j",
    "logsumexp(x, 0).exp().to(torch.float32)",
    "linalg.vector_norm(x) * inf",
    "einsum('ij,jk->ik', a, b)",
    "ones_like(x) + zeros_like(y) @ eye(3)",
)
