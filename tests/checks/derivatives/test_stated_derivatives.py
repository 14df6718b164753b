"""The claims of a case, each with its tensors."""

from __future__ import annotations

from gradcheck.checks.derivatives.stated_derivatives import stated_derivatives
from tests.from_text import case_of


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
