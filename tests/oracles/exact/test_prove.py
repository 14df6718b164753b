"""The exact oracle: what it proves is true, what it refutes is false, and how sure it is."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.facts import fact
from gradcheck.language.expr.parser import parse
from gradcheck.language.sampling import draw
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.dual_numbers import DivisionByZero
from gradcheck.oracles.exact.prove import MAX_DIVISIONS_BY_ZERO, MAX_ERROR_PROBABILITY, MAX_POINTS, ClaimTracker, prove
from tests.claims import shipped_cases
from tests.conftest import WithRules
from tests.oracles.exact.small import claim, problem, proofs_of, status
from tests.sampling import evenly_spread


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


CASES = [case for case in shipped_cases().cases if case.formulas or case.wrong_formulas]


@cache
def verdicts(place: int) -> tuple[list[str], list[str]]:
    """Return what comes of a case's formulas, and of its wrong ones."""
    own = draw(CASES[place])
    right = [(name, claim) for name, claims in own.case.formulas.items() for claim in claims]
    wrong = [(name, claim) for name, claims in own.case.wrong_formulas.items() for claim in claims]
    found = [proof.status for proof in prove(own, right + wrong)]
    return found[: len(right)], found[len(right) :]


@pytest.mark.parametrize("place", range(len(CASES)), ids=[case.id for case in CASES])
def test_shipped_cases(place: int) -> None:
    """No formula of theirs is refuted; what is wrong is not proved, except where it is right at the case's sizes."""
    right, wrong = verdicts(place)
    assert "refuted" not in right
    if "right for two rows alone" not in CASES[place].name:
        assert "proved" not in wrong


def test_most_of_their_formulas_are_proved() -> None:
    """A guard against losing what was proved before."""
    assert sum(verdicts(place)[0].count("proved") for place in range(len(CASES))) >= 200


# Wrong by little --------------------------------------------------------------------------------


def test_one_wrong_element_in_a_million() -> None:
    large = problem({"x": (1000, 1000)}, {"y": "(x * x).sum()"})
    error = "index_put(zeros(1000, 1000), [tensor([617]), tensor([3])], tensor([0.001]))"
    proofs = proofs_of(large, "x", "2 * x", f"2 * x + {error}")
    assert [proof.status for proof in proofs] == ["proved", "refuted"]


@pytest.mark.parametrize("index", [0, 13, 63])
@pytest.mark.parametrize("shape", [(64,), (8, 8), (4, 4, 4), (2, 2, 4, 4)])
def test_one_wrong_element(shape: tuple[int, ...], index: int) -> None:
    of = problem({"x": shape}, {"y": "x ** 3"}, seed=shape)
    place = tuple(int(i) for i in np.unravel_index(index, shape))
    error = f"index_put(zeros_like(x), [{', '.join(f'tensor([{i}])' for i in place)}], tensor([1e-9]))"
    assert status(of, "x", "3 * x ** 2 * grad(y)") == "proved"
    assert status(of, "x", f"3 * x ** 2 * grad(y) + {error}") == "refuted"


def test_a_factor_that_is_hardly_wrong() -> None:
    of = problem({"a": (3, 4), "b": (4, 5)}, {"c": "a @ b"}, seed=(3, 5))
    assert status(of, "a", "grad(c) @ b.T") == "proved"
    assert status(of, "a", "grad(c) @ b.T * 1.0000000001") == "refuted"


def test_shapes_are_strict() -> None:
    of = problem({"x": (3, 1)}, {"y": "x.sum()"})
    assert status(of, "x", "ones(3, 1)") == "proved"
    assert status(of, "x", "ones(3)") == "refuted"
    assert status(of, "x", "1") == "refuted"


# Choices -------------------------------------------------------------------------------------------------

RELU = {"y": "relu(x)"}


@pytest.mark.parametrize("shape", [(), (1,), (2, 3)])
def test_both_sides_of_a_kink_are_looked_at(shape: tuple[int, ...]) -> None:
    """However few elements there are, a formula that is right on one side of the kink alone is not proved."""
    of = problem({"x": shape}, RELU, seed=shape)
    for seed in evenly_spread(list(range(40)), 15):
        proofs = proofs_of(of, "x", "grad(y) * (x > 0)", "grad(y)", "0 * grad(y)", "grad(y) * (x < 0)", seed=seed)
        assert [proof.status == "proved" for proof in proofs] == [True, False, False, False]


def test_a_formula_that_is_wrong_where_all_are_positive_alone() -> None:
    """One pattern in a million; drawn at random it would hardly ever come."""
    of = problem({"x": (20,)}, RELU, seed=(20,))
    assert status(of, "x", "where(x > 0, grad(y), 0)") == "proved"
    assert status(of, "x", "where(x > 0, grad(y), 0) * (1 + all(x > 0))") != "proved"


def test_what_is_0_in_a_whole_region() -> None:
    """relu(x) >= 0 is true of every x, and not the opposite of relu(x) < 0 by chance."""
    of = problem({"x": (4,)}, {"h": "relu(x)", "y": "relu(h)"}, seed=(4,))
    assert status(of, "x", "where(x > 0, where(h > 0, grad(y), 0), 0)") == "proved"
    assert status(of, "h", "where(h > 0, grad(y), 0)") == "proved"
    assert status(of, "x", "where(x > 0, grad(y), 0)") == "unsupported"  # true, but not known to be
    assert status(of, "h", "where(h >= 0, grad(y), 0)") != "proved"
    assert status(of, "x", "where(h >= 0, grad(y), 0)") != "proved"
    assert status(of, "x", "where(h == 0, 0, grad(y)) + 0 * x") != "refuted"


def test_equality_matters_at_kinks_of_the_graph_alone() -> None:
    of = problem({"x": (4,), "z": (4,)}, {"y": "x * x + relu(z)"}, seed=(4,))
    assert status(of, "x", "where(x == 0, 7, 2 * x) * grad(y)") == "unsupported"
    assert status(of, "z", "where(z == 0, 7, z > 0) * grad(y)") == "proved"
    assert status(of, "z", "(z >= 0) * grad(y)") == "proved"
    assert status(of, "x", "where(x == x, 2 * x, 7) * grad(y)") == "proved"
    assert status(of, "x", "where(x != x, 2 * x, 7) * grad(y)") == "refuted"
    assert status(of, "x", "2 * x * grad(y) + (x >= 0) + (x <= 0) - 1") == "unsupported"  # 1 too many at 0


@pytest.mark.parametrize(
    "condition",
    [
        "sqrt(x * x) == x",
        "sqrt(x * x) <= x",
        "sqrt(x * x) - x < 0.5",
        "abs(x) == x",
        "abs(x) <= x",
        "relu(x) == x",
        "clamp(x, 1, 2) == x",
        "exp(log(x)) == x",
        "log(x * x) == 2 * log(x)",
        "maximum(x, 3 + 0 * x) == 3",
        "atan(x) + atan(1 / x) == pi / 2",
        "acos(cos(x)) == x",
        "x == round(x)",
        "isfinite(log(x))",
        "~isnan(sqrt(x))",
        "log(x + 3) == log(x + 3)",
        "acos(x / 4) < 9",
        "(x ** 0.5) ** 2 == x",
    ],
)
def test_what_holds_in_a_whole_region(condition: str) -> None:
    """A formula that is right on one side of a condition, or where it is defined, is not proved for both."""
    of = problem({"x": (4,)}, {"y": "x ** 3"}, seed=(4,))
    right = "3 * x ** 2 * grad(y)"
    assert status(of, "x", f"where({condition}, 5 + 0 * x, {right})") != "proved"
    assert status(of, "x", f"where({condition}, {right}, 5 + 0 * x)") != "proved"
    assert status(of, "x", f"{right} * ({condition})") != "proved"
    assert status(of, "x", f"where({condition}, {right}, {right})") == "proved"


def test_the_largest_element() -> None:
    of = problem({"x": (3, 4)}, {"y": "amax(x, 1)"}, seed=(3,))
    largest = "(x == amax(x, 1, True))"
    assert status(of, "x", f"{largest} / {largest}.sum(1, True) * grad(y)[:, None]") == "proved"
    assert status(of, "x", f"{largest} * grad(y)[:, None]") != "proved"  # too much where two are equal
    assert status(of, "x", "where(x == amax(x, 0, True), grad(y)[:, None], 0)") != "proved"
    assert status(of, "x", "where(x == amin(x, 1, True), grad(y)[:, None], 0)") != "proved"
    assert status(of, "x", "grad(y)[:, None].expand(3, 4)") != "proved"


def test_ties_in_a_whole_region() -> None:
    """The largest of several relus is 0 wherever all are, and so are they."""
    of = problem({"x": (5,)}, {"h": "relu(x)", "y": "amax(h)"})
    assert status(of, "h", "where(h == y, 1.0, 0)") != "proved"


# Functions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("graph", "right", "wrong"),
    [
        ("exp(x)", "exp(x)", "exp(2 * x)"),
        ("tanh(x)", "1 - tanh(x) ** 2", "1 - tanh(x)"),
        ("sigmoid(x)", "sigmoid(x) * sigmoid(-x)", "sigmoid(x) * sigmoid(x)"),
        ("sin(x)", "cos(x)", "-cos(x)"),
        ("tan(x)", "1 / cos(x) ** 2", "1 / sin(x) ** 2"),
        ("log(x)", "1 / x", "1 / (x + 1e-9)"),
        ("sqrt(x)", "1 / (2 * sqrt(x))", "1 / sqrt(x)"),
        ("sqrt(x)", "0.5 * x ** -0.5", "0.5 * x ** 0.5"),
        ("sqrt(x) ** 4", "2 * x", "4 * x"),
        ("x ** 2.7", "2.7 * x ** 1.7", "2.7 * x ** 2.7"),
        ("2 ** x", "log(tensor(2.0)) * exp2(x) * 0 + 0.6931471805599453 * 2 ** x", "2 ** x"),
        ("atan(x)", "1 / (1 + x * x)", "1 / (1 - x * x)"),
        ("erf(x)", "2 / 3.141592653589793 ** 0.5 * exp(-x * x)", "2 / 3.141592653589793 * exp(-x * x)"),
        ("logsumexp(x, 0)", "exp(x - logsumexp(x, 0))", "exp(x)"),
        ("log_softmax(x, 0)[0]", "cat([ones(1), zeros(3)]) - softmax(x, 0)", "-softmax(x, 0)"),
        ("exp(log(x) + 0 * x)", "ones(4)", "x"),
        ("linalg.vector_norm(x)", "x / linalg.vector_norm(x)", "x"),
        ("floor(x) * x", "floor(x)", "floor(x) + 1"),
        ("relu(x) ** 2", "2 * relu(x) * (x > 0)", "2 * x"),
    ],
)
def test_functions(graph: str, right: str, wrong: str) -> None:
    of = problem({"x": (4,)}, {"y": f"({graph}).sum()"})
    assert [proof.status == "proved" for proof in proofs_of(of, "x", right, wrong)] == [True, False]


def test_uninterpreted_functions_are_named() -> None:
    proof = proofs_of(problem({"x": (4,)}, {"y": "(exp(x) * x).sum()"}), "x", "exp(x) * (1 + x)")[0]
    assert proof.status == "proved"
    assert proof.uninterpreted == ("exp",)


def test_a_true_identity_that_was_not_kept_is_not_refuted() -> None:
    """sin(2 x) is 2 sin(x) cos(x): nothing here knows it."""
    proof = proofs_of(problem({"x": (4,)}, {"y": "(sin(x) ** 2).sum()"}), "x", "sin(2 * x)")[0]
    assert proof.status == "unsupported"
    assert proof.unsupported_reason == fact("exact_uninterpreted", functions=("tan(x / 2)",))


def test_rounded_numbers_refute_nothing() -> None:
    """Products of decimals are rounded in the end; a third is not 0.333333."""
    of = problem({"x": (4,)}, {"y": "(x * 0.1234567890123457).sum()"})
    assert status(of, "x", "0.1234567890123456 * ones(4)") == "unsupported"
    thirds = problem({"x": (3,)}, {"y": "x.mean()"})
    assert status(thirds, "x", "ones(3) / 3") == "proved"
    assert status(thirds, "x", "ones(3) * (1 / 3)") == "proved"
    assert status(thirds, "x", "ones(3) * 0.333333") == "refuted"


def test_infinities_that_mask() -> None:
    of = problem({"x": (3, 3)}, {"y": "softmax(x.masked_fill(triu(ones(3, 3), 1) > 0, -inf), -1)"}, seed=(3, 3))
    assert status(of, "x", "y * (grad(y) - (grad(y) * y).sum(-1, keepdim=True))") == "proved"
    assert status(of, "x", "y * grad(y)") != "proved"
    added = problem({"x": (3, 3)}, {"y": "softmax(x + where(triu(ones(3, 3), 1) > 0, -inf, 0.0), -1)"}, seed=(3, 3))
    assert status(added, "x", "y * (grad(y) - (grad(y) * y).sum(-1, keepdim=True))") == "proved"


# Derivations -----------------------------------------------------------------------------------------


def test_gradients_of_other_tensors() -> None:
    of = problem({"x": (2, 3)}, {"h": "x * x", "k": "h @ h.T", "y": "k.sum()"})
    assert status(of, "x", "2 * x * grad(h)") == "proved"
    assert status(of, "x", "2 * x * grad(k).sum() * grad(h)") == "refuted"
    assert status(of, "h", "(grad(k) + grad(k).T) @ h") == "proved"


def test_steps_of_a_derivation() -> None:
    of = problem({"x": (4,)}, {"y": "exp(x).sum()"}, let={"e": "exp(x)", "f": "e * e", "broken": "argsort(x)"})
    assert status(of, "x", "f / e") == "proved"
    assert status(of, "x", "f") == "unsupported"
    assert status(of, "x", "x[broken]") == "unsupported"


def test_one_that_cannot_be_evaluated_does_not_silence_others() -> None:
    of = problem({"x": (4,), "w": (4,)}, {"y": "(x * w).sum()"})
    proofs = prove(of, [("x", claim("w")), ("w", claim("sort(x)[0]")), ("w", claim("x")), ("x", claim("x"))])
    assert [proof.status for proof in proofs] == ["proved", "unsupported", "proved", "refuted"]


def test_parts_of_several_outputs() -> None:
    of = problem({"x": (5, 2)}, {"m": "split(x, 2)", "y": "(m[0] * m[1]).sum()"})
    assert status(of, "m[0]", "m[1]") == "proved"
    assert status(of, "m[0]", "m[0]") == "refuted"
    assert status(of, "x", "cat([m[1], m[0], zeros(1, 2)])") == "proved"


def test_empty_tensors() -> None:
    of = problem({"x": (0, 3)}, {"y": "x.sum(0)"}, seed=(3,))
    assert status(of, "x", "zeros(0, 3)") == "proved"
    assert status(of, "x", "zeros(3, 0)") == "refuted"


def test_a_divisor_that_is_always_0() -> None:
    of = problem({"x": (3,)}, {"y": "(x / (x - x)).sum()"})
    proof = proofs_of(of, "x", "1 / (x - x)")[0]
    assert proof.status == "unsupported"
    assert proof.unsupported_reason is not None
    assert "0 has no inverse" in proof.unsupported_reason["message"]


# How sure it is ---------------------------------------------------------------------------------


def test_the_bound_is_met() -> None:
    proof = proofs_of(problem({"a": (3, 4), "b": (4, 5)}, {"c": "(a @ b).sum()"}), "a", "ones(3, 5) @ b.T")[0]
    assert proof.bound < MAX_ERROR_PROBABILITY
    assert proof.points >= 2


def test_high_degrees_ask_for_more_points() -> None:
    few, many = (
        proofs_of(problem({"x": (2,)}, {"y": f"(x ** {n}).sum()"}), "x", f"{n} * x ** {n - 1}")[0] for n in (2, 4000)
    )
    assert few.status == many.status == "proved"
    assert few.points < many.points
    assert many.degree >= 4000


#: A wrong formula's excess, a polynomial that is often 0 modulo a tiny prime, and how large its degree is.
EXCESSES = {
    "x * (x - 1) * (x - 2) * (x - 3) * (x - 4)": 5,
    "(x * x - 2)": 2,
    "(x - 1)": 1,
    "(x - w) * (x + w) * (w - 1)": 3,
    "(x - w) / (x + w + 1)": 2,
}


@pytest.mark.parametrize("excess", EXCESSES)
def test_the_bound_is_honest(excess: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Modulo a tiny prime wrong formulas do pass; no more often than the bound of each says, on average."""
    monkeypatch.setattr(modular_arithmetic, "PRIMES", (47,) * 10)
    monkeypatch.setattr("gradcheck.oracles.exact.prove.MAX_ERROR_PROBABILITY", 0.5)
    of = problem({"x": (1,), "w": (1,)}, {"y": "(x * w).sum()"})
    passed, expected, asked = 0, 0.0, 0
    for seed in range(600):
        proof = proofs_of(of, "x", f"w + {excess}", seed=seed)[0]
        asked += proof.status != "unsupported"
        passed += proof.status == "proved"
        expected = max(expected, proof.bound if proof.status == "proved" else 0)
    assert asked > 400
    assert 0 < passed <= expected * asked + 3 * np.sqrt(expected * asked)


@pytest.mark.parametrize("excess", ["exp(x) - exp(w)", "(x > 0) - (x > 1)", "tanh(x) - exp(w) / 3"])
def test_the_bound_counts_uninterpreted_functions(excess: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Different arguments that are the same at a point make functions agree; that is in the bound as well."""
    monkeypatch.setattr(modular_arithmetic, "PRIMES", (211,) * 10)
    monkeypatch.setattr("gradcheck.oracles.exact.prove.MAX_ERROR_PROBABILITY", 0.9)
    of = problem({"x": (1,), "w": (1,)}, {"y": "(x * w).sum()"})
    passed, bound, tries = 0, 0.0, 300
    for seed in range(tries):
        proof = proofs_of(of, "x", f"w + {excess}", seed=seed)[0]
        if proof.status == "proved":
            passed, bound = passed + 1, max(bound, proof.bound)
    assert 0 < passed <= bound * tries + 3 * np.sqrt(bound * tries)


def test_claims_do_not_disturb_each_other() -> None:
    of = problem({"a": (3, 4), "b": (4, 5)}, {"c": "a @ b"}, seed=(3, 5))
    right = [("a", claim("grad(c) @ b.T")), ("b", claim("a.T @ grad(c)"))]
    wrong = [("a", claim("2 * grad(c) @ b.T")), ("b", claim("grad(c)")), ("c", claim("grad(c) + 0.5"))]
    assert [proof.status for proof in prove(of, right + wrong)] == ["proved"] * 2 + ["refuted"] * 3
    assert [proof.status for proof in prove(of, wrong + right)] == ["refuted"] * 3 + ["proved"] * 2


def test_the_same_seed_gives_the_same_proof() -> None:
    of = problem({"x": (4,)}, {"y": "(exp(x) * x).sum()"})
    assert proofs_of(of, "x", "exp(x) * (1 + x)", "exp(x)") == proofs_of(of, "x", "exp(x) * (1 + x)", "exp(x)")


def test_a_formula_made_of_a_wrong_gradient_of_the_core_is_not_decided(with_rules: WithRules) -> None:
    """All that it speaks of are looked at together, and the first that is wrong is named."""
    with_rules("exp", lambda g, y, x: 2 * g * y)
    of = problem({"x": (3,)}, {"h": "x * x", "k": "exp(h)", "l": "k * k", "y": "l.sum()"})
    (proof,) = proofs_of(of, "x", "2 * x * grad(h) + 0 * grad(k) + 0 * grad(l)")
    assert (proof.status, proof.unsupported_reason) == ("unsupported", fact("exact_core_gradient", tensor="h"))
    assert status(of, "k", "2 * k * grad(l)") == "proved"
