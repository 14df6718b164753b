"""Every op of the table: the exact oracle hears the core's own gradient of every sample, and that times 1.001."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gradcheck.engines.core import Core
from gradcheck.errors import NoGradRequired
from gradcheck.language.case import Claim
from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.problem import Problem
from gradcheck.language.symbolic.derive import derive
from gradcheck.oracles.exact.prove import BOUND, prove
from tests.oracles.exact.calls import RATIONAL, calls
from tests.samples import CALLS, problem_of

#: Samples of ops that must be proved that are beyond it: made of integers, complex numbers, or no fraction at all.
BEYOND = {"0 ** uniform(0.1, 2, [3])", "(-2.0) ** randn(3)", "mean(randn(0, 3), 0)", "var(randn(1, 3), 0)",
          "var(randn(0, 3), 0)"}  # fmt: skip
#: More ops whose gradients are proved, although their values are made up.
FUNCTIONS = (
    *(
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "logaddexp",
        "xlogy",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
    ),
    *("atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sinc", "erf", "erfc", "gelu", "sigmoid"),
    *("silu", "logsigmoid", "softplus", "mish", "elu", "selu", "celu", "relu", "leaky_relu", "hardtanh", "relu6"),
    *("threshold", "hardshrink", "softshrink", "softsign", "tanhshrink", "abs", "sign", "maximum", "minimum", "fmax"),
    *("fmin", "where", "sqrt", "rsqrt", "hypot", "std", "floor", "ceil", "trunc", "frac", "round", "remainder", "fmod"),
    *("floor_divide", "softmax", "log_softmax", "layer_norm", "rms_norm", "cosine_similarity", "logdet"),
    *("linalg.slogdet", "deg2rad", "rad2deg", "cross_entropy", "nll_loss", "l1_loss", "huber_loss", "kl_div"),
    *("binary_cross_entropy_with_logits", "scaled_dot_product_attention", "batch_norm", "max_pool1d", "max_pool2d"),
)


def claims_of(text: str) -> Iterator[tuple[Problem, dict[str, Expr]]]:
    """For each output, the problem of a backward pass from it, and the inputs' gradients in terms of inputs alone."""
    generator = np.random.default_rng(5)
    for output, value in Core().evaluate(problem_of(text)).states[-1].values.items():
        if output.startswith("out"):
            problem = problem_of(text, {output: generator.standard_normal(value.shape).astype(value.dtype)})
            try:
                formulas = derive(problem, expand=True)
            except NoGradRequired:
                continue
            yield problem, {name: formulas[name] for name in problem.inputs if name in formulas}


def heard(problem: Problem, formulas: dict[str, Expr], factor: float | None = None) -> list[str]:
    """What the oracle says of each, multiplied with a factor."""
    claims = [e if factor is None else Call("mul", (e, Literal(factor))) for e in formulas.values()]
    proofs = prove(problem, [(name, Claim.of(e)) for name, e in zip(formulas, claims, strict=True)])
    for proof in proofs:
        assert proof.status != "proved" or 0 <= proof.bound < BOUND
    return [proof.status for proof in proofs]


MUST = {text for text in calls(RATIONAL) if text not in BEYOND and "complex" not in text} | {
    text
    for text in calls(FUNCTIONS)
    if not any(part in text for part in ("complex", "(0, 3), 0", "(1, 3), 0", "randn(2, 0), 1"))  # divisions by 0
}


@pytest.mark.parametrize("text", CALLS)
def test_samples(text: str) -> None:
    """A right gradient is never refuted, and proved where it must be; a wrong one never is."""
    for problem, formulas in claims_of(text):
        right = heard(problem, formulas)
        assert "refuted" not in right
        assert text not in MUST or set(right) <= {"proved"}
        state = Core().evaluate(problem).states[-1]
        wrong = heard(problem, formulas, 1.001)
        for name, status in zip(formulas, wrong, strict=True):
            gradient = state.gradients[name]
            assert status != "proved" or gradient is None or not np.any(gradient)


def test_most_samples_must_be_proved() -> None:
    assert len(MUST) > 500
    assert len(CALLS) > len(MUST)
