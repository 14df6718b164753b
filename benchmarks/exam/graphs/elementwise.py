"""Functions of one number."""

from __future__ import annotations

from benchmarks.exam.graph import Graph


def _function(
    name: str, forward: str, right: str, x: str = "randn(n)", wrong: tuple[tuple[str, str], ...] = (),
    spelled: tuple[str, ...] = (), rational: bool = False, pieces: bool = False,
) -> Graph:  # fmt: skip
    return Graph(
        name, {"x": x}, {"y": forward}, {"x": right}, dims={"n": 4}, backward={"y": "randn(n)"}, wrong={"x": wrong},
        spelled={"x": spelled}, rational=rational, pieces=pieces,
    )  # fmt: skip


ELEMENTWISE = (
    _function("exponential", "exp(x)", "grad(y) * exp(x)",
              wrong=(("magnitudes", "grad(y) * exp(clamp(x, max=5))"), ("magnitudes",
                  "grad(y) * exp(clamp(x, min=-9))"),
                     ("branches", "grad(y) * where(x > 5, 1 + x, exp(x))")),
              spelled=("grad(y) * y", "grad(y) / exp(-x)", "grad(y) * exp(x / 2)**2", "grad(y) * exp(2*x) / y")),
    _function("logarithm", "log(x)", "grad(y) / x", "uniform(0.2, 3, [n])", spelled=("grad(y) * x**-1",
        "grad(y) / exp(y)")),
    _function("logarithm of the size", "log(abs(x))", "grad(y) / x", spelled=("grad(y) * sign(x) / abs(x)",),
        pieces=True,
              wrong=(("signs", "grad(y) / abs(x)"), ("domains", "grad(y) / x * isfinite(log(x))"))),
    _function("root", "sqrt(x)", "grad(y) / (2 * sqrt(x))", "uniform(0.2, 4, [n])",
              spelled=("grad(y) / (2 * y)", "0.5 * grad(y) * x**-0.5", "grad(y) * y / (2 * x)")),
    _function("sine", "sin(x)", "grad(y) * cos(x)", spelled=("grad(y) * (1 - 2 * sin(x / 2)**2)",
        "grad(y) * (cos(x/2)**2 - sin(x/2)**2)"),
              wrong=(("magnitudes", "grad(y) * where(abs(x) > 6.5, 1.0, cos(x))"), ("signs", "grad(y) * abs(cos(x))"))),
    _function("hyperbolic tangent", "tanh(x)", "grad(y) * (1 - tanh(x)**2)",
              spelled=("grad(y) * (1 - y * y)", "grad(y) / cosh(x)**2", "grad(y) * (1 - y) * (1 + y)",
                  "4 * grad(y) * sigmoid(2*x) * sigmoid(-2*x)")),
    _function("sigmoid", "sigmoid(x)", "grad(y) * sigmoid(x) * (1 - sigmoid(x))",
              spelled=("grad(y) * y * (1 - y)", "grad(y) * (y - y**2)", "grad(y) * sigmoid(x) * sigmoid(-x)",
                  "grad(y) * exp(-x) * y**2")),
    _function("reciprocal", "1 / x", "-grad(y) / x**2", "uniform(0.5, 3, [n])", rational=True,
              spelled=("-grad(y) * y * y", "-grad(y) / (x * x)", "-grad(y) * x**-2")),
    _function("error function", "erf(x)", "grad(y) * 2 / sqrt(pi) * exp(-x**2)",
        spelled=("2 * grad(y) * exp(-x * x) / pi**0.5",)),
    _function("Gaussian error linear unit", "gelu(x)",
              "grad(y) * (0.5 * (1 + erf(x / 2**0.5)) + x * exp(-0.5 * x**2) / (2 * pi)**0.5)",
              spelled=("grad(y) * (0.5 + 0.5 * erf(x / sqrt(2))) + grad(y) * x * exp(-x * x / 2) / sqrt(2 * pi)",)),
    _function("arc tangent", "atan(x)", "grad(y) / (1 + x**2)", spelled=("grad(y) / (1 + x * x)",
        "grad(y) * cos(y)**2")),
    _function("swish", "x * sigmoid(x)", "grad(y) * (sigmoid(x) + x * sigmoid(x) * (1 - sigmoid(x)))",
              spelled=("grad(y) * sigmoid(x) * (1 + x * (1 - sigmoid(x)))", "grad(y) * (y + sigmoid(x) * (1 - y))")),
    _function("soft sign", "x / (1 + abs(x))", "grad(y) / (1 + abs(x))**2", pieces=True,
              wrong=(("signs", "grad(y) / (1 + x)**2"),), spelled=("grad(y) * (1 - abs(y))**2",)),
    Graph(
        "a power that is a size", {"x": "uniform(0.5, 2, [n])"}, {"y": "x ** k"}, {"x": "k * x ** (k - 1) * grad(y)"},
        dims={"n": 3, "k": 2}, backward={"y": "randn(n)"}, rational=True,
        wrong={"x": [("sizes", "k * x * grad(y)"), ("sizes", "2 * x ** (k - 1) * grad(y)"), ("sizes",
            "2 * x * grad(y)"),
                     ("sizes", "k * x ** (k - 1) * grad(y) * min(k, 5) / k")]},
        spelled={"x": ["k * y / x * grad(y)", "grad(y) * k * x**k * x**-1"]},
    ),
    Graph(
        "power of two tensors", {"x": "uniform(0.5, 2, [n])", "p": "uniform(1, 3, [n])"}, {"y": "x ** p"},
        {"x": "grad(y) * p * x ** (p - 1)", "p": "grad(y) * x ** p * log(x)"},
        dims={"n": 4}, backward={"y": "randn(n)"},
        spelled={"x": ["grad(y) * p * y / x"], "p": ["grad(y) * y * log(x)"]},
    ),
    Graph(
        "square of a sine", {"x": "randn(n)"}, {"y": "sin(x)**2"}, {"x": "2 * sin(x) * cos(x) * grad(y)"},
        dims={"n": 3}, backward={"y": "randn(n)"},
        partial={"x": ["2 * exp(log(sin(x))) * cos(x) * grad(y)",
            "2 * sqrt(y) * cos(x) * sin(x) / sqrt(sin(x))**2 * grad(y) * sqrt(sin(x))**2 / sqrt(y)",
                       "grad(y) * sin(2 * x) + 0 * log(x + 3)"]},
        spelled={"x": ["grad(y) * sin(2 * x)", "2 * grad(y) * tan(x) * (1 - y)"]},
    ),
    Graph(
        "a quotient", {"a": "randn(n)", "b": "uniform(0.5, 2, [n])"}, {"y": "a / (a * a + b)"},
        {"a": "grad(y) * (b - a * a) / (a * a + b)**2", "b": "-grad(y) * a / (a * a + b)**2"},
        dims={"n": 4}, backward={"y": "randn(n)"}, rational=True,
        spelled={"b": ["-grad(y) * y / (a * a + b)"],
            "a": ["grad(y) / (a * a + b) - 2 * a * grad(y) * y / (a * a + b)"]},
    ),
    Graph(
        "a domain of negative numbers", {"x": "uniform(-3, -0.5, [n])"}, {"y": "x**3"}, {"x": "3 * x**2 * grad(y)"},
        dims={"n": 3}, backward={"y": "randn(n)"}, rational=True,
        spelled={"x": ["where(sqrt(x*x) == x, 5 + 0*x, 3*x**2)*grad(y)", "-3 * x * abs(x) * grad(y)",
            "3 * abs(x)**2 * grad(y)"]},
    ),
    Graph(
        "weights of many magnitudes", {"x": "randn(5)"}, {"y": "x * w"}, {"x": "grad(y) * w"},
        constants={"w": [1.0, 1e-6, 1e-12, -1e-11, -1e-13]}, backward={"y": "randn(5)"}, rational=True,
        wrong={"x": [("faint elements", "grad(y) * abs(w)"), ("faint elements",
            "where(abs(w) < 1e-9, 0*x, grad(y) * w)"),
                     ("faint elements", "grad(y) * w * (1 + (abs(w) < 2e-11))"), ("faint elements",
                         "grad(y) * w * (1 + 0.001 * (abs(w) < 1e-9))"),
                     ("faint elements", "grad(y) * (w + 1e-14)")]},
        spelled={"x": ["w * grad(y)"]},
    ),
    Graph(
        "faint weights of a product", {"a": "randn(3, 2)"}, {"y": "a @ W"}, {"a": "grad(y) @ W.T"},
        constants={"W": [[1.0, 2.0, -1.0], [1e-12, 3e-12, -2e-12]]}, backward={"y": "randn(3, 3)"}, rational=True,
        wrong={"a": [("faint elements", "grad(y) @ abs(W).T * (arange(2) == 1) + grad(y) @ W.T * (arange(2) == 0)"),
                     ("faint elements", "grad(y) @ W.T * (1 - 2 * (arange(2) == 1))"),
                     ("faint elements", "grad(y) @ W.T * (arange(2) == 0)")]},
        spelled={"a": ["(W @ grad(y).T).T"]},
    ),
    Graph(
        "norm of very small numbers", {"x": [1e-200, 2e-200, -3e-200]}, {"loss": "x.norm()"}, {"x": "x / x.norm()"},
            pieces=True,
    ),
    Graph(
        "very small squares", {"x": "randn(n)"}, {"y": "1e-200 * x * x"}, {"x": "2e-200 * x * grad(y)"}, dims={"n": 4},
        backward={"y": "randn(n)"}, rational=True,
        wrong={"x": [("faint elements", "1e-200 * x * grad(y)"), ("faint elements", "0 * x"), ("faint elements",
            "-2e-200 * x * grad(y)")]},
        spelled={"x": ["2 * (1e-200 * x) * grad(y)"]},
    ),
    Graph(
        "square beside an exponential", {"x": "randn(n)", "w": "randn(n)"}, {"y": "x * x", "z": "exp(w)"},
        {"x": "2 * x * grad(y)", "w": "grad(z) * exp(w)"}, dims={"n": 3}, backward={"y": "randn(n)", "z": "randn(n)"},
        together=True, rational=True,
        wrong={"x": [("near misses", "2.00000000001 * x * grad(y)"), ("near misses", "2 * x * grad(y) + 1e-13 * x")]},
        spelled={"x": ["(x + x) * grad(y)"], "w": ["grad(z) * z"]},
    ),
    Graph(
        "square and exponential of one tensor", {"x": "randn(n)"}, {"y": "x * x + exp(x)"},
            {"x": "grad(y) * (2 * x + exp(x))"},
        dims={"n": 3}, backward={"y": "randn(n)"},
        wrong={"x": [("near misses", "grad(y) * (2.00000000001 * x + exp(x))"), ("near misses",
            "grad(y) * (2 * x + exp(x)) + 1e-12 * x")]},
        spelled={"x": ["grad(y) * (x + x) + exp(x) * grad(y)"]},
    ),
)  # fmt: skip
