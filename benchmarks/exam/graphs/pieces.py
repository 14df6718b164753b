"""Functions in pieces: what is true of one says nothing about another."""

from __future__ import annotations

from benchmarks.exam.graph import Graph


def _piece(name: str, forward: str, right: str, wrong: tuple[str, ...] = (), spelled: tuple[str, ...] = ()) -> Graph:
    """A function of one vector under a random incoming gradient."""
    return Graph(
        name, {"x": "randn(n)"}, {"y": forward}, {"x": right}, dims={"n": 5}, backward={"y": "randn(n)"}, pieces=True,
        wrong={"x": [("branches", text) for text in wrong]}, spelled={"x": spelled},
    )  # fmt: skip


PIECES = (
    _piece("relu", "relu(x)", "grad(y) * (x > 0)",
           ("grad(y) * (x > -5)", "grad(y) * (x > 0) * (x < 7)", "where(x > 9, 0*x, grad(y) * (x > 0))",
               "grad(y) * (x > 0) + (x < -8)"),
           ("where(x > 0, grad(y), 0*x)", "grad(y) * (1 + sign(x)) / 2", "relu(sign(x)) * grad(y)")),
    _piece("relu6", "relu6(x)", "grad(y) * ((x > 0) & (x < 6))",
           ("grad(y) * (x > 0)", "grad(y) * (x < 6)", "grad(y) * ((x > 0) & (x < 60))",
               "grad(y) * ((x > -6) & (x < 6))"),
           ("where(x > 0, where(x < 6, grad(y), 0*x), 0*x)", "grad(y) * (x > 0) * (x < 6)")),
    _piece("hard tanh", "hardtanh(x, -4, 4)", "grad(y) * ((x > -4) & (x < 4))",
           ("grad(y)", "grad(y) * (x < 4)", "grad(y) * (x > -4)", "grad(y) * (abs(x) < 8)"),
           ("grad(y) * (abs(x) < 4)", "grad(y) * (x * x < 16)")),
    _piece("square of a clamp", "clamp(x, -5, 5)**2", "2 * x * grad(y) * (abs(x) <= 5)",
           ("2*x*grad(y)", "2*clamp(x, -5, 5)*grad(y)", "2*x*grad(y)*(x <= 5)"),
           ("2 * clamp(x, -5, 5) * grad(y) * ((x >= -5) & (x <= 5))",)),
    _piece("clamp from below", "clamp(x, min=-3)", "grad(y) * (x >= -3)",
           ("grad(y)", "grad(y) * (x >= -4)", "grad(y) * (x >= -3) * (x <= 30)"), ("where(x < -3, 0*x, grad(y))",)),
    _piece("leaky relu", "leaky_relu(x, 0.1)", "where(x > 0, grad(y), 0.1 * grad(y))",
           ("where(x > 0, grad(y), 0.1 * grad(y)) * (x > -10)", "where(x > 0, grad(y), 0.01 * grad(y))"),
           ("grad(y) * (0.1 + 0.9 * (x > 0))",)),
    _piece("exponential linear unit", "elu(x)", "where(x > 0, grad(y), grad(y) * exp(x))",
           ("where(x > 0, grad(y), grad(y) * (1 + x))", "where(x > 5, 0*x, where(x > 0, grad(y), grad(y) * exp(x)))"),
           ("grad(y) * exp(clamp(x, max=0))", "grad(y) * minimum(exp(x), ones_like(x))")),
    _piece("softplus with a threshold", "softplus(x, threshold=5)", "where(x > 5, grad(y), grad(y) * sigmoid(x))",
           ("grad(y) * sigmoid(x)", "where(x > 20, grad(y), grad(y) * sigmoid(x))"),
           ("grad(y) * where(x > 5, 1.0, sigmoid(x))",)),
    _piece("hard shrink", "hardshrink(x, 0.5)", "grad(y) * (abs(x) > 0.5)",
           ("grad(y) * (abs(x) > 0.5) * (abs(x) < 50)", "grad(y) * (x > 0.5)"),
               ("grad(y) * ((x > 0.5) | (x < -0.5))",)),
    _piece("soft shrink", "softshrink(x, 0.5)", "grad(y) * (abs(x) > 0.5)", ("grad(y) * (x > 0.5)",),
           ("where(abs(x) > 0.5, grad(y), 0*x)",)),
    _piece("threshold far out", "where(x > 3, x * x, 6 * x - 9)", "where(x > 3, 2 * x, 6.0) * grad(y)",
           ("6 * grad(y)", "where(x > 4, 2 * x, 6.0) * grad(y)", "where(x > 2, 2 * x, 6.0) * grad(y)"),
           ("maximum(2 * x, 6 + 0*x) * grad(y)",)),
    _piece("size", "abs(x)", "grad(y) * sign(x)",
           ("grad(y) * clamp(1e8 * x, -1, 1)", "grad(y) * where(x > -6, sign(x), 1.0)"),
           ("grad(y) * x / abs(x)", "grad(y) * where(x > 0, 1.0, -1.0)")),
    _piece("relu squared", "relu(x)**2", "2 * relu(x) * grad(y)",
           ("2 * x * grad(y) * (x > -2)", "2 * clamp(x, 0, 7) * grad(y)"), ("2 * x * grad(y) * (x > 0)",
               "(x + abs(x)) * grad(y)")),
    _piece("a step of slopes", "where(x < -6, -x, where(x < 6, 2 * x, 3 * x))",
           "grad(y) * where(x < -6, -1.0, where(x < 6, 2.0, 3.0))",
           ("2 * grad(y)", "grad(y) * where(x < 6, 2.0, 3.0)", "grad(y) * where(x < -6, -1.0, 2.0)")),
    _piece("huber by hand", "where(abs(x) < 2, 0.5 * x * x, 2 * (abs(x) - 1))", "grad(y) * clamp(x, -2, 2)",
           ("grad(y) * x", "grad(y) * clamp(x, -2, 3)", "grad(y) * clamp(x, max=2)"),
           ("grad(y) * where(abs(x) < 2, x, 2 * sign(x))",)),
    Graph(
        "larger of two", {"a": "randn(n)", "b": "randn(n)"}, {"y": "maximum(a, b)"},
        {"a": "grad(y) * (a > b)", "b": "grad(y) * (b > a)"},
        dims={"n": 4}, backward={"y": "randn(n)"}, pieces=True,
        wrong={"a": [("branches", "grad(y) * (a > b) * (a < b + 12)"), ("branches", "grad(y) * (a + 5 > b)")]},
        spelled={"a": ["grad(y) * (1 + sign(a - b)) / 2", "where(a > b, grad(y), 0*a)"]},
    ),
    Graph(
        "largest of each row", {"x": "randn(n, m)"}, {"y": "amax(x, 1)"},
        {"x": "grad(y)[:, None] * (x == y[:, None])"},
        dims={"n": 3, "m": 4}, backward={"y": "randn(n)"}, pieces=True,
        wrong={"x": [("sizes", "grad(y)[:, None] * (x == y[:, None]) * min(m, 4) / m"),
                     ("branches", "grad(y)[:, None] * (x == y[:, None]) * (x < 6)")]},
        spelled={"x": ["grad(y)[:, None] * (x >= amax(x, 1, keepdim=True))",
            "grad(y)[:, None] * one_hot(argmax(x, 1), m)"]},
    ),
    Graph(
        "two layers with relu", {"W": "randn(d, h)", "b": "randn(h)", "V": "randn(h, m)"},
        {"z": "X @ W + b", "a": "relu(z)", "y": "a @ V"},
        {"W": "X.T @ ((grad(y) @ V.T) * (z > 0))", "b": "((grad(y) @ V.T) * (z > 0)).sum(0)", "V": "a.T @ grad(y)"},
        dims={"n": 3, "d": 2, "h": 4, "m": 2}, constants={"X": "randn(n, d)"}, backward={"y": "randn(n, m)"},
            pieces=True,
        wrong={"W": [("branches", "X.T @ ((grad(y) @ V.T) * ((z > 0) & (z < 8)))"), ("branches",
            "X.T @ ((grad(y) @ V.T) * (z > -0.001))")]},
        spelled={"W": ["X.T @ (grad(a) * (z > 0))", "X.T @ where(z > 0, grad(y) @ V.T, 0*z)"],
            "b": ["(grad(a) * (a > 0)).sum(0)"]},
    ),
    Graph(
        "hinge", {"w": "randn(d)"}, {"s": "t * (X @ w)", "loss": "clamp(1 - s, min=0).sum()"},
        {"w": "-X.T @ (t * (s < 1))"},
        dims={"n": 5, "d": 3}, constants={"X": "randn(n, d)", "t": "sign(randn(n))"}, pieces=True,
        wrong={"w": [("branches", "-X.T @ (t * (s < 1) * (s > -15))"), ("branches", "-X.T @ (t * (s < 1.01))")]},
        spelled={"w": ["-(t * (s < 1)) @ X", "-X.T @ where(s < 1, t, 0*t)"]},
    ),
    Graph(
        "count of what is not zero", {"x": "randn(n, m)"}, {"y": "linalg.vector_norm(x, 0, dim=1)"}, {"x": "0 * x"},
        dims={"n": 2, "m": 3}, backward={"y": "randn(n)"}, pieces=True, spelled={"x": ["zeros_like(x)", "x - x"]},
    ),
)  # fmt: skip
