"""Wrong backward passes of elementwise functions, very small gradients, and single elements among many."""

from __future__ import annotations

from benchmarks.peers.record import Record

_X = {"x": "randn(6)"}
_POSITIVE = {"x": "uniform(0.5, 2, [6])"}
_THOUSAND = {"x": "randn(1000)"}

ELEMENTWISE = (
    Record("tanh, not squared", _X, "tanh(x)", {"x": "g * (1 - out)"}),
    Record("tanh, 0.1 % too large", _X, "tanh(x)", {"x": "g * (1 - out * out) * 1.001"}),
    Record("tanh, 0.01 % too small", _X, "tanh(x)", {"x": "g * (1 - out * out) * 0.9999"}),
    Record("sigmoid, argument for value", _X, "sigmoid(x)", {"x": "g * out * (1 - x)"}),
    Record("sqrt, argument for root", _POSITIVE, "sqrt(x)", {"x": "g / (2 * x)"}),
    Record("log10, ln 10 as 2.3026", _POSITIVE, "log10(x)", {"x": "g / (x * 2.3026)"}),
    Record("exp2, ln 2 forgotten", _X, "exp2(x)", {"x": "g * out"}),
    Record("erf, two over root pi as 1.128", _X, "erf(x)", {"x": "g * 1.128 * exp(-x * x)"}),
    Record("sin(2 pi x), pi as 3.14159 outside", _X, "sin(2 * pi * x)", {"x": "g * 6.28318 * cos(2 * pi * x)"}),
    Record("gelu, derivative of its approximation", _X, "gelu(x)",
           {"x": "g * (0.5 * (1 + tanh(0.7978845608 * (x + 0.044715 * x**3))) + 0.5 * x * (1 - tanh(0.7978845608"
                 " * (x + 0.044715 * x**3))**2) * 0.7978845608 * (1 + 0.134145 * x**2))"}),
    Record("silu, second term forgotten", _X, "silu(x)", {"x": "g * sigmoid(x)"}),
    Record("cube, power not lowered", _POSITIVE, "pow(x, 3)", {"x": "g * 3 * x"}),
    Record("atan2, sign", {"y": "uniform(0.5, 2, [5])", "x": "uniform(0.5, 2, [5])"}, "atan2(y, x)",
           {"y": "g * x / (x * x + y * y)", "x": "g * y / (x * x + y * y)"}),
    Record("power, base for logarithm", {"x": "uniform(0.5, 2, [5])", "y": "uniform(1, 3, [5])"}, "pow(x, y)",
           {"x": "g * y * x ** (y - 1)", "y": "g * out * x"}),
    Record("relu, leaking 1e-6", {"x": [-2, -1, 0.5, 1]}, "relu(x)", {"x": "where(x > 0, g, 1e-6 * g)"}),
    Record("abs, sign lost", {"x": [-2, -1, 0.5, 1]}, "abs(x)", {"x": "g"}),
    Record("clamp, open", {"x": [-2, -0.5, 0.5, 3]}, "clamp(x, -1, 1)", {"x": "g"}),
    Record("maximum, to both", {"x": [1, 5, 2], "y": [4, 2, 3]}, "maximum(x, y)", {"x": "g", "y": "g"}),
    Record("single precision: tanh, 0.1 % too large", _X, "tanh(x)", {"x": "g * (1 - out * out) * 1.001"},
           dtype="float32"),
    Record("single precision: softmax, second term forgotten", {"x": "randn(3, 4)"}, "softmax(x, 1)", {"x": "out * g"},
           dtype="float32"),
    Record("half precision: product, 5 % too large", {"x": "randn(6)", "y": "randn(6)"}, "x * y",
           {"x": "g * y * 1.05", "y": "g * x"}, dtype="float16"),
)  # fmt: skip

TINY = (
    Record("1e-9 x**2, factor two forgotten", _X, "1e-9 * x * x", {"x": "1e-9 * g * x"}),
    Record("1e-200 x**2, factor two forgotten", _X, "1e-200 * x * x", {"x": "1e-200 * g * x"}),
    Record("exp(-30 - x), sign", _POSITIVE, "exp(-30 - x)", {"x": "g * out"}),
    Record("tanh of large numbers, always zero", {"x": [12.0, 13, 14]}, "tanh(x)", {"x": "0 * g"}),
    Record("weights of six magnitudes, the faintest doubled", {"x": "randn(6)"}, "x * w",
           {"x": "g * w * (1 + (w < 1e-5).to(w.dtype))"}, {"w": [1, 1e-1, 1e-2, 1e-3, 1e-4, 1e-6]}),
    Record("sigmoid far out, three for one", {"x": [-20.0, -25, -30]}, "sigmoid(x)", {"x": "3 * g * out"}),
    Record("faint weight of a product, transposed", {"a": "randn(4, 4)", "b": "1e-7 * randn(4, 4)"}, "a @ b",
           {"a": "g @ b", "b": "a.T @ g"}),
)  # fmt: skip

ONE_IN_1000 = (
    Record("squares, one element off by 5 %", _THOUSAND, "x * x",
           {"x": "2 * g * x * (1 + 0.05 * (arange(1000) == 700).to(float64))"}),
    Record("squares, one element off by 0.1 %", _THOUSAND, "x * x",
           {"x": "2 * g * x * (1 + 0.001 * (arange(1000) == 3).to(float64))"}),
    Record("sum, one element forgotten", _THOUSAND, "sum(x)", {"x": "g * (arange(1000) != 999).to(float64)"}),
    Record("cumulative sum, the last element forgotten", {"x": "randn(500)"}, "cumsum(x, 0)",
           {"x": "flip(cumsum(flip(g, [0]), 0), [0]) - g[499]"}),
    Record("sines, the sign of one", _THOUSAND, "sin(x)",
           {"x": "g * cos(x) * (1 - 2 * (arange(1000) == 123).to(float64))"}),
    Record("mean of products, one element doubled", {"x": "randn(1000)", "y": "randn(1000)"}, "mean(x * y)",
           {"x": "g * y / 1000 * (1 + (arange(1000) == 500).to(float64))", "y": "g * x / 1000"}),
)  # fmt: skip
