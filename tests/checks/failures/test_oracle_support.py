"""Where the numeric oracle sides with a claim against the reference."""

from __future__ import annotations

import pytest

from tests.checks.conftest import Check

SATURATED = (
    "inputs: {w: [5.61187262, -1.70612833, -28.29220991, -19.1822804, -3.02273624, 17.89271932]},"
    " constants: {t: [0.7, 0.02, 0.2, 0.21, 0.18, 0.52]},"
    " graph: {p: sigmoid(w), L: 'binary_cross_entropy(p, t)'}, generalize: false"
)


def test_what_is_not_disputed_need_not_be_measured(check: Check) -> None:
    """Differences cannot resolve the last element; nobody disputes it. In the third torch divides by no less than
    1e-12."""
    found = check(f"{{{SATURATED}, formulas: {{w: (p - t) / 6}}}}")
    assert found.status == "passed"
    assert found.wrong_references == ("torch",)
    assert check(f"{{{SATURATED}, formulas: {{w: 1.001 * (p - t) / 6}}}}").status == "failed"


def test_a_large_tensor_in_many_of_its_elements(check: Check) -> None:
    """Of so many some are close to a kink, and directions tell nothing; torch's 1/6 is in single precision. What is
    wrong in one row of twenty shows among those that are furthest off."""
    large = (
        "{inputs: {x: 'randn(20, 20)', w: 'randn(20, 20)'}, graph: {h: 'hardsigmoid(x @ w)', y: 'mean(h * h)'},"
        " generalize: false, formulas: {x: 'SLIP * (grad(h) * (abs(x @ w) < 3) / 6) @ w.T'}}"
    )
    found = check(large.replace("SLIP *", ""))
    assert found.status == "passed"
    assert found.wrong_references == ("torch",)
    slip = large.replace("SLIP", "(1 + 1e-4 * (arange(20) == 3))[:, None]")
    assert check(slip, corrected=False).status == "failed"


@pytest.mark.parametrize(
    ("matrix", "adjugate"),
    [
        ("[[-3, -3, 3], [3, 3, -3], [3, 9, 3]]", "[[36.0, -18.0, 18.0], [36.0, -18.0, 18.0], [0.0, 0.0, 0.0]]"),
        ("[[2, 3, 3], [1, 3, 3], [3, 9, 9]]", "[[0.0, 0.0, 0.0], [0.0, 9.0, -9.0], [0.0, -3.0, 3.0]]"),
    ],
)
def test_elements_that_should_be_zero_are_off_by_rounding(matrix: str, adjugate: str, check: Check) -> None:
    """A factorization leaves 1e-16 there, beside which torch, of 0 throughout, is further off elsewhere."""
    singular = f"{{inputs: {{A: {matrix}}}, graph: {{d: torch.det(A)}}, expected: {{A: CLAIM}}}}"
    found = check(singular.replace("CLAIM", adjugate))
    assert found.status == "passed"
    assert found.wrong_references == ("torch",)
    assert check(singular.replace("CLAIM", adjugate.replace("0.0", "1e-3"))).status == "failed"


def test_a_tiny_element_is_no_rounding_of_a_large_one(check: Check) -> None:
    scaled = "{inputs: {x: [2.0, 3.0]}, graph: {y: '(x * tensor([1.0, 1e-30])).sum()'}, expected: {x: [1.0, CLAIM]}}"
    assert check(scaled.replace("CLAIM", "1e-30")).status == "passed"
    assert check(scaled.replace("CLAIM", "2e-30")).status == "failed"
