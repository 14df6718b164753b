"""Tensors that are used more than once, broadcasting, and norms."""

from __future__ import annotations

from benchmarks.exam.graph import Graph

REUSE = (
    Graph(
        "square", {"x": "randn(n, m)"}, {"y": "x * x"}, {"x": "2 * x * grad(y)"},
        dims={"n": 3, "m": 4}, backward={"y": "randn_like(y)"}, rational=True,
        wrong={"x": [("branches", "where(x > 4, 4*x, 2*x) * grad(y)"), ("magnitudes",
            "where(abs(x) > .001, 2*x, x) * grad(y)"),
                     ("integers", "where(x == round(x), x, 2*x) * grad(y)"),
                     ("near misses", "2.00000000001 * x * grad(y)")]},
        partial={"x": ["2 * exp(log(x)) * grad(y)", "2 * sqrt(x) * sqrt(x) * grad(y)",
            "2 * x * log(x) / log(x) * grad(y)",
                       "2 * x * grad(y) * sqrt(x + 2) / sqrt(x + 2)", "2 * x * grad(y) + 0 * acos(x / 4)"]},
        spelled={"x": ["grad(y) * (x + x)", "x * grad(y) / 0.5", "grad(y) * x + x * grad(y)",
            "(x**2 + x * x) / x.abs() * sign(x) * grad(y)",
                       "-(-2 * x) * grad(y)", "x * (2 * grad(y)) * 1.0", "(3 * x - x) * grad(y)",
                           "grad(y) * ((x + 1)**2 - x**2 - 1)"]},
    ),
    Graph(
        "square plus itself", {"x": "randn(n)"}, {"y": "x * x + x"}, {"x": "grad(y) * (2 * x + 1)"},
        dims={"n": 5}, backward={"y": "randn(n)"}, rational=True,
        spelled={"x": ["2 * grad(y) * x + grad(y)", "grad(y) * (x + (x + 1))", "grad(y) * ((x + 1)**2 - x**2)"]},
    ),
    Graph(
        "tensor times its sum", {"x": "randn(n)"}, {"y": "x * x.sum()"},
        {"x": "grad(y) * x.sum() + (grad(y) * x).sum()"},
        dims={"n": 4}, backward={"y": "randn(n)"}, rational=True,
        spelled={"x": ["grad(y) * x.sum() + grad(y) @ x", "x.sum() * grad(y) + (x * grad(y)).sum() * ones_like(x)"]},
    ),
    Graph(
        "tensor less its mean", {"x": "randn(n, m)"}, {"y": "x - x.mean(1, keepdim=True)"},
        {"x": "grad(y) - grad(y).mean(1, keepdim=True)"},
        dims={"n": 3, "m": 4}, backward={"y": "randn(n, m)"}, rational=True,
        spelled={"x": ["grad(y) - grad(y).sum(1, keepdim=True) / m", "grad(y) @ (eye(m) - ones(m, m) / m)"]},
    ),
    Graph(
        "one weight for two layers", {"w": "randn(d, d)", "x": "randn(n, d)"},
        {"h": "tanh(x @ w)", "y": "h @ w"},
        {"w": "h.T @ grad(y) + x.T @ ((grad(y) @ w.T) * (1 - h * h))", "x": "((grad(y) @ w.T) * (1 - h * h)) @ w.T"},
        dims={"n": 2, "d": 3}, backward={"y": "randn_like(y)"},
        spelled={"w": ["h.T @ grad(y) + x.T @ (grad(h) * (1 - h**2))",
            "x.T @ ((1 - tanh(x @ w)**2) * (grad(y) @ w.T)) + h.T @ grad(y)"],
                 "x": ["(grad(h) / cosh(x @ w)**2) @ w.T", "(grad(h) * (1 + h) * (1 - h)) @ w.T"]},
    ),
    Graph(
        "cubic polynomial", {"x": "randn(n)"}, {"y": "x**3 - 2 * x**2 + 5 * x"},
        {"x": "grad(y) * (3 * x**2 - 4 * x + 5)"},
        dims={"n": 4}, backward={"y": "randn(n)"}, rational=True,
        spelled={"x": ["grad(y) * (x * (3 * x - 4) + 5)", "grad(y) * (3 * (x - 2/3)**2 + 11/3)"]},
    ),
    Graph(
        "exponential times itself", {"x": "randn(n)"}, {"y": "x * exp(x)"}, {"x": "grad(y) * (1 + x) * exp(x)"},
        dims={"n": 4}, backward={"y": "randn(n)"},
        spelled={"x": ["grad(y) * (exp(x) + y)", "grad(y) * exp(x) + x * exp(x) * grad(y)",
            "grad(y) * (1 + x) / exp(-x)"]},
    ),
    Graph(
        "residual block", {"x": "randn(n, d)", "w": "randn(d, d)"}, {"z": "x @ w", "y": "x + sigmoid(z)"},
        {"x": "grad(y) + (grad(y) * sigmoid(z) * (1 - sigmoid(z))) @ w.T",
            "w": "x.T @ (grad(y) * sigmoid(z) * (1 - sigmoid(z)))"},
        dims={"n": 3, "d": 2}, backward={"y": "randn_like(y)"},
        spelled={"w": ["x.T @ (grad(y) * (y - x) * (1 - y + x))", "x.T @ (grad(y) * sigmoid(z) * sigmoid(-z))"]},
    ),
)  # fmt: skip

BROADCAST = (
    Graph(
        "columns scaled", {"x": "randn(n, m)", "s": "randn(m)"}, {"y": "x * s"},
        {"x": "grad(y) * s", "s": "(grad(y) * x).sum(0)"},
        dims={"n": 4, "m": 3}, backward={"y": "randn_like(y)"}, rational=True,
        spelled={"x": ["grad(y) @ diag(s)"], "s": ["(x.T @ grad(y)).diag()", "einsum('nm,nm->m', x, grad(y))"]},
    ),
    Graph(
        "a column added", {"x": "randn(n, m)", "c": "randn(n)"}, {"y": "(x + c[:, None])**2"},
        {"x": "2 * grad(y) * (x + c[:, None])", "c": "(2 * grad(y) * (x + c[:, None])).sum(1)"},
        dims={"n": 2, "m": 5}, backward={"y": "randn(n, m)"}, rational=True,
        spelled={"c": ["2 * (grad(y) * x).sum(1) + 2 * c * grad(y).sum(1)"]},
    ),
    Graph(
        "differences of all pairs", {"u": "randn(n)", "v": "randn(m)"}, {"y": "(u[:, None] - v[None, :])**2"},
        {"u": "(2 * grad(y) * (u[:, None] - v)).sum(1)", "v": "-(2 * grad(y) * (u[:, None] - v)).sum(0)"},
        dims={"n": 3, "m": 4}, backward={"y": "randn(n, m)"}, rational=True,
        spelled={"v": ["2 * v * grad(y).sum(0) - 2 * u @ grad(y)"]},
    ),
    Graph(
        "rows divided by positive numbers", {"x": "randn(n, m)", "s": "uniform(0.5, 3, [n, 1])"}, {"y": "x / s"},
        {"x": "grad(y) / s", "s": "-(grad(y) * x).sum(1, keepdim=True) / s**2"},
        dims={"n": 3, "m": 4}, backward={"y": "randn_like(y)"}, rational=True,
        spelled={"s": ["-(grad(y) * y).sum(1, keepdim=True) / s", "-((grad(y) * x / s).sum(1) / s[:, 0])[:, None]"]},
    ),
    Graph(
        "a number for all", {"x": "randn(n, m)", "c": "randn([])"}, {"y": "c * x + c * c"},
        {"x": "grad(y) * c", "c": "(grad(y) * (x + 2 * c)).sum()"},
        dims={"n": 3, "m": 2}, backward={"y": "randn(n, m)"}, rational=True,
        spelled={"c": ["(grad(y) * x).sum() + 2 * c * grad(y).sum()"]},
    ),
    Graph(
        "three dimensions and a matrix", {"x": "randn(b, n, m)", "z": "randn(n, m)"}, {"y": "x * z",
            "loss": "(y * y).mean()"},
        {"x": "2 * x * z**2 / (b * n * m)", "z": "(2 * x**2 * z).sum(0) / (b * n * m)"},
        dims={"b": 2, "n": 3, "m": 4}, rational=True,
        spelled={"z": ["(2 * x * y).mean(0) / (n * m)"], "x": ["2 * y * z / (b * n * m)"]},
    ),
)  # fmt: skip

NORMS = (
    Graph(
        "layer norm", {"x": "randn(n, d)", "g": "randn(d)", "b": "randn(d)"}, {"y": "layer_norm(x, [d], g, b)"},
        {"g": "(grad(y) * xhat).sum(0)", "b": "grad(y).sum(0)",
         "x": "(dh - dh.mean(1, keepdim=True) - xhat * (dh * xhat).mean(1, keepdim=True)) / s"},
        dims={"n": 3, "d": 4}, backward={"y": "randn(n, d)"}, pieces=True,
        let={"s": "sqrt(x.var(1, unbiased=False, keepdim=True) + 1e-5)",
             "xhat": "(x - x.mean(1, keepdim=True)) / s", "dh": "grad(y) * g"},
        spelled={"x": ["(d * dh - dh.sum(1, keepdim=True) - xhat * (dh * xhat).sum(1, keepdim=True)) / (d * s)"]},
    ),
    Graph(
        "batch norm by hand", {"x": "randn(n, d)"},
        {"mu": "x.mean(0)", "v": "((x - mu)**2).mean(0)", "y": "(x - mu) / sqrt(v + 1e-5)"},
        {"x": "(grad(y) - grad(y).mean(0) - y * (grad(y) * y).mean(0)) / sqrt(v + 1e-5)"},
        dims={"n": 5, "d": 3}, backward={"y": "randn(n, d)"}, pieces=True,
        spelled={"x": ["(n * grad(y) - grad(y).sum(0) - y * (grad(y) * y).sum(0)) / (n * sqrt(v + 1e-5))"]},
    ),
    Graph(
        "root mean square norm", {"x": "randn(n, d)"}, {"r": "sqrt((x * x).mean(1, keepdim=True) + 1e-6)",
            "y": "x / r"},
        {"x": "grad(y) / r - x * (grad(y) * x).mean(1, keepdim=True) / r**3"},
        dims={"n": 2, "d": 4}, backward={"y": "randn(n, d)"},
        spelled={"x": ["(grad(y) - y * (grad(y) * y).mean(1, keepdim=True)) / r"]},
    ),
    Graph(
        "unit vectors", {"x": "randn(n, d)"}, {"r": "x.norm(dim=1, keepdim=True)", "y": "x / r"},
        {"x": "(grad(y) - y * (grad(y) * y).sum(1, keepdim=True)) / r"},
        dims={"n": 2, "d": 3}, backward={"y": "randn(n, d)"}, pieces=True,
        spelled={"x": ["grad(y) / r - x * (grad(y) * x).sum(1, keepdim=True) / r**3"]},
    ),
    Graph(
        "variance of columns", {"x": "randn(n, d)"}, {"y": "x.var(0)"},
        {"x": "2 * grad(y) * (x - x.mean(0)) / (n - 1)"},
        dims={"n": 5, "d": 2}, backward={"y": "randn(d)"}, needs="n >= 2", rational=True,
        spelled={"x": ["grad(y) * (x - x.sum(0) / n) / ((n - 1) / 2)"]},
    ),
    Graph(
        "variance over all elements", {"x": "randn(n, d)"}, {"loss": "x.var(unbiased=False)"},
        {"x": "2 * (x - x.mean()) / (n * d)"},
        dims={"n": 2, "d": 3}, rational=True,
        spelled={"x": ["2 * x / (n * d) - 2 * x.sum() / (n * d)**2"]},
    ),
    Graph(
        "squared Frobenius norm of a product", {"a": "randn(n, k)", "b": "randn(k, m)"}, {"loss": "(a @ b).norm()**2"},
        {"a": "2 * a @ b @ b.T", "b": "2 * a.T @ a @ b"},
        dims={"n": 2, "k": 3, "m": 2},
        spelled={"b": ["2 * (b.T @ (a.T @ a)).T"]},
    ),
    Graph(
        "cosine similarity by hand", {"u": "randn(n)", "v": "randn(n)"},
        {"y": "(u @ v) / (u.norm() * v.norm())"},
        {"u": "grad(y) * (v / (u.norm() * v.norm()) - y * u / (u @ u))",
         "v": "grad(y) * (u / (u.norm() * v.norm()) - y * v / (v @ v))"},
        dims={"n": 4}, backward={"y": "randn([])"}, pieces=True,
        spelled={"u": ["grad(y) * (v / v.norm() - y * u / u.norm()) / u.norm()"]},
    ),
)  # fmt: skip
