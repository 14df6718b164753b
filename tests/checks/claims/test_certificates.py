"""Certificates: what is proved, what is only tried, and what a proof sees that numbers do not."""

from __future__ import annotations

import pytest

from gradcheck.checks.claims import certificates, trials
from tests.checks.conftest import Check, failed, those

CHAIN = """
inputs: {x: [[2, 3], [1, 4]], y: [[3, 4], [5, 6], [7, 8]]}
graph: {r: y @ x, loss: r.sum()}
formulas: {y: "(x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])).T"}
shapes: {x: [c, d], y: [b, c]}
"""


def test_a_ring_formula_carries_a_certificate_for_every_size(check: Check) -> None:
    case = check(CHAIN)
    own = those(case, "formula")[0]
    assert own.certificate is not None
    assert own.certificate["method"] == "exact"
    assert own.certificate["bound"] < 1e-18
    assert own.certificate["degree"] > 0
    assert len(own.certificate["sizes"]) == 4
    assert own.certificate["unknowns"] == []


def test_an_exponential_is_an_unknown_of_the_proof(check: Check) -> None:
    case = check("{inputs: {x: 'randn(3)'}, graph: {p: 'softmax(x, dim=0)', loss: (p * p).sum()},"
                 " formulas: {x: p * (2 * p - (2 * p * p).sum())}}")  # fmt: skip
    own = those(case, "formula")[0]
    assert own.certificate is not None
    assert own.certificate["unknowns"] == ["exp"]


def test_what_the_oracle_does_not_serve_is_said(check: Check) -> None:
    case = check("{dtype: complex128, inputs: {x: 'randn(3)'}, graph: {loss: (x * x.conj()).real.sum()},"
                 " formulas: {x: 2 * x}}")  # fmt: skip
    own = those(case, "formula")[0]
    assert own.status == "passed"
    assert own.certificate is None
    assert own.has_note("not_proved")


def test_a_formula_wrong_by_less_than_the_tolerance_is_refuted(check: Check) -> None:
    case = check("{inputs: {x: 'randn(3)'}, graph: {loss: (x * x).sum()}, formulas: {x: 2 * x + x / 10 ** 12}}")
    (formula,) = [c for c in failed(case) if c.trial is None]
    assert formula.mismatch is not None
    assert formula.mismatch.kind == "refuted_by_proof"


@pytest.mark.parametrize(
    ("formula", "rest", "status"),
    [
        ("2.00000000001 * x", "", "passed"),
        ("x + x", "", "failed"),
        ("2.00000000001 * x", ", tolerance: {rtol: 1.0e-6}", "failed"),
        ("2.00000000001 * x", ", generalize: false", "failed"),
    ],
)
def test_a_wrong_formula_off_by_less_than_the_tolerance_is_refuted(
    check: Check, formula: str, rest: str, status: str
) -> None:
    case = check(f"{{inputs: {{x: [1, 2]}}, graph: {{y: (x * x).sum()}}, wrong_formulas: {{x: {formula}}}{rest}}}")
    assert case.status == status
    (wrong,) = those(case, "wrong_formula")
    assert wrong.mismatch is not None
    assert wrong.mismatch.kind == ("refuted" if status == "passed" else "not_refuted")


def test_a_number_that_was_rounded_refutes_nothing(check: Check) -> None:
    case = check(
        "{inputs: {x: 'randn(3)'}, graph: {loss: (x / 2 ** 0.5).sum()}, formulas: {x: 'full_like(x, 0.5 ** 0.5)'}}"
    )
    assert case.status == "passed", failed(case)


@pytest.mark.parametrize(("size", "is_proved"), [(120, False), (60, True)])
def test_large_graphs_are_left_to_numbers(
    check: Check, monkeypatch: pytest.MonkeyPatch, size: int, is_proved: bool
) -> None:
    monkeypatch.setattr(certificates, "MAX_WORK", 800)
    lines = ["h0: x * 1.0", *(f"h{i}: h{i - 1} + x" for i in range(1, size))]
    graph = "\n".join(f"  {line}" for line in lines)
    case = check(
        f"inputs: {{x: randn(2)}}\ngraph:\n{graph}\nbackward: {{h{size - 1}: [1, 1]}}\n"
        f"formulas: {{x: 'full_like(x, {size})'}}"
    )
    own = those(case, "formula")[0]
    assert own.status == "passed"
    assert (own.certificate is not None) is is_proved


@pytest.mark.parametrize(
    ("stated", "options"),
    [
        ("tolerance: {rtol: 1e-2}", {}),
        ("tolerance: {x: {rtol: 1e-2}}", {}),
        ("tags: []", {"rtol": 1e-2}),
    ],
)
def test_a_formula_that_is_allowed_to_be_off_is_not_refuted(
    check: Check, stated: str, options: dict[str, float]
) -> None:
    graph = "inputs: {x: 'randn(3)'}, graph: {loss: (x * 2).sum()}"
    case = check(f"{{{graph}, formulas: {{x: 'full_like(x, 2.001)'}}, {stated}}}", **options)
    assert case.status == "passed", failed(case)
    assert those(case, "formula")[0].has_note("within_tolerance_not_exact")
    assert those(case, "formula")[0].certificate is None


def test_a_certificate_says_where_it_holds_and_what_was_held(check: Check) -> None:
    case = check(
        "{inputs: {x: 'uniform(1, 2, [2])'}, constants: {w: 3.0}, graph: {y: w * x * x}, backward: {y: [1.0, 5.0]},"
        " formulas: {x: ['2 * w * exp(log(x)) * grad(y)', '2 * w * x * tensor([1.0, 5.0])']}}"
    )
    of_any, of_these = (c.certificate for c in those(case, "formula") if c.trial is None)
    assert of_any is not None
    assert of_these is not None
    assert (of_any["where"], of_any["held"]) == (["x > 0"], {"constants": ["w"]})
    assert (of_these["where"], of_these["held"]) == ([], {"constants": ["w"], "incoming": True})


def test_a_formula_is_refuted_beside_one_with_functions(check: Check) -> None:
    case = check(
        "{inputs: {x: 'randn(3)', w: 'randn(3)'}, graph: {y: x * x, z: exp(w)}, backward: {y: randn(3), z: randn(3)},"
        " formulas: {x: 2.00000000001 * x * grad(y), w: grad(z) * exp(w)}}"
    )
    assert {c.tensor for c in failed(case)} == {"x"}


@pytest.mark.parametrize("rounds_elsewhere", [True, False])
def test_a_proof_excuses_what_rounding_moves_wherever_it_is_off(
    check: Check, monkeypatch: pytest.MonkeyPatch, rounds_elsewhere: bool
) -> None:
    """Not one that is off at some trial where rounding moves nothing."""
    monkeypatch.setattr(certificates, "_may_be_rounding", lambda context, c: c.trial is None or rounds_elsewhere)
    monkeypatch.setattr(trials, "degeneracy", lambda point, found: None)  # draws no others instead of what says nothing
    case = check(
        "{inputs: {x: 'uniform(1, 2, [5])'}, graph: {y: x * x}, backward: {y: randn(5)},"
        " formulas: {x: '(x * 1e20 + 1 - x * 1e20 + 2 * x - 1) * grad(y)'}}"
    )
    assert (case.status == "passed") == rounds_elsewhere
    assert [c.status == "passed" for c in those(case, "formula")] == [rounds_elsewhere] * 4


def test_no_run_is_made_at_trials_of_what_is_not_proved(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    rounds = certificates._may_be_rounding
    monkeypatch.setattr(
        certificates, "_may_be_rounding", lambda context, c: asked.append(c.trial) or rounds(context, c)
    )
    assert len(failed(check("{inputs: {x: randn(3)}, graph: {loss: (x * x).sum()}, formulas: {x: 4 * x}}"))) == 4
    assert set(asked) == {None}


def test_what_has_no_elements_proves_nothing(check: Check) -> None:
    """Any formula equals a gradient without elements."""
    text = "dims: {n: 0}\ninputs: {x: randn(n)}\ngraph: {y: (x * x).sum()}\nformulas: {x: 3 * x}\n"
    for further in ("generalize: false", "generalize: {dims: {n: [0, 0]}}"):
        own = those(check(text + further), "formula")[0]
        assert own.certificate is None
        assert own.has_note("no_elements")
    assert failed(check(text))
