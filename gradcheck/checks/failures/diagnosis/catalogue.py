"""The catalogue of hypotheses, and which of them hold for a failure.

A hypothesis holds if, at every point, the same mistake predicts the wrong gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.autograd.modes import quiet
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess
from gradcheck.checks.failures.mistakes import KINDS
from gradcheck.checks.result import Diagnosis
from gradcheck.facts import fact

Predict = Callable[[Evidence], Iterator[Guess]]


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A way to recognise a kind of mistake; `covers` kinds it makes redundant."""

    kind: str
    predict: Predict
    covers: tuple[str, ...] = ()


CATALOGUE: list[Hypothesis] = []
#: Kinds of right numbers in another dtype.
_DTYPE_KINDS = ("dtype", "truncated")


def hypothesis(kind: str, *, covers: tuple[str, ...] = ()) -> Callable[[Predict], Predict]:
    """Enter a function that yields, from evidence, what a mistake would give.

    Raises ValueError for a kind that is not among KINDS.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no kind of mistake {kind!r}; add it to KINDS, at its rank")

    def enter(predict: Predict) -> Predict:
        CATALOGUE.append(Hypothesis(kind, predict, covers))
        CATALOGUE.sort(key=lambda entry: [*KINDS].index(entry.kind))  # stable: within a kind, in order of definition
        return predict

    return enter


#: The most diagnoses of one failure.
MAX_DIAGNOSES = 3
#: The points at which a mistake must give the wrong gradient to be confirmed.
MIN_POINTS = 2


@dataclass(slots=True)
class _Candidate:
    """A mistake that fits so far, and at how many wrong points."""

    hypothesis: Hypothesis
    guess: Guess  # as it was made at the first point
    matches: int

    @property
    def is_proved(self) -> bool:
        """True if the guess is a proof, and fits at enough points."""
        return self.guess.is_proof and self.matches >= MIN_POINTS


def matching_diagnoses(points: Iterable[Evidence]) -> tuple[list[Diagnosis], list[str]]:
    """Return the diagnoses that hold at all points, and the kinds tried.

    The best come first. A diagnosis is "confirmed" if it is proved and alone, else "possible". Points are consumed
    until no candidate is left.
    """
    candidates: list[_Candidate] | None = None
    tried: dict[str, None] = {}
    with quiet():
        for evidence in points:
            if candidates is None:
                candidates = list(_candidates(evidence, tried))
            else:
                candidates = list(_still_matching(candidates, evidence))
            if not candidates:
                break
    return _diagnoses(candidates or []), list(tried)


def _candidates(evidence: Evidence, tried: dict[str, None]) -> Iterator[_Candidate]:
    """Yield the mistakes that fit at the first point; note kinds in `tried`."""
    wrong = not _is_right(evidence)
    only_dtype = wrong and matches(evidence.want, evidence)  # the numbers are right
    for hypothesis in CATALOGUE:
        if only_dtype and hypothesis.kind not in _DTYPE_KINDS:
            continue
        for guess in hypothesis.predict(evidence):
            tried.setdefault(hypothesis.kind)
            if matches(guess.predicted, evidence):
                yield _Candidate(hypothesis, guess, int(wrong))


def _still_matching(candidates: Sequence[_Candidate], evidence: Evidence) -> Iterator[_Candidate]:
    """Yield the candidates that fit here too, right or wrong as it is."""
    wrong = not _is_right(evidence)
    known: dict[int, dict[Hashable, Guess]] = {}
    for candidate in candidates:
        guesses = known.get(id(candidate.hypothesis))
        if guesses is None:
            guesses = {guess.key: guess for guess in candidate.hypothesis.predict(evidence)}
            known[id(candidate.hypothesis)] = guesses
        guess = guesses.get(candidate.guess.key)
        if guess is not None and matches(guess.predicted, evidence):
            candidate.matches += wrong
            yield candidate


def _diagnoses(candidates: list[_Candidate]) -> list[Diagnosis]:
    """Return one diagnosis a kind: proofs if any, without covered kinds."""
    candidates = [candidate for candidate in candidates if candidate.guess.is_proof] or candidates
    covered = {kind for candidate in candidates for kind in candidate.hypothesis.covers}
    best: dict[str, _Candidate] = {}
    for candidate in candidates:
        if candidate.matches and candidate.hypothesis.kind not in covered:
            best.setdefault(candidate.hypothesis.kind, candidate)
    return [_diagnosis(candidate, len(best) == 1) for candidate in list(best.values())[:MAX_DIAGNOSES]]


def _diagnosis(candidate: _Candidate, alone: bool) -> Diagnosis:
    """Return a candidate's diagnosis; `alone` if no other is left."""
    found = candidate.guess.fact
    return Diagnosis(
        candidate.hypothesis.kind,
        found if candidate.is_proved else fact("perhaps", what=found),
        confidence="confirmed" if candidate.is_proved and alone else "possible",
        evidence=fact("computed_at_points", points=candidate.matches),
    )


def _is_right(evidence: Evidence) -> bool:
    return evidence.got_or_zeros.dtype == evidence.want.dtype and matches(evidence.want, evidence)


def matches(predicted: Any, evidence: Evidence) -> bool:
    """Return whether a prediction is the gradient; None predicts nothing."""
    return predicted is not None and evidence.agree(evidence.got_or_zeros, np.asarray(predicted))
