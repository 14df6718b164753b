"""What rounding explains is allowed at points where little can be computed, and nothing more."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.closeness.conditioning import _takes_few_values
from tests.checks.conftest import Check, failed
from tests.conftest import WithRules

HILBERT = "1 / (arange(1, 9)[:, None] + arange(0, 8)[None, :]).to(float64)"

ILL_CONDITIONED = {
    "an inverse": f"{{inputs: {{x: '{HILBERT}'}}, graph: {{y: inv(x)}}, backward: {{y: randn_like(y)}},"
    " formulas: {x: '-(inv(x).T @ grad(y) @ inv(x).T)'}}",
    "close to the end of a domain": "{inputs: {x: [0.999999999, -0.99999]}, graph: {loss: acos(x).sum()},"
    " formulas: {x: '-1 / sqrt((1 - x) * (1 + x))'}}",
    "a rule that cancels": "{inputs: {x: [18, 20, -19]}, graph: {loss: tanh(x).sum()},"
    " formulas: {x: '1 / cosh(x) ** 2'}}",
    "a rule that cancels, of large gradients": "{inputs: {x: [30, -40]}, graph: {loss: (1e9 * sigmoid(x)).sum()},"
    " formulas: {x: '1e9 * sigmoid(x) * sigmoid(-x)'}}",
}


@pytest.mark.parametrize("text", ILL_CONDITIONED.values(), ids=ILL_CONDITIONED)
def test_rounding_is_no_failure(check: Check, text: str) -> None:
    case = check(text)
    assert case.status == "passed", failed(case)
    assert any("rounding" in note.kind for comparison in case.comparisons for note in comparison.notes)


@pytest.mark.parametrize("error", ["1e-6", "1e-3"])
def test_an_error_beyond_rounding_is_one(check: Check, with_rules: WithRules, error: str) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y * y) * (1 + float(error)))
    case = check("{inputs: {x: [5, 8, -7]}, graph: {loss: tanh(x).sum()}}")
    assert failed(case, "gradient")
    assert failed(case, "node")


def test_a_jump_has_few_values_and_what_is_hopeless_many_however_far_off_the_plain_run_is() -> None:
    generator = np.random.default_rng(0)
    sides = np.where(generator.random((6, 50)) < 0.5, -0.5, 0.5) + 1e-15 * generator.standard_normal((6, 50))
    assert _takes_few_values(sides, 1e-10).all()
    assert _takes_few_values(np.abs(sides), 1e-10).all()  # always to the same other side
    tails = generator.standard_cauchy((6, 50))
    assert not _takes_few_values(tails, 1e-10).any()
    assert not _takes_few_values(1e6 + tails, 1e-10).any()  # the plain run is the outlier


@pytest.mark.parametrize("trial", ["[-5.3, -19.0, -1.2, 0.4]", "[-37.6, -8.3, -40.0, 2.0]"])
def test_far_below_zero_the_normal_distribution_has_the_digits_of_torchs_definition(check: Check, trial: str) -> None:
    """It is `(1 + erf(x / sqrt(2))) / 2`, of which nothing is left there."""
    precise = f"inputs: {{x: {trial}}}, graph: {{p: torch.special.ndtr(x)}}, backward: {{p: [1, 2, 3, 4]}}"
    assert check(f"{{{precise}}}").status == "passed"
