"""Right backward passes of functions that are hard to check by steps: kinks, poles, cancellation, few digits.

At a kink the derivative is the convention that torch documents: a valid subgradient.
"""

from __future__ import annotations

from benchmarks.peers.record import Record

_TIES = [1, 3, 3, 2]
_HILBERT = "1 / (arange(1, {n} + 1)[:, None] + arange(0, {n})[None, :]).to(float64)"


def hilbert(n: int) -> str:
    """The matrix of 1 / (i + j + 1), of condition 1.5e4 for n = 4, 1.5e7 for 6, 1.5e10 for 8."""
    return _HILBERT.format(n=n)


KINKS = (
    Record("relu at 0", {"x": [-1, 0, 1]}, "relu(x)", {"x": "where(x > 0, g, 0)"}),
    Record("relu at 1e-8", {"x": [-1e-8, 1e-8, 1]}, "relu(x)", {"x": "where(x > 0, g, 0)"}),
    Record("abs at 0", {"x": [-1, 0, 1]}, "abs(x)", {"x": "g * sign(x)"}),
    Record("clamp at its bounds", {"x": [-1, 0.5, 1]}, "clamp(x, -1, 1)", {"x": "where((x >= -1) & (x <= 1), g, 0)"}),
    Record("maximum of equals", {"x": [1, 2], "y": [1, 1]}, "maximum(x, y)",
           {"x": "where(x == y, g / 2, where(x > y, g, 0))", "y": "where(x == y, g / 2, where(x > y, 0, g))"}),
    Record("largest of a tie", {"x": _TIES}, "amax(x)", {"x": "g * (x == out).to(x.dtype) / (x == out).sum()"}),
    Record("norm at 0", {"x": [0.0, 0, 0]}, "linalg.norm(x)",
           {"x": "where(out == 0, 0, g * x / out)"}),
    Record("leaky relu at 0", {"x": [-1, 0, 1]}, "leaky_relu(x)", {"x": "where(x > 0, g, 0.01 * g)"}),
    Record("x - floor(x) close to 1", {"x": [0.9999999, 1.0000001]}, "x - floor(x)", {"x": "g"}),
)  # fmt: skip

POLES = (
    Record("log near 0", {"x": [1e-8, 1e-5, 1e-3]}, "log(x)", {"x": "g / x"}),
    Record("log1p near -1", {"x": [-0.99999999, -0.9999]}, "log1p(x)", {"x": "g / (1 + x)"}),
    Record("square root near 0", {"x": [1e-12, 1e-8, 1e-4]}, "sqrt(x)", {"x": "g / (2 * out)"}),
    Record("reciprocal near 0", {"x": [1e-6, -1e-4, 1e-2]}, "1 / x", {"x": "-g / (x * x)"}),
    Record("x log x near 0", {"x": [1e-9, 1e-5, 0.1]}, "x * log(x)", {"x": "g * (1 + log(x))"}),
    Record("arc cosine near 1", {"x": [0.999999999, -0.99999]}, "acos(x)", {"x": "-g / sqrt((1 - x) * (1 + x))"}),
    Record("tangent near its pole", {"x": [1.57079, 1.5]}, "tan(x)", {"x": "g * (1 + out * out)"}),
    Record("atan2 by its cut", {"y": [1e-9, -1e-9], "x": [-1, -1]}, "atan2(y, x)",
           {"y": "g * x / (x * x + y * y)", "x": "-g * y / (x * x + y * y)"}),
    Record("vectors of length 1e-9", {"x": "1e-9 * randn(3)"}, "x / linalg.norm(x)",
           {"x": "(g - out * (g * out).sum()) / linalg.norm(x)"}),
)  # fmt: skip

SCALES = (
    Record("exp(100 x)", {"x": [0.5, 1, 3]}, "exp(100 * x)", {"x": "100 * g * out"}),
    Record("exp(-100 x)", {"x": [0.5, 1, 3]}, "exp(-100 * x)", {"x": "-100 * g * out"}),
    Record("sin(1000 x)", {"x": "randn(4)"}, "sin(1000 * x)", {"x": "1000 * g * cos(1000 * x)"}),
    Record("sin(1 / x) near 0", {"x": [0.001, 0.01]}, "sin(1 / x)", {"x": "-g * cos(1 / x) / (x * x)"}),
    Record("x**2 at 1e8", {"x": [1e8, -3e8]}, "x ** 2", {"x": "2 * g * x"}),
    Record("x**3 at 1e-8", {"x": [1e-8, -3e-8]}, "x ** 3", {"x": "3 * g * x ** 2"}),
    Record("x**4 at 1e5", {"x": [1e5, 2e5]}, "x ** 4", {"x": "4 * g * x ** 3"}),
    Record("product of 60 numbers", {"x": "uniform(2, 4, [60])"}, "prod(x)", {"x": "g * out / x"}),
    Record("matrices of 1e8 and 1e-8", {"a": "1e8 * randn(3, 4)", "b": "1e-8 * randn(4, 2)"}, "a @ b",
           {"a": "g @ b.T", "b": "a.T @ g"}),
    Record("softmax of thousands", {"x": [[1000.0, 999, 0], [-1000, 0, 2]]}, "softmax(x, 1)",
           {"x": "out * (g - (g * out).sum(1, keepdim=True))"}),
    Record("cross entropy, quite sure and wrong", {"x": [[500.0, 0, 0], [0, 300, -300]]}, "cross_entropy(x, t)",
           {"x": "g * (softmax(x, 1) - one_hot(t, 3).to(x.dtype)) / 2"}, {"t": [1, 1]}),
    Record("tanh of 20", {"x": [18.0, 20, -19]}, "tanh(x)", {"x": "g / cosh(x) ** 2"}),
    Record("sigmoid of -40", {"x": [-40.0, -300, 30]}, "sigmoid(x)", {"x": "g * sigmoid(x) * sigmoid(-x)"}),
)  # fmt: skip

CANCELLATION = (
    Record("(x + 1e8) - 1e8", {"x": "randn(4)"}, "(x + 1e8) - 1e8", {"x": "g"}),
    Record("(1 - cos x) / x**2 at 1e-3", {"x": [1e-3, 1e-2]}, "(1 - cos(x)) / x ** 2",
           {"x": "g * (x * sin(x) - 2 * (1 - cos(x))) / x ** 3"}),
    Record("(exp(x) - 1) / x at 1e-5", {"x": [1e-5, 1e-3]}, "(exp(x) - 1) / x",
           {"x": "g * (x * exp(x) - exp(x) + 1) / (x * x)"}),
    Record("variance about 1e6", {"x": "1e6 + randn(20)"}, "var(x)", {"x": "g * 2 * (x - x.mean()) / (x.numel() - 1)"}),
    Record("(x - 1)**7, written out", {"x": [0.99, 1.02]},
           "x**7 - 7 * x**6 + 21 * x**5 - 35 * x**4 + 35 * x**3 - 21 * x**2 + 7 * x - 1",
           {"x": "7 * g * (x - 1) ** 6"}),
    Record("difference of two large products", {"a": "1e4 + randn(3, 3)", "b": "1e4 + randn(3, 3)"}, "a @ b - b @ a",
           {"a": "g @ b.T - b.T @ g", "b": "a.T @ g - g @ a.T"}),
)  # fmt: skip

ILL_CONDITIONED = (
    Record("inverse of Hilbert's 4 by 4", {"h": hilbert(4)}, "inv(h)", {"h": "-(out.T @ g @ out.T)"}),
    Record("inverse of Hilbert's 6 by 6", {"h": hilbert(6)}, "inv(h)", {"h": "-(out.T @ g @ out.T)"}),
    Record("inverse of Hilbert's 8 by 8", {"h": hilbert(8)}, "inv(h)", {"h": "-(out.T @ g @ out.T)"}),
    Record("solve with Hilbert's 7 by 7", {"h": hilbert(7), "b": "randn(7)"}, "linalg.solve(h, b)",
           {"h": "-outer(inv(h).T @ g, out)", "b": "inv(h).T @ g"}),
    Record("logdet of Hilbert's 6 by 6", {"h": hilbert(6)}, "logdet(h)", {"h": "g * inv(h).T"}),
    Record("determinant, nearly singular", {"a": [[1, 2, 3], [4, 5, 6], [7, 8, 9.000001]]}, "linalg.det(a)",
           {"a": "g * out * inv(a).T"}),
    Record("quadratic form of an inverse", {"h": hilbert(5), "v": "randn(5)"}, "v @ inv(h) @ v",
           {"h": "-g * outer(inv(h).T @ v, inv(h) @ v)", "v": "g * (inv(h) @ v + inv(h).T @ v)"}),
)  # fmt: skip

PRECISION = (
    Record("single precision: matmul", {"a": "randn(8, 30)", "b": "randn(30, 5)"}, "a @ b",
           {"a": "g @ b.T", "b": "a.T @ g"}, dtype="float32"),
    Record("single precision: softmax", {"x": "3 * randn(4, 10)"}, "softmax(x, 1)",
           {"x": "out * (g - (g * out).sum(1, keepdim=True))"}, dtype="float32"),
    Record("single precision: layer norm", {"x": "5 + randn(4, 16)"}, "layer_norm(x, [16])",
           {"x": "(g - g.mean(1, keepdim=True) - out * (g * out).mean(1, keepdim=True))"
                 " / sqrt(x.var(1, unbiased=False, keepdim=True) + 1e-5)"}, dtype="float32"),
    Record("single precision: sum of 1,000 squares", {"x": "randn(1000)"}, "(x * x).sum()", {"x": "2 * g * x"},
           dtype="float32"),
    Record("single precision: exp(20 x)", {"x": [0.5, 1, 2]}, "exp(20 * x)", {"x": "20 * g * out"}, dtype="float32"),
    Record("single precision: x**2 at 1e5", {"x": [1e5, -3e5]}, "x ** 2", {"x": "2 * g * x"}, dtype="float32"),
    Record("single precision: inverse, condition 1e4", {"h": hilbert(4)}, "inv(h)", {"h": "-(out.T @ g @ out.T)"},
           dtype="float32"),
    Record("half precision: product", {"x": "randn(8)", "y": "randn(8)"}, "x * y", {"x": "g * y", "y": "g * x"},
           dtype="float16"),
    Record("half precision: tanh", {"x": "randn(8)"}, "tanh(x)", {"x": "g * (1 - out * out)"}, dtype="float16"),
    Record("half precision: matmul", {"a": "randn(3, 20)", "b": "randn(20, 2)"}, "a @ b",
           {"a": "g @ b.T", "b": "a.T @ g"}, dtype="float16"),
    Record("half precision: mean of squares", {"x": "randn(30)"}, "(x * x).mean()", {"x": "g * x * 2 / x.numel()"},
           dtype="float16"),
    Record("half precision: softmax", {"x": "2 * randn(2, 6)"}, "softmax(x, 1)",
           {"x": "out * (g - (g * out).sum(1, keepdim=True))"}, dtype="float16"),
)  # fmt: skip
