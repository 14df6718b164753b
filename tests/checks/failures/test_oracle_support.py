"""Where the numeric oracle sides with a claim against the reference."""

from __future__ import annotations

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
