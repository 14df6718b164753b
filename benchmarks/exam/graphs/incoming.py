"""Incoming gradients that are written out, literal inputs, several roots, several passes, and derivations in steps."""

from __future__ import annotations

from benchmarks.exam.graph import Graph

INCOMING = (
    Graph(
        "square under ones", {"x": "randn(n)"}, {"y": "x * x"}, {"x": "2 * x * grad(y)"},
        dims={"n": 4}, backward={"y": "ones(n)"}, rational=True,
        wrong={"x": [("incoming gradients", "2*x*grad(y)**2"), ("incoming gradients", "2*x*abs(grad(y))"),
                     ("incoming gradients", "2*x*grad(y).mean()"), ("incoming gradients", "2*x*grad(y).flip(0)"),
                     ("incoming gradients", "2*x/grad(y)"), ("incoming gradients", "x*(grad(y) + 1)"),
                         ("incoming gradients", "x + x*grad(y)**0")]},
        spelled={"x": ["2 * x", "x * grad(y) + grad(y) * x"]},
    ),
    Graph(
        "square under twos", {"x": "randn(n)"}, {"y": "x * x"}, {"x": "2 * x * grad(y)"},
        dims={"n": 3}, backward={"y": "full([n], 2.0)"}, rational=True,
        wrong={"x": [("incoming gradients", "x*(grad(y) + 2)"), ("incoming gradients", "x*grad(y)**2"),
            ("incoming gradients", "x*2**grad(y)")]},
        spelled={"x": ["4 * x"]},
    ),
    Graph(
        "product under a symmetric gradient", {"a": "randn(2, 3)", "b": "randn(3, 2)"}, {"y": "a @ b"},
        {"a": "grad(y) @ b.T", "b": "a.T @ grad(y)"},
        backward={"y": [[2.0, 5.0], [5.0, 3.0]]}, rational=True,
        wrong={"a": [("incoming gradients", "grad(y).T @ b.T")], "b": [("incoming gradients", "a.T @ grad(y).T")]},
        spelled={"a": ["(b @ grad(y).T).T"]},
    ),
    Graph(
        "product under the identity", {"a": "randn(n, k)", "b": "randn(k, n)"}, {"y": "a @ b"},
        {"a": "grad(y) @ b.T", "b": "a.T @ grad(y)"},
        dims={"n": 3, "k": 2}, backward={"y": "eye(n)"}, rational=True,
        wrong={"a": [("incoming gradients", "grad(y).T @ b.T"), ("incoming gradients", "grad(y) @ grad(y) @ b.T"),
                     ("incoming gradients", "inv(grad(y) + 0*eye(n)) @ b.T")]},
        spelled={"a": ["b.T"]},
    ),
    Graph(
        "sine under a literal gradient", {"x": [0.5, -1.0, 2.0]}, {"y": "sin(x)"}, {"x": "grad(y) * cos(x)"},
        backward={"y": [1.0, 1.0, -2.0]},
        wrong={"x": [("incoming gradients",
            "sign(grad(y)) * grad(y)**2 * cos(x) * where(abs(grad(y)) == 2, 0.5, 1.0)")]},
        spelled={"x": ["grad(y) * cos(-x)"]},
    ),
    Graph(
        "mean of squares with a written gradient of one", {"x": "randn(n)"}, {"loss": "(x * x).mean()"},
        {"x": "2 * x * grad(loss) / n"},
        dims={"n": 4}, backward={"loss": 1}, rational=True,
        wrong={"x": [("incoming gradients", "2 * x * grad(loss)**2 / n"), ("incoming gradients",
            "2 * x * abs(grad(loss)) / n")]},
        spelled={"x": ["2 * x / n"]},
    ),
    Graph(
        "cube of negative literals", {"x": [-1.5, -2, -3]}, {"y": "x**3"}, {"x": "3 * x**2 * grad(y)"},
        backward={"y": "randn(3)"}, rational=True,
        wrong={"x": [("regions", "where(sqrt(x*x) == x, 5 + 0*x, 3*x**2)*grad(y)"), ("regions",
            "where(sqrt(x*x) >= x, 3*x**2, 5 + 0*x)*grad(y) + (x > 0)"),
                     ("signs", "-3*x*abs(x)*grad(y)"), ("regions", "where(sqrt(x*x) <= x, 5 + 0*x, 3*x**2)*grad(y)")]},
        spelled={"x": ["3 * x * x * grad(y)"]},
    ),
    Graph(
        "literal matrices with shapes", {"x": [[2, 3], [1, 4]], "y": [[3, 4], [5, 6], [7, 8]]},
        {"p": "y @ x", "loss": "(p * p).sum()"},
        {"x": "2 * y.T @ p", "y": "2 * p @ x.T"}, shapes={"x": ["c", "d"], "y": ["b", "c"]}, rational=True,
        wrong={"x": [("sizes", "2 * y.T @ p * y.shape[0] / 3"), ("sizes",
            "2 * y.T @ p * min(y.shape[0], 3) / y.shape[0]"),
                     ("signs", "2 * abs(y).T @ p"), ("magnitudes", "2 * y.T @ clamp(p, max=100)")]},
        spelled={"x": ["2 * y.T @ y @ x"]},
    ),
    Graph(
        "literal matrix without shapes", {"x": [[1.0, 2.0], [3.0, 5.0]]}, {"loss": "(x @ x).sum()"},
        {"x": "ones(2, 2) @ x.T + x.T @ ones(2, 2)"}, rational=True,
        wrong={"x": [("signs", "ones(2, 2) @ abs(x).T + x.T @ ones(2, 2)"), ("magnitudes",
            "ones(2, 2) @ clamp(x, max=9).T + x.T @ ones(2, 2)")]},
        spelled={"x": ["x.sum(1)[None, :].expand(2, 2) + x.sum(0)[:, None].expand(2, 2)"]},
    ),
)  # fmt: skip

PASSES = (
    Graph(
        "two roots", {"x": "randn(n)"}, {"a": "x * x", "b": "sin(x)"}, {"x": "2 * x * grad(a) + cos(x) * grad(b)"},
        dims={"n": 4}, backward={"a": "randn(n)", "b": "randn(n)"},
        spelled={"x": ["grad(b) * cos(x) + x * grad(a) * 2"]},
    ),
    Graph(
        "two roots under ones", {"x": "randn(n)", "w": "randn(n)"}, {"a": "x * w", "b": "x * x * w"},
        {"x": "grad(a) * w + 2 * grad(b) * x * w", "w": "grad(a) * x + grad(b) * x * x"},
        dims={"n": 3}, backward={"a": "ones(n)", "b": "ones(n)"}, rational=True,
        wrong={"x": [("incoming gradients", "grad(b) * w + 2 * grad(a) * x * w"), ("incoming gradients",
            "grad(a) * w + 2 * grad(b) * grad(a) * x * w")]},
        spelled={"w": ["x * (grad(a) + grad(b) * x)"]},
    ),
    Graph(
        "a root above another", {"x": "randn(n)"}, {"h": "x * x", "loss": "h.sum()"}, {"x": "2 * x * grad(h)"},
        dims={"n": 3}, backward={"h": "randn(n)", "loss": 1}, rational=True,
        spelled={"x": ["(grad(h) + grad(h)) * x"]},
    ),
    Graph(
        "two passes", {"x": "randn(n)"}, {"y": "x**3", "z": "2 * x"}, {"x": "3 * x**2 * grad(y) + 2 * grad(z)"},
        dims={"n": 3}, steps=({"backward": {"y": "randn(n)"}}, {"backward": {"z": "randn(n)"}}), rational=True,
        spelled={"x": ["2 * grad(z) + 3 * grad(y) * x * x"]},
    ),
    Graph(
        "the same pass twice", {"w": "randn(d, m)"}, {"y": "X @ w", "loss": "(y * y).sum()"}, {"w": "4 * X.T @ y"},
        dims={"n": 3, "d": 2, "m": 2}, constants={"X": "randn(n, d)"}, steps=({"backward": "loss"},
            {"backward": "loss"}),
        rational=True, spelled={"w": ["2 * X.T @ y + 2 * X.T @ (X @ w)"]},
    ),
    Graph(
        "two layers with batch norm, in steps",
        {"W1": "randn(d, h)", "b1": "randn(h)", "g": "randn(h)", "W2": "randn(h, c)", "b2": "randn(c)"},
        {"Z1": "X @ W1 + b1", "mu": "Z1.mean(0)", "v": "((Z1 - mu)**2).mean(0)", "N": "(Z1 - mu) / sqrt(v + 1e-5)",
         "H": "tanh(g * N)", "Z2": "H @ W2 + b2", "loss": "cross_entropy(Z2, t)"},
        {"W2": "H.T @ dZ2", "b2": "dZ2.sum(0)", "g": "(dA * N).sum(0)", "W1": "X.T @ dZ1", "b1": "dZ1.sum(0)"},
        dims={"n": 5, "d": 3, "h": 4, "c": 3}, constants={"X": "randn(n, d)", "t": "randint(0, c, [n])"},
        let={"dZ2": "(softmax(Z2, 1) - one_hot(t, c)) / n", "dH": "dZ2 @ W2.T", "dA": "dH * (1 - H**2)",
             "dN": "dA * g", "dZ1": "(dN - dN.mean(0) - N * (dN * N).mean(0)) / sqrt(v + 1e-5)"},
        pieces=True, spelled={"b2": ["dZ2.mean(0) * n"], "b1": ["0 * b1", "zeros(h)"]},
    ),
    Graph(
        "two layers, in steps", {"W1": "randn(d, h)", "W2": "randn(h, c)"},
        {"Z1": "X @ W1", "H": "sigmoid(Z1)", "P": "H @ W2", "loss": "((P - T)**2).mean()"},
        {"W2": "H.T @ dP", "W1": "X.T @ dZ1"},
        dims={"n": 4, "d": 2, "h": 3, "c": 2}, constants={"X": "randn(n, d)", "T": "randn(n, c)"},
        let={"dP": "2 * (P - T) / (n * c)", "dH": "dP @ W2.T", "dZ1": "dH * H * (1 - H)"},
        spelled={"W1": ["X.T @ (dH * (H - H**2))"]},
    ),
)  # fmt: skip
