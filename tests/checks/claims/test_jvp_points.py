"""All tangents at one point: along which directions, by whom, and what is compared."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.claims.jvp_points import JvpPoint, TangentComparison
from gradcheck.checks.closeness.agreement import is_found_wrong
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.result import Subject
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.oracles.numeric.finite_differences import Estimate
from tests.checks.build import point_of

CHAIN = "{inputs: {x: [1.0, 2.0]}, graph: {y: x * 2, z: exp(y)}, backward: {z: [1, 1]}}"
SUBJECT = Subject(ClaimKind.JVP, "y", engine="core", reference="torch")
JUDGE = TangentComparison(base(np.dtype(np.float64)), False, lambda: None, lambda failed: failed)
NUMBERS = np.array([1.0, 2.0])


def test_directions_are_those_of_inputs_that_can_move() -> None:
    forward = JvpPoint(point_of(CHAIN), None, uses_oracle=True)
    assert list(forward.directions) == ["x"]
    again = JvpPoint(point_of(CHAIN), None, uses_oracle=True)
    np.testing.assert_array_equal(forward.directions["x"], again.directions["x"])


def test_each_engine_is_asked_once() -> None:
    forward = JvpPoint(point_of(CHAIN), None, uses_oracle=True)
    assert forward.pushforward(forward.reference) is forward.pushforward(forward.reference)


def test_the_oracle_is_asked_only_if_it_may_be() -> None:
    assert set(JvpPoint(point_of(CHAIN), None, uses_oracle=True).oracle_tangents) == {"y", "z"}
    assert JvpPoint(point_of(CHAIN), None, uses_oracle=False).oracle_tangents == {}


def test_each_tensor_of_the_graph_is_compared() -> None:
    point = point_of(CHAIN)
    found = list(JvpPoint(point, None, uses_oracle=True).check(point.engines.tested[0]))
    assert [(c.what, c.tensor, c.status) for c in found] == [
        (ClaimKind.JVP, "y", "passed"),
        (ClaimKind.JVP, "z", "passed"),
    ]


def test_what_is_ill_conditioned_has_slack() -> None:
    point = point_of("{inputs: {x: [1.0, 1.0]}, graph: {y: (x * 1e8 - x * 1e8).sum() + x.sum()}}")
    slack = JvpPoint(point, None, uses_oracle=True).allowances["y"]
    assert slack is not None
    assert 1e-10 < float(slack) < 1e-4


def test_a_last_pass_that_raises_is_no_pass() -> None:
    text = "{inputs: {x: [1, 2]}, graph: {z: x * x}, steps: [{backward: z, raises: non_scalar_backward}]}"
    forward = JvpPoint(point_of(text), None, uses_oracle=True)
    assert (forward.has_pass, forward.step) == (False, 0)


def oracle(value: list[float], sides: tuple[list[float], list[float]] | None = None) -> Estimate:
    left, right = sides or (value, value)
    kinked = np.array(left) != np.array(right)
    return Estimate(np.array(value), np.full(2, 1e-15), np.array(left), np.array(right), kinked, "complex step")


def test_two_who_agree_are_confirmed() -> None:
    found = JUDGE.compare(NUMBERS, NUMBERS, oracle([1, 2]), SUBJECT)
    assert found.status == "passed"
    assert found.certificate is not None
    assert found.certificate["method"] == "complex step"


def test_two_who_are_wrong_alike_fail() -> None:
    found = JUDGE.compare(NUMBERS, NUMBERS, oracle([1, 3]), SUBJECT)
    assert found.status == "failed"
    assert found.mismatch == fact("tangents_disagree", got="core", want="torch", method="complex step")


def test_one_who_is_wrong_stands_alone() -> None:
    found = JUDGE.compare(2 * NUMBERS, NUMBERS, oracle([1, 2]), SUBJECT)
    assert found.status == "failed"
    assert found.verdict is not None
    assert (found.verdict.kind, found.verdict["wrong"]) == ("stands_alone", "core")


def test_where_the_reference_is_wrong_nobody_has_failed() -> None:
    found = JUDGE.compare(NUMBERS, 2 * NUMBERS, oracle([1, 2]), SUBJECT)
    assert found.status == "passed"
    assert found.verdict is not None
    assert (found.verdict.kind, found.verdict["reference"]) == ("reference_wrong", "torch")


def test_between_the_sides_of_a_kink_it_is_a_convention() -> None:
    kink = oracle([0.5, 2], ([0, 2], [1, 2]))
    assert JUDGE.compare(np.array([0.0, 2]), np.array([1.0, 2]), kink, SUBJECT).status == "not_differentiable"
    assert JUDGE.compare(np.array([1.5, 2]), np.array([1.0, 2]), kink, SUBJECT).status == "failed"
    assert JUDGE.compare(np.array([0.0, 3]), np.array([1.0, 2]), kink, SUBJECT).status == "failed"


def test_nothing_that_moves_is_zeros() -> None:
    assert JUDGE.compare(None, np.zeros(2), oracle([0, 0]), SUBJECT).status == "passed"
    assert JUDGE.compare(None, NUMBERS, oracle([1, 2]), SUBJECT).status == "failed"


@pytest.mark.parametrize(("mine", "status"), [([1.0, 2.0], "passed"), ([1.0, 3.0], "failed")])
def test_the_oracle_is_enough_where_the_reference_has_none(mine: list[float], status: str) -> None:
    found = JUDGE.compare_with_oracle(np.array(mine), oracle([1, 2]), SUBJECT)
    assert (found.status, found.reference) == (status, "complex step")


def test_low_precision_is_not_refuted_by_double_precision() -> None:
    low = TangentComparison(base(np.dtype(np.float64)), True, lambda: None, lambda failed: failed)
    assert low.compare(NUMBERS, NUMBERS, oracle([1, 3]), SUBJECT).status == "passed"
    sided = low.compare(NUMBERS, 2 * NUMBERS, oracle([1, 2]), SUBJECT)
    assert (sided.status, sided.has_note("differences_side_with")) == ("passed", True)


def test_blame_needs_somebody_who_knows_better() -> None:
    assert is_found_wrong(fact("stands_alone", wrong="torch", agree=("core",), closeness=0.0), "torch")
    assert not is_found_wrong(fact("stands_alone", wrong="core", agree=("torch",), closeness=0.0), "torch")
    assert not is_found_wrong(fact("parted", some=("core",), others=("torch",)), "torch")


def test_what_is_settled_keeps_no_arrays() -> None:
    failed = JUDGE.compare(2 * NUMBERS, NUMBERS, None, SUBJECT)
    assert failed.mask is not None
    assert failed.without_numbers("passed").mask is None
