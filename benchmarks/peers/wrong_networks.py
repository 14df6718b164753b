"""Wrong backward passes of broadcasting, softmax, losses and normalisation."""

from __future__ import annotations

from benchmarks.peers.record import Record

_LABELS = {"t": [2, 0, 1]}
_ROWS = {"x": "randn(3, 4)"}
_CENTRED = "(x - x.mean(1, keepdim=True))"
_DEVIATION = "sqrt(x.var(1, unbiased=False, keepdim=True) + 1e-5)"

BROADCAST = (
    Record("bias, mean for sum", {"x": "randn(3, 4)", "b": "randn(4)"}, "x + b", {"x": "g", "b": "g.mean(dim=0)"}),
    Record("bias, first row only", {"x": "randn(3, 4)", "b": "randn(1, 4)"}, "x + b", {"x": "g", "b": "g[0:1]"}),
    Record("bias, summed over the wrong dimension", {"x": "randn(4, 4)", "b": "randn(4)"}, "x + b",
           {"x": "g", "b": "g.sum(dim=1)"}),
    Record("scale, unreduced factor", {"x": "randn(3, 4)", "s": "randn(3, 1)"}, "x * s",
           {"x": "g * s", "s": "g.sum(dim=1, keepdim=True) * x.sum(dim=1, keepdim=True)"}),
    Record("scalar, mean for sum", {"x": "randn(3, 4)", "s": 1.5}, "x * s", {"x": "g * s", "s": "(g * x).mean()"}),
    Record("expand, summed over one dimension of two", {"x": "randn(1, 4, 1)"}, "expand(x, [3, 4, 5])",
           {"x": "5 * g.sum(dim=0, keepdim=True)[:, :, :1]"}),
    Record("quotient, denominator not squared", {"x": "randn(3, 4)", "s": "uniform(1, 2, [4])"}, "x / s",
           {"x": "g / s", "s": "(-g * x / s).sum(dim=0)"}),
    Record("mean for sum", {"x": "randn(3, 4)"}, "sum(x, 1)", {"x": "g[:, None] / 4 * ones_like(x)"}),
    Record("sum for mean", {"x": "randn(3, 4)"}, "mean(x, 1)", {"x": "g[:, None] * ones_like(x)"}),
)  # fmt: skip

SOFTMAX = (
    Record("softmax, second term forgotten", _ROWS, "softmax(x, 1)", {"x": "out * g"}),
    Record("softmax, second term over the wrong dimension", {"x": "randn(4, 4)"}, "softmax(x, 1)",
           {"x": "out * (g - (g * out).sum(dim=0, keepdim=True))"}),
    Record("softmax, mean for sum", _ROWS, "softmax(x, 1)", {"x": "out * (g - (g * out).mean(dim=1, keepdim=True))"}),
    Record("softmax, as if elementwise", _ROWS, "softmax(x, 1)", {"x": "g * out * (1 - out)"}),
    Record("softmax of nearly one-hot rows, doubled", {"x": [[20.0, 0, 1], [0, 25, 2]]}, "softmax(x, 1)",
           {"x": "2 * out * (g - (g * out).sum(dim=1, keepdim=True))"}),
    Record("log_softmax, not summed", _ROWS, "log_softmax(x, 1)", {"x": "g - exp(out) * g"}),
    Record("logsumexp, normalised over everything", _ROWS, "logsumexp(x, 1)",
           {"x": "g[:, None] * exp(x) / exp(x).sum()"}),
    Record("cross entropy, not divided by the batch", _ROWS, "cross_entropy(x, t)",
           {"x": "g * (softmax(x, 1) - one_hot(t, 4).to(x.dtype))"}, _LABELS),
    Record("cross entropy, without the labels", _ROWS, "cross_entropy(x, t)", {"x": "g * softmax(x, 1) / 3"}, _LABELS),
    Record("cross entropy, last row's label off by one", _ROWS, "cross_entropy(x, t)",
           {"x": "g * (softmax(x, 1) - one_hot(tensor([2, 0, 2]), 4).to(x.dtype)) / 3"}, _LABELS),
    Record("mean squared error, factor two forgotten", {"x": "randn(3, 4)", "y": "randn(3, 4)"}, "mse_loss(x, y)",
           {"x": "g * (x - y) / 12", "y": "g * (y - x) / 12"}),
)  # fmt: skip

NORMALISATION = (
    Record("layer norm, as if mean and deviation were constants", _ROWS, "layer_norm(x, [4])",
           {"x": f"g / {_DEVIATION}"}),
    Record("layer norm, not centred", _ROWS, "layer_norm(x, [4])",
           {"x": f"(g - out * (g * out).mean(1, keepdim=True)) / {_DEVIATION}"}),
    Record("layer norm, deviation a constant", _ROWS, "layer_norm(x, [4])",
           {"x": f"(g - g.mean(1, keepdim=True)) / {_DEVIATION}"}),
    Record("layer norm, deviation of a sample", _ROWS, "layer_norm(x, [4])",
           {"x": "(g - g.mean(1, keepdim=True) - out * (g * out).mean(1, keepdim=True)) / x.std(1, keepdim=True)"}),
    Record("layer norm, eps forgotten", {"x": "2 * randn(3, 16)"}, "layer_norm(x, [16])",
           {"x": "(g - g.mean(1, keepdim=True) - out * (g * out).mean(1, keepdim=True))"
                 " / x.std(1, unbiased=False, keepdim=True)"}),
    Record("rms norm, second term forgotten", _ROWS, "x / sqrt((x * x).mean(1, keepdim=True))",
           {"x": "g / sqrt((x * x).mean(1, keepdim=True))"}),
    Record("rms norm, sum for mean", _ROWS, "x / sqrt((x * x).mean(1, keepdim=True))",
           {"x": "(g - out * (g * out).sum(1, keepdim=True)) / sqrt((x * x).mean(1, keepdim=True))"}),
    Record("unit vectors, not projected", _ROWS, "normalize(x)", {"x": "g / linalg.norm(x, dim=1, keepdim=True)"}),
    Record("batch statistics, over the wrong dimension", {"x": "randn(4, 4)"},
           "(x - x.mean(0)) / x.std(0, unbiased=False)",
           {"x": "(g - g.mean(1, keepdim=True) - out * (g * out).mean(1, keepdim=True)) / x.std(0, unbiased=False)"}),
    Record("variance of 1,000 numbers, n for n - 1", {"x": "randn(1000)"}, "var(x)",
           {"x": "g * 2 * (x - x.mean()) / 1000"}),
    Record("deviation, not divided by itself", {"x": "2 * randn(8)"}, "std(x)", {"x": "g * (x - x.mean()) / 7"}),
    Record("norm, squared", {"x": "randn(8)"}, "linalg.norm(x)", {"x": "g * 2 * x"}),
)  # fmt: skip
