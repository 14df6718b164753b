"""Softmax, losses, attention."""

from __future__ import annotations

from benchmarks.exam.graph import Graph

LOSSES = (
    Graph(
        "softmax", {"x": "randn(n, m)"}, {"y": "softmax(x, 1)"},
        {"x": "y * (grad(y) - (grad(y) * y).sum(1, keepdim=True))"},
        dims={"n": 3, "m": 4}, backward={"y": "randn_like(y)"},
        spelled={"x": ["y * grad(y) - y * (grad(y) * y).sum(dim=1, keepdim=True)",
            "softmax(x, 1) * (grad(y) - einsum('nm,nm->n', grad(y), y)[:, None])"]},
    ),
    Graph(
        "log softmax", {"x": "randn(n, m)"}, {"y": "log_softmax(x, 1)"},
        {"x": "grad(y) - softmax(x, 1) * grad(y).sum(1, keepdim=True)"},
        dims={"n": 3, "m": 4}, backward={"y": "randn_like(y)"},
        spelled={"x": ["grad(y) - exp(y) * grad(y).sum(1, keepdim=True)"]},
    ),
    Graph(
        "cross entropy", {"z": "randn(n, c)"}, {"loss": "cross_entropy(z, t)"},
        {"z": "(softmax(z, 1) - one_hot(t, c)) / n"},
        dims={"n": 4, "c": 3}, constants={"t": "randint(0, c, [n])"},
        spelled={"z": ["softmax(z, 1) / n - one_hot(t, c) / n", "(exp(log_softmax(z, 1)) - one_hot(t, c)) / n"]},
    ),
    Graph(
        "labels written out", {"z": "randn(n, c)"}, {"loss": "cross_entropy(z, t)"},
        {"z": "(softmax(z, 1) - one_hot(t, c)) / n"},
        dims={"n": 4, "c": 3}, constants={"t": [0, 2, 1, 0]}, needs="n == 4 and c > 2",
        spelled={"z": ["(softmax(z, 1) - one_hot(t, c)) / 4"]},
    ),
    Graph(
        "a linear classifier", {"w": "randn(d, c)", "b": "randn(c)"},
        {"z": "X @ w + b", "loss": "cross_entropy(z, t)"},
        {"w": "X.T @ ((softmax(z, 1) - one_hot(t, c)) / n)", "b": "((softmax(z, 1) - one_hot(t, c)) / n).sum(0)"},
        dims={"n": 5, "d": 2, "c": 3}, constants={"X": "randn(n, d)", "t": "randint(0, c, [n])"},
        spelled={"b": ["(softmax(z, 1) - one_hot(t, c)).mean(0)", "softmax(z, 1).mean(0) - one_hot(t, c).sum(0) / n"]},
    ),
    Graph(
        "mean squared error", {"x": "randn(n, m)"}, {"loss": "mse_loss(x, t)"}, {"x": "2 * (x - t) / (n * m)"},
        dims={"n": 3, "m": 2}, constants={"t": "randn(n, m)"}, rational=True,
        spelled={"x": ["(x - t) / (n * m / 2)", "2 / m * (x - t) / n", "2 * x / (n * m) - 2 * t / (n * m)"]},
    ),
    Graph(
        "binary cross entropy of logits", {"z": "randn(n)"}, {"loss": "binary_cross_entropy_with_logits(z, t)"},
        {"z": "(sigmoid(z) - t) / n"},
        dims={"n": 4}, constants={"t": "rand(n)"}, pieces=True,
        spelled={"z": ["(1 / (1 + exp(-z)) - t) / n", "sigmoid(z) / n - t / n"]},
    ),
    Graph(
        "log sum of exponentials", {"x": "randn(n, m)"}, {"y": "logsumexp(x, 1)"},
        {"x": "grad(y)[:, None] * softmax(x, 1)"},
        dims={"n": 2, "m": 4}, backward={"y": "randn(n)"},
        spelled={"x": ["grad(y).unsqueeze(1) * exp(x - y[:, None])", "(grad(y) / exp(y))[:, None] * exp(x)"]},
    ),
    Graph(
        "attention", {"q": "randn(n, d)", "k": "randn(m, d)", "v": "randn(m, p)"},
        {"s": "q @ k.T / d**0.5", "a": "softmax(s, 1)", "y": "a @ v"},
        {"v": "a.T @ grad(y)", "q": "ds @ k / d**0.5", "k": "ds.T @ q / d**0.5"},
        dims={"n": 2, "m": 3, "d": 4, "p": 2}, backward={"y": "randn_like(y)"},
        let={"da": "grad(y) @ v.T", "ds": "a * (da - (da * a).sum(1, keepdim=True))"},
        spelled={"q": ["grad(s) @ k / d**0.5", "ds @ k * d**-0.5"], "v": ["softmax(s, 1).T @ grad(y)"]},
    ),
    Graph(
        "focal weight", {"p": "uniform(0.1, 0.9, [n])"}, {"loss": "-((1 - p)**2 * log(p)).sum()"},
        {"p": "2 * (1 - p) * log(p) - (1 - p)**2 / p"},
        dims={"n": 4},
        spelled={"p": ["(1 - p) * (2 * log(p) - (1 - p) / p)"]},
    ),
    Graph(
        "divergence from a target", {"z": "randn(n, m)"}, {"q": "log_softmax(z, 1)",
            "loss": "kl_div(q, t, reduction='sum')"},
        {"z": "softmax(z, 1) * t.sum(1, keepdim=True) - t"},
        dims={"n": 2, "m": 3}, constants={"t": "uniform(0.1, 1, [n, m])"},
        spelled={"z": ["exp(q) * t.sum(1, keepdim=True) - t"]},
    ),
    Graph(
        "Gaussian likelihood", {"mu": "randn(n)", "ls": "uniform(-1, 1, [n])"},
        {"loss": "(0.5 * (t - mu)**2 * exp(-2 * ls) + ls).sum()"},
        {"mu": "(mu - t) * exp(-2 * ls)", "ls": "1 - (t - mu)**2 * exp(-2 * ls)"},
        dims={"n": 4}, constants={"t": "randn(n)"},
        spelled={"mu": ["(mu - t) / exp(ls)**2"]},
    ),
)  # fmt: skip
