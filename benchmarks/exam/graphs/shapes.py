"""Cumulative operations, indexing, and what moves elements about."""

from __future__ import annotations

from benchmarks.exam.graph import Graph

SHAPES = (
    Graph(
        "cumulative sum", {"x": "randn(n)"}, {"y": "cumsum(x, 0)"}, {"x": "cumsum(grad(y).flip(0), 0).flip(0)"},
        dims={"n": 5}, backward={"y": "randn(n)"}, rational=True,
        spelled={"x": ["grad(y).sum() - cumsum(grad(y), 0) + grad(y)", "triu(ones(n, n)) @ grad(y)"]},
    ),
    Graph(
        "cumulative sum, squared", {"x": "randn(n, m)"}, {"c": "cumsum(x, 1)", "loss": "(c * c).sum()"},
        {"x": "2 * cumsum(c.flip(1), 1).flip(1)"},
        dims={"n": 2, "m": 4}, rational=True,
        spelled={"x": ["2 * c @ tril(ones(m, m))", "2 * (c.sum(1, keepdim=True) - cumsum(c, 1) + c)"]},
    ),
    Graph(
        "cumulative product", {"x": "uniform(0.5, 2, [n])"}, {"y": "cumprod(x, 0)"},
        {"x": "cumsum((grad(y) * y).flip(0), 0).flip(0) / x"},
        dims={"n": 4}, backward={"y": "randn(n)"}, rational=True,
        spelled={"x": ["triu(ones(n, n)) @ (grad(y) * y) / x"]},
    ),
    Graph(
        "product of all", {"x": "uniform(0.5, 2, [n])"}, {"y": "prod(x)"}, {"x": "grad(y) * y / x"},
        dims={"n": 4}, backward={"y": "randn([])"}, rational=True,
        spelled={"x": ["grad(y) * prod(x) / x", "grad(y) * y * x**-1"]},
    ),
    Graph(
        "differences of neighbours", {"x": "randn(n)"}, {"d": "x[1:] - x[:-1]", "loss": "(d * d).sum()"},
        {"x": "2 * (cat([zeros(1), d]) - cat([d, zeros(1)]))"},
        dims={"n": 5}, rational=True,
        spelled={"x": ["2 * pad(d, [1, 0]) - 2 * pad(d, [0, 1])"]},
    ),
    Graph(
        "rows picked", {"x": "randn(n, m)"}, {"y": "x[idx]"}, {"x": "one_hot(idx, n).to(x.dtype).T @ grad(y)"},
        dims={"n": 4, "m": 2, "k": 5}, constants={"idx": "randint(0, n, [k])"}, backward={"y": "randn(k, m)"},
            rational=True,
        spelled={"x": ["index_add(zeros_like(x), 0, idx, grad(y))"]},
    ),
    Graph(
        "concatenation", {"a": "randn(n, m)", "b": "randn(k, m)"}, {"y": "cat([a, b], 0)", "loss": "(y**3).sum()"},
        {"a": "3 * y[:n]**2", "b": "3 * y[n:]**2"},
        dims={"n": 2, "k": 3, "m": 2}, rational=True,
        spelled={"a": ["3 * a * a"], "b": ["3 * b**2"]},
    ),
    Graph(
        "stacked with itself", {"x": "randn(n)"}, {"y": "stack([x, x * x, 3 * x])"},
        {"x": "grad(y)[0] + 2 * x * grad(y)[1] + 3 * grad(y)[2]"},
        dims={"n": 3}, backward={"y": "randn(3, n)"}, rational=True,
        spelled={"x": ["(grad(y) * stack([ones(n), 2 * x, full([n], 3.0)])).sum(0)"]},
    ),
    Graph(
        "flipped and transposed", {"x": "randn(n, m)"}, {"y": "x.flip(0).T * w"}, {"x": "(grad(y) * w).T.flip(0)"},
        dims={"n": 3, "m": 4}, constants={"w": "randn(m, n)"}, backward={"y": "randn(m, n)"}, rational=True,
        spelled={"x": ["(grad(y).T * w.T).flip(0)"]},
    ),
    Graph(
        "lower triangle", {"x": "randn(n, n)"}, {"y": "tril(x) @ x"},
        {"x": "tril(grad(y) @ x.T) + tril(x).T @ grad(y)"},
        dims={"n": 3}, backward={"y": "randn(n, n)"}, rational=True,
        spelled={"x": ["(grad(y) @ x.T) * tril(ones(n, n)) + tril(x).T @ grad(y)"]},
    ),
    Graph(
        "diagonal of a product", {"a": "randn(n, m)", "b": "randn(m, n)"}, {"y": "diag(a @ b)"},
        {"a": "grad(y)[:, None] * b.T", "b": "a.T * grad(y)"},
        dims={"n": 2, "m": 3}, backward={"y": "randn(n)"}, rational=True,
        spelled={"a": ["diag(grad(y)) @ b.T"], "b": ["(grad(y)[:, None] * a).T"]},
    ),
    Graph(
        "rolled", {"x": "randn(n)"}, {"y": "roll(x, 2) * x"}, {"x": "grad(y) * roll(x, 2) + roll(grad(y) * x, -2)"},
        dims={"n": 5}, backward={"y": "randn(n)"}, rational=True,
        spelled={"x": ["roll(x, 2) * grad(y) + roll(grad(y), -2) * roll(x, -2)"]},
        wrong={"x": [("refused by torch", "grad(y) * roll(x, 2.4) + roll(grad(y) * x, -2)"),
                     ("refused by torch", "grad(y) * roll(x, 2) + roll(grad(y) * x, -2.9)")]},
    ),
    Graph(
        "one element of each row", {"z": "randn(n, m)"}, {"y": "z.gather(1, t[:, None])[:, 0]",
            "loss": "(y * y).sum()"},
        {"z": "2 * z * one_hot(t, m)"},
        dims={"n": 3, "m": 4}, constants={"t": "randint(0, m, [n])"}, rational=True,
        spelled={"z": ["2 * one_hot(t, m) * y[:, None]"]},
    ),
    Graph(
        "the first and the last", {"x": "randn(n)"}, {"loss": "x[0] * x[-1]"},
        {"x": "x[-1] * (arange(n) == 0) + x[0] * (arange(n) == n - 1)"},
        dims={"n": 4}, rational=True,
        spelled={"x": ["where(arange(n) == 0, x[-1], 0*x) + where(arange(n) == n - 1, x[0], 0*x)"]},
    ),
)  # fmt: skip
