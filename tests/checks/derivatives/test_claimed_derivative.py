"""A claimed derivative and the right one, at one point."""

from __future__ import annotations

from gradcheck.checks.derivatives.claimed_derivative import ClaimedDerivative, claimed_at, stated_derivatives
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.points.point import Point
from gradcheck.language.sampling import draw
from tests.from_text import case_of


def claimed(claim: str, numbers: str = "[1.0, 2.0]") -> ClaimedDerivative | None:
    case = case_of(f"inputs: {{x: {numbers}}}\ngraph: {{y: x * x, f: y.sum()}}\njacobians: {{y: {{x: '{claim}'}}}}\n")
    (stated,) = stated_derivatives(case)
    return claimed_at(Point(draw(case), engines_of(Options())), stated, lambda: stated.claim.expr)


def test_a_claim_is_right_or_wrong_and_what_gives_its_numbers_explains_it() -> None:
    right, wrong = claimed("diag(2 * x)"), claimed("diag(x)")
    assert right is not None
    assert wrong is not None
    assert (right.is_wrong, wrong.is_wrong) == (False, True)
    assert wrong.rank == 1
    assert wrong.explained_by(wrong.want / 2)
    assert "jacobian(y, x)" in wrong.gradients


def test_what_is_not_finite_or_raises_has_no_entries() -> None:
    assert claimed("diag(2 * x / 0)") is None
    assert claimed("inv(zeros(2, 2))") is None


def test_each_has_its_kind_and_its_tensors() -> None:
    case = case_of(
        """
        inputs: {x: 1.0, z: 2.0}
        graph: {f: x * z}
        hessians: {f: {x: 0, "x, z": ["1", "z / z"]}}
        wrong_jacobians: {f: {x: 1}}
        """
    )
    found = [(one.what, one.term.name, one.of, one.rows, one.by) for one in stated_derivatives(case)]
    assert found == [
        ("wrong_jacobian", "jacobian(f, x)", "f", "f", "x"),
        ("hessian", "hessian(f, x)", "f", "x", "x"),
        ("hessian", "hessian(f, x, z)", "f", "x", "z"),
        ("hessian", "hessian(f, x, z)", "f", "x", "z"),
    ]
