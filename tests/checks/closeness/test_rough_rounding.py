"""What is far beyond rounding is seen at once; what rounding may explain is measured."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.closeness import conditioning, rough_rounding
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.rough_rounding import is_beyond_rounding, rough_noise, sure_allowance
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.result import Comparison, Subject
from gradcheck.errors import GradcheckError
from gradcheck.language.claim_kind import ClaimKind
from tests.checks.conftest import Check, failed
from tests.conftest import WithRules

WANT = np.array([1.0, -2.0, 0.0, 4.0])
STILL = np.array([1e-14, 1e-14, 0.0, 1e-14])


def compared(got: np.ndarray | None, want: np.ndarray = WANT) -> Comparison:
    return compare(got, want, Tolerance(1e-10), Subject(ClaimKind.GRADIENT, "x"))


@pytest.mark.parametrize("got", [-WANT, WANT + 1e-6, WANT * [1, 1, 1, 1.001], None])
def test_what_is_wrong_is_far_off(got: np.ndarray | None) -> None:
    assert is_beyond_rounding(compared(got), STILL)


@pytest.mark.parametrize(
    ("got", "noise"),
    [
        (WANT * (1 + 1e-9), STILL * 1e4),  # off by less than so much noise, many times over
        (-WANT, np.abs(WANT) * 0.01),  # hopeless
        (-WANT, WANT * np.nan),
        (WANT * [1, 1, 1, -1], np.array([1.0, 1.0, 1.0, 1e-14])),  # most of it is
        (WANT * [1, 1, 1, np.nan], STILL),
        (WANT + np.eye(4)[2], STILL + np.eye(4)[2] * 1e-14),  # a zero that cancels
        (WANT + np.eye(4)[2] * 1e-14, STILL),  # an exact zero, which others may come to by cancelling
        (-WANT, np.zeros(3)),
        (-WANT, None),
    ],
)
def test_what_rounding_may_explain_is_not(got: np.ndarray, noise: np.ndarray | None) -> None:
    assert not is_beyond_rounding(compared(got), noise)


def test_what_raises_is_not_known() -> None:
    def run(core: object) -> list[np.ndarray]:
        raise GradcheckError("no")

    assert rough_noise(run, 0) == []


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What was measured, one entry a time."""
    found: list[object] = []
    allowances = conditioning.allowances
    monkeypatch.setattr(conditioning, "allowances", lambda *a: found.append(a) or allowances(*a))
    return found


WRONG = "{inputs: {x: [0.5, 1, 2]}, graph: {y: tanh(x), loss: y.sum()}, formulas: {x: '%s'}}"


@pytest.mark.parametrize("formula", ["-(1 - y * y)", "1 - y", "1.00001 * (1 - y * y)"])
def test_nothing_is_measured_for_a_wrong_formula(check: Check, measured: list[object], formula: str) -> None:
    assert failed(check(WRONG % formula), "formula")
    assert not measured


def test_nothing_is_measured_for_a_wrong_rule(check: Check, measured: list[object], with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: -g * (1 - y * y))
    case = check("{inputs: {x: [0.5, 1, 2]}, graph: {y: tanh(x), loss: y.sum()}}")
    assert failed(case, "gradient")
    assert case.status == "failed"
    assert not measured


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_less_than_double_precision_is_measured(check: Check, measured: list[object], dtype: str) -> None:
    assert failed(check(WRONG.replace("{inputs", f"{{dtype: {dtype}, inputs") % "-(1 - y * y)"), "formula")
    assert measured


def test_where_rounding_is_large_it_is_measured(check: Check, measured: list[object]) -> None:
    check(WRONG.replace("[0.5, 1, 2]", "[18, 19]") % "1 / cosh(x) ** 2 + 1e-15")
    assert measured


@pytest.mark.parametrize(("formula", "points"), [("4 * x", 1), ("2 * x + 1e-6", 5)])
def test_what_is_known_to_be_wrong_is_looked_at_once(
    check: Check, monkeypatch: pytest.MonkeyPatch, formula: str, points: int
) -> None:
    """Where it is off elsewhere by more than is ever allowed, nobody asks again how far rounding takes it."""
    looked_at: list[int] = []
    cores = rough_rounding._cores
    monkeypatch.setattr(rough_rounding, "_cores", lambda seed: looked_at.append(seed) or cores(seed))
    case = check(f"{{inputs: {{x: randn(3)}}, graph: {{loss: (x * x).sum()}}, formulas: {{x: {formula}}}}}")
    assert [c.trial is None for c in failed(case, "formula")] == [True, False, False, False]
    assert len(looked_at) == points


def test_what_is_known_to_be_wrong_may_be_off_elsewhere_by_rounding(check: Check) -> None:
    case = check(
        "{inputs: {x: [0.5, 1, 2]}, graph: {loss: (x * x).sum()},"
        " formulas: {x: '2 * x + (x == 0.5) + (x + 1e4) - x - 1e4'}}"
    )
    own, *others = [c for c in case.comparisons if c.what is ClaimKind.FORMULA]
    assert own.status == "failed"
    assert {c.status for c in others} == {"passed"}
    assert any(c.has_note("within_rounding") for c in others)


def test_a_structural_zero_is_none(check: Check) -> None:
    """Of one number the normalized one is 0, exactly for us, and what rounding leaves of it for torch."""
    case = check(
        "{dims: {n: 3, d: 4}, inputs: {x: 'randn(n, d)', g: 'randn(d)', b: 'randn(d)'}, "
        "graph: {y: 'layer_norm(x, [d], g, b)'}, backward: {y: 'randn(n, d)'}, "
        "let: {s: 'sqrt(x.var(1, unbiased=False, keepdim=True) + 1e-5)', xhat: '(x - x.mean(1, keepdim=True)) / s', "
        "dh: 'grad(y) * g'}, "
        "formulas: {x: '(dh - dh.mean(1, keepdim=True) - xhat * (dh * xhat).mean(1, keepdim=True)) / s'}, seed: 1}"
    )
    assert case.status == "passed", failed(case)


def test_what_any_measurement_allows() -> None:
    """A part of how far rough runs move it; nothing of what may jump, or becomes no number."""
    moved = np.array([64e-12, 0.0, 1.0, np.nan, np.inf])
    assert sure_allowance(moved, limit=1e-3).tolist() == [8e-12, 0.0, 0.0, 0.0, 0.0]


def test_nothing_is_measured_for_what_is_off_by_less_than_rough_runs_move_it(
    check: Check, measured: list[object]
) -> None:
    case = check(WRONG.replace("[0.5, 1, 2]", "[9, 10, 11]") % "1 / cosh(x) ** 2")
    claims = [c for c in case.comparisons if c.what is ClaimKind.FORMULA]
    assert {c.status for c in claims} == {"passed"}
    assert "within_rounding" in {note.kind for c in claims for note in c.notes}
    assert not measured


def test_nor_for_a_check_that_holds_but_for_rounding(check: Check, measured: list[object]) -> None:
    inverse = "inputs: {x: [[3, 1.1], [0.7, 1.3]]}, graph: {y: inv(x)}, backward: {y: [[1, 2], [3, 4]]}"
    case = check(f"{{{inverse}, checks: ['y @ x == eye(2)']}}")
    assert case.status == "passed"
    assert "check_within_rounding" in {note.kind for c in case.comparisons for note in c.notes}
    assert not measured


#: The last step, and no other, raises on numbers that are rounded at random: probabilities exceed 1.
RAISES_ROUNDED = """
dtype: {dtype}
inputs: {{x: [2, 3], p: 0.5}}
constants: {{ones: 'ones(16)', large: 1e+15}}
graph:
  y: x * x
  l: large * x.sum()
  p1: x[0] / x[0] * ones * p
  loss: binary_cross_entropy(p1, ones)
steps:
- backward: loss
- forward: {{x: [2.5, 3], p: 1}}
values: {{y: [{value}, 9]}}
"""


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("rough", [True, False])
def test_what_a_step_that_raises_when_rounded_leaves_is_no_rounding(
    check: Check, monkeypatch: pytest.MonkeyPatch, rough: bool, dtype: str
) -> None:
    """It leaves the value 4, which is not how far rounding moves 6.25."""
    if not rough:
        monkeypatch.setattr(rough_rounding.RoughRounding, "noise", lambda *_: None)
    assert check(RAISES_ROUNDED.format(value=6.25, dtype=dtype)).status == "passed"
    case = check(RAISES_ROUNDED.format(value=6.5, dtype=dtype))
    assert (case.status, {c.tensor for c in failed(case)}) == ("failed", {"y"})
