from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact.claim_tracker import MAX_DIVISIONS_BY_ZERO, MAX_ERROR_PROBABILITY, MAX_POINTS, ClaimTracker
from gradcheck.oracles.exact.dual_numbers import DivisionByZero


def tracker() -> ClaimTracker:
    return ClaimTracker("x", parse("2 * x"))


def test_nothing_is_known_at_first() -> None:
    assert not tracker().is_decided
    assert tracker().proof().status == "unsupported"


def test_a_wrong_shape_refutes() -> None:
    one = tracker()
    one.record_error(ShapeMismatch("of shape (3,)"))
    assert one.is_decided
    assert one.proof().status == "refuted"


def test_what_cannot_be_evaluated_is_left_to_others() -> None:
    one = tracker()
    one.record_error(Unsupported("sort"))
    assert one.proof().status == "unsupported"


def test_a_divisor_may_be_0_by_chance() -> None:
    one = tracker()
    for _ in range(MAX_DIVISIONS_BY_ZERO - 1):
        one.record_error(DivisionByZero("0 has no inverse"))
        assert not one.is_decided
    one.record_error(DivisionByZero("0 has no inverse"))
    assert one.is_decided


def test_a_refutation_that_depends_on_functions_is_none() -> None:
    one = tracker()
    one.is_refuted, one.depends_on_functions = True, True
    assert one.proof().status == "unsupported"
    one.depends_on_functions = False
    assert one.proof().status == "refuted"


def test_what_asks_for_too_many_points_is_known_by_the_first_few() -> None:
    one = tracker()
    one.points, one.bound = 1, 0.14
    assert not one.needs_too_many_points
    one.points, one.bound = 2, 0.14**2
    assert one.needs_too_many_points
    why = one.proof().unsupported_reason
    assert why is not None
    assert why["points"] == MAX_POINTS
    one.bound = (MAX_ERROR_PROBABILITY / 2) ** (2 / MAX_POINTS)
    assert not one.needs_too_many_points


def test_a_proof_says_what_it_holds_for() -> None:
    one = tracker()
    one.bound, one.conditions, one.frees_incoming = MAX_ERROR_PROBABILITY / 2, ("x > 0",), False
    proof = one.proof()
    assert (proof.status, proof.conditions, proof.for_any_incoming) == ("proved", ("x > 0",), False)
    one.restart()
    assert not one.is_decided
