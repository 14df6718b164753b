"""Torch's convention at kinks and ties, which the core follows wherever torch is deterministic."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import run
from gradcheck.checks.result import Comparison
from tests.from_text import case_of

#: By an input that has kinks or ties, calls.
CALLS = {
    "[1.0, 2.0, 2.0, 2.0, 3.0]": (
        "median(x)",
        "nanmedian(x)",
        "amax(x)",
        "amin(x, 0)",
        "max(x)",
        "min(x)",
        "maximum(x, x * 1)",
        "minimum(x, detach(x))",
        "fmax(x, detach(x))",
        "fmin(x, detach(x))",
        "linalg.vector_norm(x, inf)",
        "linalg.vector_norm(x, -inf)",
        "sort(x)[0]",
        "sort(x, descending=True)[0]",
        "kthvalue(x, 3)[0]",
        "mode(x)[0]",
        "quantile(x, 0.5)",
        "quantile(x, 0.6)",
        "cummax(x, 0)[0]",
        "cummin(x, 0)[0]",
        "logsumexp(x, 0)",
        "aminmax(x)[0]",
        "aminmax(x)[1]",
    ),
    "[1.0, 1.0, 2.0, 2.0]": (
        "median(x)",
        "max_pool1d(x.reshape(1, 1, 4), 2)",
        "adaptive_max_pool1d(x.reshape(1, 1, 4), 2)",
        "max_pool2d(x.reshape(1, 2, 2), 2)",
        "lp_pool1d(x.reshape(1, 1, 4) * 0, 2.0, 2)",
        "cdist(x.reshape(2, 2), x.reshape(2, 2))",
        "cdist(x.reshape(2, 2), x.reshape(2, 2), p=1.0)",
        "pairwise_distance(x.reshape(2, 2), detach(x.reshape(2, 2)))",
        "renorm(x.reshape(2, 2), 2, 0, 1.0)",
        "triplet_margin_loss(x.reshape(2, 2), detach(x.reshape(2, 2)), detach(x.reshape(2, 2)))",
        "gaussian_nll_loss(x, detach(x), detach(x) * 0)",
        "multi_margin_loss(x.reshape(2, 2), tensor([0, 1]))",
        "multilabel_margin_loss(x.reshape(2, 2), tensor([[0, -1],[1, 0]]))",
        "index_reduce(x, 0, tensor([0, 0]), detach(x[:2]), 'amax')",
        "scatter_reduce(x, 0, tensor([0, 0, 0, 1]), x * 1, 'amax')",
    ),
    "[[1.0, 1.0, 0.0],[2.0, 2.0, 2.0]]": (
        "median(x, 1)[0]",
        "nanmedian(x, 1)[0]",
        "max(x, 1)[0]",
    ),
    "[0.0, 1.0, -1.0, 0.0]": (
        "abs(x)",
        "hypot(x, x)",
        "hypot(x, 0 * detach(x))",
        "norm(x * 0)",
        "linalg.vector_norm(x, 1)",
        "linalg.vector_norm(x, 0.5)",
        "linalg.vector_norm(x * 0, 3)",
        "relu(x)",
        "leaky_relu(x)",
        "elu(x)",
        "selu(x)",
        "celu(x)",
        "hardtanh(x)",
        "relu6(x)",
        "hardswish(x * 3)",
        "hardshrink(x, 1.0)",
        "softshrink(x, 1.0)",
        "threshold(x, 0, 5)",
        "clamp(x, 0, 1)",
        "clamp(x, min=0)",
        "clamp(x, detach(x), detach(x) + 1)",
        "prelu(x, tensor([0.25]))",
        "rrelu(x, 0.25, 0.25)",
        "sinc(x)",
        "sgn(x)",
        "fmod(x, 1)",
        "remainder(x, 1)",
        "floor(x)",
        "frac(x)",
        "l1_loss(x, detach(x))",
        "smooth_l1_loss(x, detach(x) + 1)",
        "huber_loss(x, detach(x) + 1)",
        "hinge_embedding_loss(x, tensor([1.0, -1.0, -1.0, 1.0]), margin=1.0)",
        "margin_ranking_loss(x, detach(x), tensor([1.0]))",
        "soft_margin_loss(x, tensor([1.0,1,1,1]))",
        "normalize(x * 0, dim=0)",
        "cosine_similarity(x * 0, x, 0)",
        "xlogy(x, x)",
        "pow(x, 0)",
        "pow(x, 2)",
        "pow(x, 1)",
        "prod(x)",
        "cumprod(x, 0)",
        "dist(x, detach(x))",
        "trapezoid(x)",
        "copysign(x, detach(x))",
        "logaddexp(x, x)",
        "nan_to_num(x)",
        "masked_fill(x, x == 0, 1)",
        "unfold(x, 0, 2, 1)",
    ),
    "[0.0, 1.0, 2.0]": ("pow(detach(x), x)",),
    "[0.0, 1.0]": ("special.entr(x)",),
}
#: Calls in which they differ, each for a reason.
DIFFERENT = {
    "atan2(x, x)": "at the origin the core's rule is 0 / 0",
    "topk(x, 2)[0]": "torch promises no order of equal elements",
}


def gradient_of(call: str, x: str) -> Comparison:
    (found,) = run(case_of(f"inputs: {{x: {x}}}\ngraph:\n  y: {call!r}\n  loss: y.sum()\n"), oracle="none").cases
    (gradient,) = [c for c in found.comparisons if c.what == "gradient" and c.tensor == "x"]
    return gradient


@pytest.mark.parametrize(("call", "x"), [(call, x) for x, calls in CALLS.items() for call in calls])
def test_core_takes_the_subgradient_of_torch(call: str, x: str) -> None:
    gradient = gradient_of(call, x)
    assert gradient.status == "passed", (gradient.got_array, gradient.want_array)


@pytest.mark.parametrize("call", DIFFERENT)
def test_where_it_differs_is_known(call: str) -> None:
    gradient = gradient_of(call, "[0.0, 2.0, 2.0, 2.0, 3.0]")
    assert gradient.got_array is not None
    assert not np.array_equal(gradient.got_array, gradient.want_array)
