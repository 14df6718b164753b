"""A claimed derivative and the right one, at one point."""

from __future__ import annotations

from gradcheck.checks.derivatives.claimed_derivative import (
    ClaimedDerivative,
    claimed_at,
    contracted_claim,
    derived_case,
    stated_derivatives,
)
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.points.point import Point
from gradcheck.language.case_writer import write
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.sampling import draw
from tests.checks.build import context_of
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


def written(text: str) -> str:
    context = context_of(text)
    return write(derived_case(context.points.own.problem, list(stated_derivatives(context.case))).case)


def test_a_jacobian_is_contracted_with_any_incoming_gradient() -> None:
    text = written("{inputs: {x: [1.0, 2.0]}, graph: {y: x * x, f: y.sum()}, jacobians: {y: {x: diag(2 * x)}}}")
    assert "backward: {y: randn_like(y)}" in text
    assert "x: tensordot(grad(y), diag(2 * x), dims=1)" in text


def test_a_hessian_is_the_jacobian_of_the_gradient() -> None:
    text = written("{inputs: {x: 3.0}, graph: {f: x * x * x}, hessians: {f: {x: 6 * x}}, wrong_hessians: {f: {x: 3}}}")
    assert "d_f_d_x: " in text
    assert "  x: grad(d_f_d_x) * (6 * x)" in text
    assert "wrong_formulas:\n  x: grad(d_f_d_x) * 3" in text


def test_a_constant_root_gets_a_path_of_zeros() -> None:
    text = written("{inputs: {x: [1.0, 2.0]}, graph: {c: ones_like(x)}, jacobians: {c: {x: zeros(2, 2)}}}".replace(
        "zeros(2, 2)", "'zeros(2, 2)'"
    ))  # fmt: skip
    assert "c_: c + 0 * sum(x)" in text


def test_a_suggested_contraction_gives_the_derivative() -> None:
    def claimed(text: str) -> str | None:
        found = contracted_claim(parse(text), "y")
        return None if found is None else to_text(found)

    assert claimed("tensordot(grad(y), diag(x), dims=1)") == "diag(x)"
    assert claimed("grad(y) * (2 * x)") == "2 * x"
    assert claimed("x.T @ grad(y)") is None
    assert claimed("grad(y) * grad(y)") is None
    assert claimed("tensordot(grad(z), diag(x), dims=1)") is None
    assert claimed("tensordot(grad(y), diag(x), dims=1) * n / 2") == "diag(x) * n / 2"
    assert claimed("tensordot(grad(y), to(diag(k), torch.float64), dims=1)") == "diag(k)"
    assert claimed("tensordot(to(grad(y), torch.complex128), diag(z), dims=1)") == "diag(z)"
