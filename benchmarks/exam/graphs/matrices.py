"""Products of matrices, and linear algebra."""

from __future__ import annotations

from benchmarks.exam.graph import Graph

CHAINS = (
    Graph(
        "product of two matrices", {"a": "randn(n, k)", "b": "randn(k, m)"}, {"y": "a @ b"},
        {"a": "grad(y) @ b.T", "b": "a.T @ grad(y)"},
        dims={"n": 2, "k": 3, "m": 4}, backward={"y": "randn_like(y)"}, rational=True,
        spelled={
            "a": ["(b @ grad(y).T).T", "einsum('nm,km->nk', grad(y), b)",
                "(grad(y)[:, None, :] * b[None, :, :]).sum(2)",
                  "matmul(grad(y), b.transpose(0, 1))", "2 * (grad(y) @ (b / 2).T)", "grad(y) @ (b + b - b).T"],
            "b": ["(grad(y).T @ a).T", "einsum('nk,nm->km', a, grad(y))",
                "sum(a[:, :, None] * grad(y)[:, None, :], dim=0)"],
        },
    ),
    Graph(
        "sum of a chain of three", {"a": "randn(n, k)", "b": "randn(k, m)", "c": "randn(m, p)"},
        {"q": "a @ b", "r": "q @ c", "loss": "r.sum()"},
        {"a": "ones(n, p) @ c.T @ b.T", "b": "a.T @ ones(n, p) @ c.T", "c": "(a @ b).T @ ones(n, p)"},
        dims={"n": 3, "k": 2, "m": 4, "p": 5}, rational=True,
        spelled={
            "a": ["ones(n, p) @ (b @ c).T", "(b @ c.sum(dim=1)).expand(n, k)", "ones_like(r) @ c.mT @ b.mT",
                  "outer(ones(n), b @ c.sum(1))"],
            "b": ["outer(a.sum(0), c.sum(1))", "a.sum(0)[:, None] * c.sum(1)[None, :]"],
            "c": ["q.sum(0)[:, None].expand(m, p)", "q.T @ ones_like(r)"],
        },
    ),
    Graph(
        "quadratic form", {"A": "randn(n, n)", "v": "randn(n)"}, {"y": "v @ A @ v"},
        {"A": "grad(y) * outer(v, v)", "v": "grad(y) * (A @ v + A.T @ v)"},
        dims={"n": 4}, backward={"y": "randn([])"}, rational=True,
        spelled={
            "A": ["grad(y) * v[:, None] * v", "outer(grad(y) * v, v)"],
            "v": ["grad(y) * ((A + A.T) @ v)", "grad(y) * (A @ v) + grad(y) * (v @ A)"],
        },
    ),
    Graph(
        "batch of products with one weight", {"x": "randn(b, n, d)", "w": "randn(d, m)"}, {"y": "x @ w"},
        {"x": "grad(y) @ w.T", "w": "(x.mT @ grad(y)).sum(0)"},
        dims={"b": 2, "n": 3, "d": 4, "m": 5}, backward={"y": "randn_like(y)"}, rational=True,
        spelled={"w": ["einsum('bnd,bnm->dm', x, grad(y))", "x.reshape(b*n, d).T @ grad(y).reshape(b*n, m)"]},
    ),
    Graph(
        "Gram matrix", {"x": "randn(n, d)"}, {"y": "x @ x.T"},
        {"x": "(grad(y) + grad(y).T) @ x"},
        dims={"n": 3, "d": 4}, backward={"y": "randn_like(y)"}, rational=True,
        spelled={"x": ["grad(y) @ x + grad(y).T @ x", "grad(y) @ x + (x.T @ grad(y)).T"]},
    ),
    Graph(
        "linear layer", {"x": "randn(n, d)", "w": "randn(m, d)", "b": "randn(m)"}, {"y": "x @ w.T + b"},
        {"x": "grad(y) @ w", "w": "grad(y).T @ x", "b": "grad(y).sum(0)"},
        dims={"n": 5, "d": 3, "m": 2}, backward={"y": "randn(n, m)"}, rational=True,
        spelled={"b": ["ones(n) @ grad(y)", "grad(y).T.sum(1)", "grad(y).mean(0) * n"],
                 "w": ["(x.T @ grad(y)).T", "(n * grad(y) / n).T @ x"]},
    ),
    Graph(
        "outer product", {"u": "randn(n)", "v": "randn(m)"}, {"y": "outer(u, v)"},
        {"u": "grad(y) @ v", "v": "u @ grad(y)"},
        dims={"n": 3, "m": 4}, backward={"y": "randn(n, m)"}, rational=True,
        spelled={"v": ["grad(y).T @ u", "(grad(y) * u[:, None]).sum(0)"]},
    ),
    Graph(
        "bilinear form, row by row", {"x": "randn(n, d)", "w": "randn(d, m)", "z": "randn(n, m)"},
        {"s": "((x @ w) * z).sum(1)", "loss": "(s * s).sum()"},
        {"x": "(2 * s[:, None] * z) @ w.T", "w": "x.T @ (2 * s[:, None] * z)", "z": "2 * s[:, None] * (x @ w)"},
        dims={"n": 4, "d": 2, "m": 3}, rational=True,
        spelled={"z": ["2 * s.unsqueeze(1) * (x @ w)", "(s + s)[:, None] * (x @ w)"]},
    ),
    Graph(
        "least squares", {"w": "randn(d, m)"}, {"r": "X @ w - t", "loss": "(r * r).sum() / n"},
        {"w": "2 / n * X.T @ (X @ w - t)"},
        dims={"n": 5, "d": 3, "m": 2}, constants={"X": "randn(n, d)", "t": "randn(n, m)"}, rational=True,
        spelled={"w": ["2 * X.T @ r / n", "X.T @ (r / n + r / n)", "(2 * (X.T @ X) @ w - 2 * X.T @ t) / n"]},
    ),
    Graph(
        "matrix cubed", {"A": "randn(n, n)"}, {"y": "A @ A @ A"},
        {"A": "grad(y) @ (A @ A).T + A.T @ grad(y) @ A.T + (A @ A).T @ grad(y)"},
        dims={"n": 3}, backward={"y": "randn_like(y)"}, rational=True,
        spelled={"A": ["grad(y) @ A.T @ A.T + A.T @ grad(y) @ A.T + A.T @ A.T @ grad(y)"]},
    ),
)  # fmt: skip

SOLVED = (
    Graph(
        "linear system", {"A": "randn(n, n) + 3 * n * eye(n)", "b": "randn(n, m)"}, {"y": "linalg.solve(A, b)"},
        {"A": "-linalg.solve(A.T, grad(y)) @ y.T", "b": "linalg.solve(A.T, grad(y))"},
        dims={"n": 3, "m": 2}, backward={"y": "randn_like(y)"},
        spelled={"b": ["inv(A).T @ grad(y)"], "A": ["-(inv(A).T @ grad(y)) @ y.T", "-inv(A.T) @ (grad(y) @ y.T)"]},
    ),
    Graph(
        "inverse", {"A": "randn(n, n) + 3 * n * eye(n)"}, {"y": "inv(A)"},
        {"A": "-y.T @ grad(y) @ y.T"},
        dims={"n": 3}, backward={"y": "randn_like(y)"}, rational=True,
        spelled={"A": ["-(y.T @ (grad(y) @ y.T))", "-(inv(A) @ grad(y).T @ inv(A)).T"]},
    ),
    Graph(
        "determinant", {"A": "randn(n, n)"}, {"y": "linalg.det(A)"},
        {"A": "grad(y) * y * inv(A).T"},
        dims={"n": 3}, backward={"y": "randn([])"},
        wrong={"A": [("signs", "grad(y) * abs(y) * inv(A).T"), ("signs", "abs(grad(y) * y) * inv(A).T"),
                     ("signs", "grad(y) * sqrt(y*y) * inv(A).T"), ("sizes", "grad(y) * abs(y)**(n - 2) * inv(A).T")]},
        spelled={"A": ["(grad(y) * y) * inv(A.T)", "grad(y) * linalg.det(A.T) * inv(A).T"]},
    ),
    Graph(
        "logarithm of a determinant", {"A": "randn(n, n)"}, {"S": "A @ A.T + n * eye(n)", "y": "logdet(S)"},
        {"A": "2 * grad(y) * inv(S) @ A"},
        dims={"n": 3}, backward={"y": "randn([])"},
        spelled={"A": ["2 * grad(y) * linalg.solve(S, A)", "grad(y) * (inv(S) + inv(S).T) @ A"]},
    ),
    Graph(
        "logarithm of a Gram determinant", {"X": "randn(n, m)"}, {"y": "logdet(X @ X.T)"},
        {"X": "2 * grad(y) * inv(X @ X.T) @ X"},
        dims={"n": 2, "m": 4}, backward={"y": "randn([])"}, needs="n <= m",
        spelled={"X": ["2 * grad(y) * linalg.solve(X @ X.T, X)"]},
    ),
    Graph(
        "trace of a product", {"A": "randn(n, m)", "B": "randn(m, n)"}, {"y": "trace(A @ B @ A @ B)"},
        {"A": "2 * grad(y) * (B @ A @ B).T", "B": "2 * grad(y) * (A @ B @ A).T"},
        dims={"n": 2, "m": 3}, backward={"y": "randn([])"}, rational=True,
        spelled={"A": ["2 * grad(y) * B.T @ A.T @ B.T"]},
    ),
    Graph(
        "quadratic form of an inverse", {"A": "randn(n, n) + 3 * n * eye(n)", "v": "randn(n)"},
        {"u": "linalg.solve(A, v)", "loss": "v @ u"},
        {"v": "inv(A) @ v + inv(A).T @ v", "A": "-outer(inv(A).T @ v, u)"},
        dims={"n": 3},
        spelled={"v": ["u + linalg.solve(A.T, v)", "linalg.solve(A, v) + inv(A.T) @ v"]},
    ),
    Graph(
        "symmetric literal matrix", {"x": "randn(3)"}, {"y": "x @ A @ x"},
        {"x": "2 * grad(y) * (A @ x)"},
        constants={"A": [[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]}, backward={"y": "randn([])"},
            rational=True,
        spelled={"x": ["grad(y) * (A + A.T) @ x", "2 * grad(y) * (x @ A)", "2 * grad(y) * A.T @ x"]},
    ),
    Graph(
        "symmetric literal matrix beside an exponential", {"x": "randn(3)", "w": "randn(2)"}, {"y": "x @ A @ x",
            "z": "exp(w)"},
        {"x": "2 * grad(y) * (A @ x)", "w": "grad(z) * exp(w)"}, together=True,
        constants={"A": [[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]]}, backward={"y": "randn([])",
            "z": "randn(2)"},
    ),
    Graph(
        "system with Hilbert's matrix", {"b": "randn(n)"}, {"y": "linalg.solve(H, b)"},
            {"b": "linalg.solve(H.T, grad(y))"},
        dims={"n": 7}, constants={"H": "1 / (arange(1, n + 1)[:, None] + arange(0, n)[None, :]).to(float64)"},
        backward={"y": "randn(n)"}, spelled={"b": ["linalg.solve(H, grad(y))"]},
    ),
)  # fmt: skip
