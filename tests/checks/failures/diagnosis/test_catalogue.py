"""The catalogue itself: its order, its documentation, how a hypothesis is added, and how one is confirmed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest

from gradcheck.checks.failures.diagnosis import CATALOGUE, Evidence, Guess, Use, catalogue, matching_diagnoses
from gradcheck.checks.failures.diagnosis.catalogue import Hypothesis, contribution_origin, hypothesis
from gradcheck.checks.failures.mistakes import KINDS
from gradcheck.checks.scheduling.run import run
from gradcheck.facts import fact
from gradcheck.language.loader.case_files import load_text
from gradcheck.reports.phrases import phrase_table, say
from tests.checks.failures.diagnosis.evidence import rule
from tests.checks.mutants import Applied, WrongRule
from tests.paths import ROOT

MUL = "{inputs: {x: 'randn(3)', y: 'randn(3)'}, graph: {out: x * y}, backward: {out: 'randn(3)'}}"
SPLIT = "{inputs: {x: 'randn(4)'}, graph: {out: 'split(x, 2)', loss: 'out[0].sum()'}}"


def test_a_rule_knows_what_went_in_and_came_out() -> None:
    one = rule(MUL, 1)
    x, y = one.tensors
    assert one.tensor is y
    assert one.incoming is one.cotangents[0]
    assert np.array_equal(one.output, x * y)
    assert np.allclose(one.right_gradients[1], one.incoming * x)


def test_a_rule_is_asked_about_other_tensors_and_incoming_gradients() -> None:
    one = rule(MUL, 1)
    x, _ = one.tensors
    assert np.allclose(one.gradient_with_tensors({0: 2 * x}), one.incoming * 2 * x)
    assert np.allclose(one.right_gradient(one.application, [np.ones(3)]), x)
    assert one.right_gradient(one.application, [np.ones(7)]) is None


def test_an_op_with_several_outputs_has_no_single_one() -> None:
    one = rule(SPLIT)
    assert one.incoming is None
    assert one.output is None


def test_a_contribution_comes_from_an_op_or_from_the_root() -> None:
    assert (
        Use("mul", "d", 0, np.ones(1)).origin == contribution_origin("mul", "d") == fact("op_at", op="mul", entry="d")
    )
    assert Use("", "", 0, np.ones(1)).origin == fact("incoming_at_root")


def test_no_gradient_counts_as_zeros() -> None:
    assert Evidence(None, np.ones(3)).got_or_zeros.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("one", "other", "agree"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-11], True),
        ([1.0, 2.0], [1.0, 2.0 + 1e-9], False),
        ([0.0, 2.0], [1e-15, 2.0], True),
        ([0.0, 2.0], [1e-11, 2.0], False),
        ([1e-10, 2.0], [-1e-10, 2.0], False),
        ([np.nan, 1.0], [np.nan, 1.0], True),
        ([np.nan, 1.0], [0.0, 1.0], False),
        ([np.inf, 1.0], [np.inf, 1.0], True),
        ([1.0, 1.0], [np.inf, 1.0], False),
        ([1.0, 1.0], [1.0, np.inf], False),
        ([[1.0, 2.0]], [1.0, 2.0], False),
    ],
)
def test_agreement_is_but_for_rounding(one: list[float], other: list[float], agree: bool) -> None:
    evidence = Evidence(np.ones(2), np.ones(2))
    assert evidence.agree(np.array(one), np.array(other)) is agree


def test_agreement_knows_what_cancelled_and_what_was_rounded() -> None:
    near, far = np.array([1.0]), np.array([1.0 + 1e-6])
    assert not Evidence(near, near).agree(near, far)
    assert Evidence(near, near, scale=1e9).agree(near, far)
    assert Evidence(near, near, rounding_rtol=1e-5).agree(near, far)
    assert Evidence(near.astype(np.float32), near).agree(near, far)


def test_the_catalogue_is_ordered_by_kind_and_every_kind_is_recognised() -> None:
    ranks = [[*KINDS].index(entry.kind) for entry in CATALOGUE]
    assert ranks == sorted(ranks)
    assert {entry.kind for entry in CATALOGUE} == set(KINDS)


def test_what_is_covered_exists() -> None:
    assert all(set(entry.covers) <= set(KINDS) - {entry.kind} for entry in CATALOGUE)


def test_a_kind_that_is_not_listed_is_refused() -> None:
    with pytest.raises(ValueError, match="no kind of mistake 'sings'"):
        hypothesis("sings")


def test_the_example_of_the_guide_works(scratch: list[Hypothesis], monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    chapter = text.partition("## Add a diagnosis")[2].partition("\n## ")[0]
    (kind,) = re.findall(r'@hypothesis\("(\w+)"', chapter)
    monkeypatch.setattr(catalogue, "KINDS", {kind: "the incoming gradient is multiplied in twice", **KINDS})
    monkeypatch.setattr(phrase_table, "PHRASES", dict(phrase_table.PHRASES))
    for code in re.findall(r"```python\n(.*?)```", chapter, re.DOTALL):
        exec(compile(code, "CONTRIBUTING.md", "exec"), {})
    assert scratch[0].kind == kind

    def wrong(a: Applied) -> object:
        assert a.incoming is not None
        found = a.again({}, [a.incoming * a.incoming])
        return found[a.index]

    cases, _ = load_text("inputs: {x: 'randn(3)'}\ngraph: {out: exp(x)}\nbackward: {out: 'randn(3)'}\n", "guide.yaml")
    result = run(cases, engines=[WrongRule(0, wrong)]).cases[0]
    (cause,) = [c for c in result.comparisons if c.cause]
    assert cause.diagnoses[0].kind == kind
    assert say(cause.diagnoses[0].message) == "the incoming gradient is multiplied in twice"


RNG = np.random.default_rng(3)


def points(*pairs: tuple[object, object], **known: object) -> Iterator[Evidence]:
    for got, want in pairs:
        array = None if got is None else np.asarray(got, float)
        yield Evidence(array, np.asarray(want, float), **known)


def kinds(*pairs: tuple[object, object], **known: object) -> list[str]:
    return [diagnosis.kind for diagnosis in matching_diagnoses(points(*pairs, **known))[0]]


ONE, TWO, THREE = (RNG.standard_normal((3, 3)) for _ in range(3))


def test_a_mistake_must_fit_at_every_point() -> None:
    assert kinds((-ONE, ONE), (-TWO, TWO)) == ["sign"]
    assert kinds((-ONE, ONE), (TWO.T, TWO)) == []


def test_a_constant_must_be_the_same_at_every_point() -> None:
    assert kinds((2 * ONE, ONE), (2 * TWO, TWO)) == ["factor"]
    assert kinds((2 * ONE, ONE), (3 * TWO, TWO)) == []


def test_one_point_is_no_proof() -> None:
    (diagnosis,), _ = matching_diagnoses(points((ONE.T, ONE)))
    assert (diagnosis.kind, diagnosis.confidence) == ("transposed", "possible")
    assert diagnosis.message == fact("perhaps", what=fact("is_transpose", ndim=2))
    assert say(diagnosis.message).startswith("perhaps: ")


def test_a_point_at_which_all_is_right_proves_nothing() -> None:
    symmetric = ONE + ONE.T
    (diagnosis,), _ = matching_diagnoses(points((TWO.T, TWO), (symmetric, symmetric)))
    assert (diagnosis.kind, diagnosis.message.kind) == ("transposed", "perhaps")
    assert diagnosis.evidence == fact("computed_at_points", points=1)


def test_a_mistake_that_would_show_where_all_is_right_is_refuted() -> None:
    assert kinds((-ONE, ONE), (TWO, TWO)) == []


def test_points_are_not_asked_for_once_nothing_is_left() -> None:
    asked = []

    def three() -> Iterator[Evidence]:
        for number, (got, want) in enumerate([(ONE + 0.3 * ONE**2, ONE), (TWO, TWO), (THREE, THREE)]):
            asked.append(number)
            yield Evidence(got, want)

    found, tried = matching_diagnoses(three())
    assert (found, asked) == ([], [0])
    assert {"sign", "transposed", "factor"} <= set(tried)


def test_rounding_is_no_difference() -> None:
    assert kinds((-ONE * (1 + 1e-13), ONE), (-TWO * (1 - 1e-13), TWO)) == ["sign"]
    assert kinds((-ONE * (1 + 1e-7), ONE), (-TWO * (1 + 2e-7), TWO)) == []


def test_two_explanations_are_both_told_and_neither_is_certain() -> None:
    uses = tuple(Use("mul", owner, 0, share) for owner, share in (("d", ONE), ("e", TWO)))
    found, _ = matching_diagnoses([Evidence(TWO, ONE + TWO, uses=uses)] * 2)
    assert [diagnosis.kind for diagnosis in found] == ["overwritten", "use_dropped"]
    assert [diagnosis.confidence for diagnosis in found] == ["possible", "possible"]
    assert [diagnosis.message.kind for diagnosis in found] == ["only_use_arrived", "use_not_arrived"]
    assert "the one in mul at e" in say(found[0].message)
    assert "the one in mul at d" in say(found[1].message)


def test_likelihood_is_told_only_where_there_is_no_proof(scratch: list[Hypothesis]) -> None:
    def likely(e: Evidence) -> Iterator[Guess]:
        yield Guess("likely", fact("it_is_likely"), e.got, False)

    scratch.insert(0, Hypothesis("factor", likely))
    assert kinds((-ONE, ONE), (-TWO, TWO)) == ["sign"]
    (diagnosis,), _ = matching_diagnoses(points((ONE**3 + ONE, ONE), (TWO**3 + TWO, TWO)))
    assert diagnosis.message == fact("perhaps", what=fact("it_is_likely"))
    assert diagnosis.confidence == "possible"


# Hypotheses that need no op ------------------------------------------------------------------------

CUBE, BRICK = RNG.standard_normal((2, 3, 4)), RNG.standard_normal((2, 3, 4))


@pytest.mark.parametrize(
    ("mistake", "kind", "words"),
    [
        (lambda a: a / 24, "factor", "1/24, where 24 is the number of elements"),
        (lambda a: a * -3, "factor", "-3"),
        (lambda a: a * np.pi, "factor", "pi"),
        (lambda a: a.transpose(2, 0, 1), "permuted", "permute(2, 0, 1)"),
        (lambda a: a.swapaxes(1, 2), "transposed", "last two axes"),
        (lambda a: a.reshape(4, 6), "reshaped", "[4, 6] for [2, 3, 4]"),
        (lambda a: a[:, ::-1], "flipped", "along axis 1"),
        (lambda a: np.roll(a, -1, 2), "off_by_one", "one place back along axis 2"),
        (lambda a: a.sum((0, 2)), "summed", "axes 0 and 2"),
        (lambda a: np.broadcast_to(a.mean(1, keepdims=True), a.shape), "summed", "averaged over axis 1"),
        (np.floor, "truncated", "rounded down"),
        (lambda a: a.astype(np.float32).astype(float), "dtype", "every element is a number of float32"),
        (lambda a: np.where(a == a.max(), np.inf, a), "nan", "infinity"),
        (lambda a: None, "detached", "no gradient arrives"),
    ],
)
def test_mistakes_of_any_two_arrays(mistake: object, kind: str, words: str) -> None:
    found, _ = matching_diagnoses(Evidence(mistake(a), a) for a in (10 * CUBE, 10 * BRICK))  # type: ignore[operator]
    assert [diagnosis.kind for diagnosis in found] == [kind]
    assert words in say(found[0].message)
    assert found[0].confidence == "confirmed"


def test_a_lower_dtype_is_named() -> None:
    found, _ = matching_diagnoses(Evidence(a.astype(np.float32), a) for a in (CUBE, BRICK))
    assert found[0].kind == "dtype"
    assert "its dtype is float32, where it should be float64" in say(found[0].message)


def test_the_complex_conjugate_is_named() -> None:
    found, _ = matching_diagnoses(Evidence((a - 2j * b), (a + 2j * b)) for a, b in ((ONE, TWO), (TWO, THREE)))
    assert [diagnosis.kind for diagnosis in found] == ["conjugate"]


def test_a_broadcast_that_is_not_undone_needs_no_op() -> None:
    found, _ = matching_diagnoses(Evidence(a, a.sum(0)) for a in (ONE, TWO))
    assert [diagnosis.kind for diagnosis in found] == ["broadcast_not_undone"]


def test_at_most_three_explanations_are_told(scratch: list[Hypothesis]) -> None:
    def fits(e: Evidence) -> Iterator[Guess]:
        yield Guess("fits", fact("it_fits"), e.got)

    scratch[:] = [Hypothesis(kind, fits) for kind in ("stale", "detached", "sign", "factor")]
    assert kinds((-ONE, ONE), (-TWO, TWO)) == ["stale", "detached", "sign"]


def test_a_key_that_is_another_at_the_next_point_is_another_mistake(scratch: list[Hypothesis]) -> None:
    keys = iter(("first", "second"))

    def fits(e: Evidence) -> Iterator[Guess]:
        yield Guess(next(keys), fact("it_fits"), e.got)

    scratch[:] = [Hypothesis("sign", fits)]
    assert kinds((-ONE, ONE), (-TWO, TWO)) == []
