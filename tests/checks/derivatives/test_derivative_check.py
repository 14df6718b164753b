"""Claims about Jacobians and Hessians, at the case's numbers and beyond."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.pipeline import check_case
from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.errors import InvalidCase
from gradcheck.language.claim_kind import ClaimKind
from tests.from_text import case_of

LOGISTIC = """
    dims: {n: 5, d: 3}
    inputs: {w: randn(d), b: randn(1)}
    constants: {X: "randn(n, d)", t: "rand(n)"}
    graph:
      z: X @ w + b
      s: sigmoid(z)
      loss: -(t * log(s) + (1 - t) * log(1 - s)).sum() / n
"""


def checked(text: str, **options: object) -> CaseResult:
    chosen = Options(**options)  # type: ignore[arg-type]
    return check_case(case_of(text), chosen, engines_of(chosen))


def stated(found: CaseResult) -> list[Comparison]:
    """The comparisons of the file's claims at its own numbers."""
    return [c for c in found.comparisons if c.what.is_about_derivative and c.formula and c.trial is None]


def with_claims(section: str, of: str, by: str, claims: Sequence[str], graph: str = LOGISTIC) -> CaseResult:
    listed = "".join(f'\n          - "{claim}"' for claim in claims)
    return checked(f'{graph}\n    {section}:\n      {of}:\n        "{by}":{listed}\n')


def test_right_ones_are_proved_whatever_their_tensors() -> None:
    found = checked(
        f"""{LOGISTIC}
    jacobians:
      s: {{w: diag(s * (1 - s)) @ X, z: diag(s * (1 - s)), s: eye(n)}}
      z: {{s: "zeros(n, n)"}}
    hessians:
      loss:
        w: X.T @ diag(s * (1 - s)) @ X / n
        w, b: (X.T @ (s * (1 - s)) / n).reshape(d, 1)
        b, w: (X.T @ (s * (1 - s)) / n).reshape(1, d)
        z: diag(s * (1 - s)) / n
"""
    )
    assert found.status == "passed"
    assert len(stated(found)) == 8
    assert all(c.certificate and len(c.certificate["sizes"]) > 1 for c in stated(found))
    assert {(c.tensor, c.shape) for c in stated(found)} >= {("jacobian(s, w)", (5, 3)), ("hessian(loss, w, b)", (3, 1))}


@pytest.mark.parametrize(
    ("section", "of", "by", "claim"),
    [
        ("jacobians", "s", "w", "X"),
        ("jacobians", "s", "w", "(diag(s * (1 - s)) @ X).T"),
        ("jacobians", "s", "w", "where(arange(n)[:, None] == 0, -1, 1) * (diag(s * (1 - s)) @ X)"),
        ("jacobians", "s", "w", "(s * (1 - s)).sum()"),
        ("hessians", "loss", "w", "X.T @ diag(s * (1 - s)) @ X"),
        ("hessians", "loss", "w", "X.T @ diag(s * (1 - s)) @ X / 5"),
        ("hessians", "loss", "w, b", "(X.T @ (s * (1 - s)) / n)"),
    ],
)
def test_wrong_ones_fail_and_are_refuted_where_they_are_stated_so(section: str, of: str, by: str, claim: str) -> None:
    assert with_claims(section, of, by, [claim]).status == "failed"
    assert with_claims(f"wrong_{section}", of, by, [claim]).status == "passed"


def test_one_that_is_nearly_right_is_refuted_by_the_proof() -> None:
    claim = "X.T @ diag(s * (1 - s)) @ X / n * 1.00000000001"
    assert with_claims("hessians", "loss", "w", [claim]).status == "failed"


def test_a_right_one_that_is_stated_wrong_fails() -> None:
    found = with_claims("wrong_hessians", "loss", "w", ["X.T @ diag(s * (1 - s)) @ X / n"])
    (c,) = stated(found)
    assert (found.status, c.what, c.mismatch and c.mismatch.kind) == ("failed", ClaimKind.WRONG_HESSIAN, "not_refuted")


def test_one_text_may_be_claimed_right_and_wrong() -> None:
    text = "{inputs: {x: [2.0]}, graph: {f: x.sum()}, hessians: {f: {x: H}}, wrong_hessians: {f: {x: H}}}"
    found = checked(text.replace("H", "'zeros(1, 1)'"))
    assert [c.status for c in stated(found)] == ["passed", "failed"]


def test_all_entries_of_a_wrong_one_are_compared() -> None:
    (c,) = stated(with_claims("jacobians", "s", "w", ["where(arange(n)[:, None] == 2, 2, 1) * diag(s * (1 - s)) @ X"]))
    assert (c.shape, c.mismatched, c.elements) == ((5, 3), 3, 15)
    assert c.worst_index is not None
    assert c.worst_index[0] == 2


def test_one_that_fails_at_other_sizes_alone_shows_all_entries_there() -> None:
    found = with_claims("hessians", "loss", "w", ["X.T @ diag(s * (1 - s)) @ X / 5"])
    failed = next(c for c in found.comparisons if c.status == "failed")
    assert failed.trial is not None
    assert failed.shape == (failed.trial.sizes["d"],) * 2
    assert failed.what is ClaimKind.HESSIAN


def test_numbers_alone_are_checked_without_trials() -> None:
    text = f"{LOGISTIC}\n    generalize: false\n    hessians: {{loss: {{w: X.T @ diag(s * (1 - s)) @ X / 5}}}}"
    found = checked(text)
    assert found.status == "passed"
    assert all(c.trial is None for c in found.comparisons)


def test_a_tolerance_of_the_tensor_applies() -> None:
    text = """
        inputs: {x: [1.0, 2.0]}
        graph: {y: x * x}
        backward: {y: [1, 1]}
        generalize: false
        jacobians: {y: {x: diag(2.001 * x)}}
    """
    assert checked(text).status == "failed"
    assert checked(f"{text}    tolerance: {{y: {{rtol: 1e-2}}}}").status == "passed"
    assert checked(f"{text}    tolerance: {{rtol: 1e-2}}").status == "passed"


def test_claims_may_use_gradients_steps_and_other_derivatives() -> None:
    found = checked(
        """
        dims: {n: 3}
        inputs: {x: randn(n), w: "randn(n, n)"}
        graph: {h: tanh(w @ x), f: (h ** 2).sum()}
        let: {s: 1 - h ** 2, g: grad(h)}
        jacobians: {h: {x: diag(s) @ w}, f: {w: "outer(grad(h) * s, x)"}}
        hessians: {f: {x: "2 * jacobian(h, x).T @ jacobian(h, x) - 2 * w.T @ diag(g * h * s) @ w"}}
        checks: ["hessian(f, x) == hessian(f, x).T", "hessian(f, w, x).shape[2] == n"]
        formulas: {x: "g @ jacobian(h, x)"}
        """
    )
    assert found.status == "passed"
    assert all(c.certificate for c in stated(found))
    assert all(c.certificate for c in found.comparisons if c.what is ClaimKind.FORMULA and c.trial is None)


def test_a_hessian_is_of_one_real_number() -> None:
    with pytest.raises(InvalidCase, match=r"Hessian of y, of shape \[2\]") as raised:
        checked("{inputs: {x: [1.0, 2.0]}, graph: {y: 2 * x, f: y.sum()}, hessians: {y: {x: 3}}}")
    assert raised.value.place.line == 1


def test_a_gradient_that_torch_has_no_op_for_is_differentiated_by_the_core() -> None:
    found = checked(
        """
        inputs: {A: "randn(3, 2)"}
        graph: {m: "max(A, dim=0)", f: "m[0].sum() * m[0][0]"}
        hessians: {f: {"m[0]": "tensor([[2.0, 1], [1, 0]])"}}
        """
    )
    assert found.status == "passed"
    assert stated(found)[0].certificate


def test_linear_functions_have_a_hessian_of_zeros() -> None:
    found = checked(
        """
        inputs: {x: [1.0, 2.0], y: 3.0}
        graph: {f: x.sum()}
        hessians: {f: {x: "zeros(2, 2)", "x, y": zeros(2), "y": 0}}
        wrong_hessians: {f: {x: "ones(2, 2)"}}
        """
    )
    assert found.status == "passed"


def test_complex_rows_are_the_gradients_that_torch_leaves() -> None:
    found = checked(
        """
        dtype: complex128
        inputs: {z: randn(3)}
        graph: {w: z ** 2, f: (w.real ** 2).sum()}
        jacobians: {w: {z: diag(2 * z.conj())}, f: {z: 4 * w.real * z.conj()}}
        wrong_jacobians: {w: {z: diag(2 * z)}}
        """
    )
    assert found.status == "passed"


def test_rows_of_real_tensors_are_complex_where_inputs_are() -> None:
    found = checked(
        """
        dtype: complex128
        inputs: {z: randn(3)}
        graph: {y: abs(z) ** 2}
        jacobians: {y: {z: diag(2 * z)}}
        wrong_jacobians: {y: {z: diag(2 * z.conj())}}
        """
    )
    assert found.status == "passed"


def test_kinks_are_visited_on_both_sides() -> None:
    graph = "    inputs: {x: [1.0, 2.0, 3.0]}\n    graph: {a: relu(x), f: (a ** 2).sum()}\n"
    assert with_claims("jacobians", "a", "x", ["diag(where(x > 0, 1.0, 0.0))"], graph).status == "passed"
    assert with_claims("jacobians", "a", "x", ["eye(3)"], graph).status == "failed"
    assert with_claims("hessians", "f", "x", ["2 * eye(3)"], graph).status == "failed"


def test_engines_are_compared_on_them() -> None:
    found = with_claims("hessians", "loss", "w", ["X.T @ diag(s * (1 - s)) @ X / n"])
    between = [c for c in found.comparisons if c.what is ClaimKind.HESSIAN and not c.formula]
    assert {(c.engine, c.reference, c.status) for c in between} == {("core", "torch", "passed")}


def test_expected_failures_name_them() -> None:
    text = "inputs: {x: [1.0, 2.0]}\ngraph: {y: x * x}\nbackward: {y: [1, 1]}\njacobians: {y: {x: diag(x)}}\n"
    for only in ("jacobian(y, x)", "jacobian of y", "jacobian", "y", "x", "diag(x)"):
        assert checked(f'{text}xfail: {{reason: wrong, only: ["{only}"]}}').status == "xfailed", only
    assert checked(f'{text}xfail: {{reason: wrong, only: ["hessian of y"]}}').status == "failed"


def test_python_sees_the_values_that_differ() -> None:
    found = checked("{inputs: {x: [3.0]}, graph: {y: x * x}, jacobians: {y: {x: diag(x)}}}")
    (c,) = [c for c in stated(found) if c.status == "failed"]
    assert c.got_array is not None
    assert c.want_array is not None
    np.testing.assert_allclose([c.got_array, c.want_array], [[[3.0]], [[6.0]]])


def test_those_of_softplus_are_what_torch_documents() -> None:
    """Beyond 20 torch computes another function, whose second derivative is 0."""
    found = checked(
        """
        dims: {n: 4}
        inputs: {x: randn(n)}
        graph: {y: softplus(x), loss: y.sum()}
        jacobians: {y: {x: diag(sigmoid(x))}}
        hessians: {loss: {x: diag(sigmoid(x) * (1 - sigmoid(x)))}}
        """
    )
    assert found.status == "passed"
    assert all(c.certificate for c in stated(found))


def test_a_derivative_of_0_has_no_note_on_incoming_gradients() -> None:
    graph = "\n    inputs: {x: 'randn(3)'}\n    graph: {y: x - x}"
    (c,) = stated(with_claims("jacobians", "y", "x", ["zeros(3, 3)"], graph))
    assert c.status == "passed"
    assert not {note.kind for note in c.notes} & {"gradient_is_zero", "incoming_is_one"}


@pytest.mark.parametrize(
    ("dtype", "claim", "is_right"),
    [
        ("float64", "tensor([[3, 0], [0, 3]])", True),
        ("float64", "[[3, 0], [0, 3 * x[0] / x[0]]]", True),
        ("float64", "3 * eye(2, dtype=float32)", True),
        ("float64", "2 * (eye(2) + diag((x > 0) + (x <= 0)))", False),
        ("float64", "2 * eye(2) + diag((x > -inf) + (x < inf))", True),
        ("float32", "tensor([[True, False], [False, True]]) * 3", True),
        ("complex128", "3 * eye(2)", True),
        ("complex128", "tensor([[3, 0], [1, 3]])", False),
        ("float64", "tensor([[3, 0], [0, 3]]) // 2", False),
    ],
)
def test_numbers_of_any_dtype_may_be_claimed(dtype: str, claim: str, is_right: bool) -> None:
    found = checked(
        f'dtype: {dtype}\ninputs: {{x: "randn(2)"}}\ngraph: {{y: 3 * x}}\njacobians: {{y: {{x: "{claim}"}}}}'
    )
    assert {c.status for c in stated(found)} == {"passed" if is_right else "failed"}
    assert not any(c.mismatch is not None and c.mismatch.kind == "claim_raised" for c in found.comparisons)


def test_a_suggestion_is_an_edit_of_the_claim() -> None:
    found = with_claims("jacobians", "s", "w", ["diag(s * (2 - s)) @ X"])
    edits = [one.edit for c in stated(found) for one in c.diagnoses if one.kind == "did_you_mean"]
    assert [edit.apply_to("diag(s * (2 - s)) @ X") for edit in edits if edit] == ["diag(s * (1 - s)) @ X"]


@pytest.mark.parametrize(
    "claim",
    [
        "diag((x > 0) + (x > 0))",
        "diag(x > 0) + diag(x > 0)",
        "diag(tensor([x[0] > 0, x[1] > 0]) + tensor([x[0] > 0, x[1] > 0]))",
    ],
)
def test_a_sum_of_booleans_is_no_sum_of_numbers(claim: str) -> None:
    found = checked(f'inputs: {{x: [1.0, -2.0]}}\ngraph: {{y: 2 * relu(x)}}\njacobians: {{y: {{x: "{claim}"}}}}')
    assert found.status == "failed"


def test_a_list_in_let_may_be_claimed() -> None:
    found = checked('inputs: {x: "randn(2)"}\nlet: {J: "[[3, 0], [0, 3]]"}\ngraph: {y: 3 * x}\njacobians: {y: {x: J}}')
    assert found.status == "passed"
