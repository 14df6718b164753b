"""Every op of the table: values and tangents on small integers; the core's own gradient of every sample is proved, and
1.001 times it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.engines.core import Core
from gradcheck.errors import DtypeMismatch, NoGradRequired, Unsupported
from gradcheck.language.case import Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.problem import Problem
from gradcheck.language.symbolic.symbolic_gradients import derive_gradients
from gradcheck.oracles.exact import ops
from gradcheck.oracles.exact.dual_numbers import EXACT_RULES, Dual
from gradcheck.oracles.exact.prove import MAX_ERROR_PROBABILITY, prove
from gradcheck.oracles.numeric.perturbed_array import ForwardPass, Perturbed
from tests.oracles.exact.calls import RATIONAL, as_residues, calls, directions, integers, on_residues, parts
from tests.samples import CALLS, OP_OF, problem_of
from tests.sampling import few_of_each
from tests.tables import for_each, for_each_by_family

#: Samples of ops that must be proved that are beyond it: made of integers, complex numbers, or no fraction at all.
BEYOND = {
    *("0 ** uniform(0.1, 2, [3])", "(-2.0) ** randn(3)", "mean(randn(0, 3), 0)"),
    *("var(randn(1, 3), 0)", "var(randn(0, 3), 0)"),
}
#: More ops whose gradients are proved, although their values are uninterpreted.
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
                formulas = derive_gradients(problem, expand=True)
            except NoGradRequired:
                continue
            except Unsupported as error:
                if "parts, more than" not in str(error):
                    raise
                continue  # too long for anybody to read
            yield problem, {name: formulas[name] for name in problem.inputs if name in formulas}


def statuses(problem: Problem, formulas: dict[str, Expr], factor: float | None = None) -> list[str]:
    """What the oracle says of each, multiplied with a factor."""
    claims = [e if factor is None else Call("mul", (e, Literal(factor))) for e in formulas.values()]
    proofs = prove(problem, [(name, Claim.of(e)) for name, e in zip(formulas, claims, strict=True)])
    for proof in proofs:
        assert proof.status != "proved" or 0 <= proof.bound < MAX_ERROR_PROBABILITY
    return [proof.status for proof in proofs]


MUST = {text for text in calls(RATIONAL) if text not in BEYOND and "complex" not in text} | {
    text
    for text in calls(FUNCTIONS)
    if not any(part in text for part in ("complex", "(0, 3), 0", "(1, 3), 0", "randn(2, 0), 1"))  # divisions by 0
}


@for_each_by_family(few_of_each(CALLS, OP_OF.__getitem__), OP_OF.__getitem__, 2)
def test_samples(text: str) -> None:
    """A right gradient is never refuted, and proved where it must be; a wrong one never is."""
    for problem, formulas in claims_of(text):
        right = statuses(problem, formulas)
        assert "refuted" not in right
        assert text not in MUST or set(right) <= {"proved"}
        state = Core().evaluate(problem).states[-1]
        wrong = statuses(problem, formulas, 1.001)
        for name, status in zip(formulas, wrong, strict=True):
            gradient = state.gradients[name]
            assert status != "proved" or gradient is None or not np.any(gradient)


def test_most_samples_must_be_proved() -> None:
    assert len(MUST) > 500
    assert len(CALLS) > len(MUST)


# Values and tangents ---------------------------------------------------------------------------------

STEP = 1e-30
#: What these samples say is not about fractions, or a division by 0.
LEFT_OUT = (
    *("** 0.5", "2 ** randn", "0 ** uniform", "(-2.0) ** randn", "pow(randint", "pow(tensor", "randn(1, 3), 0"),
    *("mean(randn(0, 3), 0)", "inf", "embedding(", "cofactors(tensor([[1", "linalg.solve(tensor", "det_hessian(tensor"),
    *("var(", "> 0", "complex", "dtype", "rounding_mode"),
)
DRAWN = [text for text in calls() if "randn(" in text or "uniform(" in text]
SOLVE = (
    "linalg.solve(randn(3, 3), randn(3, 2))",
    "linalg.solve(randn(3, 3), randn(3))",
    "linalg.solve(randn(2, 2, 2), randn(2, 2))",
    "linalg.solve(randn(2, 3, 3), randn(2, 3, 4))",
    "linalg.solve(randn(3, 3), randn(2, 3), left=False)",
    "det_hessian(randn(3, 3), randn(3, 3))",
)


@for_each([*(text for text in DRAWN if not any(part in text for part in LEFT_OUT)), *SOLVE])
def test_values_and_tangents(text: str) -> None:
    """On small integers the values are the forward's own, the tangents those of a complex step."""
    expr, floats, others = integers(text)
    moved = directions(floats)
    found = parts(on_residues(expr, floats, moved, others))
    exact = parts(evaluate(expr, {**others, **floats}))
    stepped = _stepped(expr, {**others, **{name: a + 1j * STEP * moved[name] for name, a in floats.items()}})
    for dual, value, step in zip(found, exact, stepped, strict=True):
        if not isinstance(dual, Dual):
            assert np.array_equal(dual, value)
            continue
        assert np.array_equal(dual.value, as_residues(value))
        slope = np.imag(step) / STEP
        tangent = np.zeros(dual.shape, dtype=np.int64) if dual.tangent is None else dual.tangent
        assert np.array_equal(tangent, as_residues(slope))


def _stepped(expr: Expr, numbers: dict[str, Any]) -> list[Any]:
    """What comes of complex numbers; also where an op takes real ones alone, for which they may stand."""
    try:
        return parts(evaluate(expr, numbers))
    except DtypeMismatch:
        forward = ForwardPass(complex_step=True)
        standing = {
            name: Perturbed(value, forward) if np.iscomplexobj(value) else value for name, value in numbers.items()
        }
        return [made.data for made in parts(evaluate(expr, standing))]


# Where rules stand -----------------------------------------------------------------------------------


def test_every_rule_is_an_op_that_is_not_composed() -> None:
    assert set(EXACT_RULES) <= set(TABLE)
    assert not any(TABLE[name].composite for name in EXACT_RULES)


def _file_of(rule: Any) -> str:
    """The name of the module in which a rule stands."""
    function = getattr(rule, "func", rule)
    return str(function.__module__).rpartition(".")[2]


@for_each(sorted(EXACT_RULES))
def test_rules_stand_where_the_docstring_says(name: str) -> None:
    here = _file_of(EXACT_RULES[name].function)
    family = TABLE[name].forward.__module__.rpartition(".")[2]
    listed = dict(re.findall(r"^  `(\w+)`: (.+)$", str(ops.__doc__), re.MULTILINE))
    assert here == "linear" or family in listed[here].split(", ")
