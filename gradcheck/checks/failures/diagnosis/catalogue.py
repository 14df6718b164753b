"""The catalogue of mistakes: every kind, in the order in which it is told, what recognises it, and which of them hold:
each must predict what came out, at every point, from the same mistake."""

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
    """One way of recognising one kind of mistake. `covers` are kinds that say nothing more once it fits."""

    kind: str
    predict: Predict
    covers: tuple[str, ...] = ()


CATALOGUE: list[Hypothesis] = []
#: Kinds that right numbers in another dtype may be.
_DTYPE_KINDS = ("dtype", "truncated")


def hypothesis(kind: str, *, covers: tuple[str, ...] = ()) -> Callable[[Predict], Predict]:
    """Enter a function into the catalogue: from the evidence at one point it yields what the mistake would give.

    Raises ValueError for a kind that is not among KINDS.
    """
    if kind not in KINDS:
        raise ValueError(f"there is no kind of mistake {kind!r}; add it to KINDS, at its rank")

    def enter(predict: Predict) -> Predict:
        CATALOGUE.append(Hypothesis(kind, predict, covers))
        CATALOGUE.sort(key=lambda entry: [*KINDS].index(entry.kind))  # stable: within a kind, in order of definition
        return predict

    return enter


#: How many explanations of one failure are told.
MAX_DIAGNOSES = 3
#: At so many points a mistake must give what came out, before it is told with confidence.
MIN_POINTS = 2


@dataclass(slots=True)
class _Candidate:
    """A mistake that gives what came out at every point so far; `matches` counts those at which something is wrong."""

    hypothesis: Hypothesis
    guess: Guess  # as it was made at the first point
    matches: int

    @property
    def is_proved(self) -> bool:
        """Whether it gave what came out at enough points, to the last digit."""
        return self.guess.is_proof and self.matches >= MIN_POINTS


def matching_diagnoses(points: Iterable[Evidence]) -> tuple[list[Diagnosis], list[str]]:
    """The explanations that hold at all points, best first, and the kinds that were tried.

    An explanation is "confirmed" if it is proved and no other is left, otherwise "possible". Points are asked for one
    by one, and no further once nothing is left to confirm.
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
    """All that match at the first point; `tried` notes the kinds that had something to say."""
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
    """Those that explain this point too. Where nothing is wrong, a mistake that would show is refuted."""
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
    """One for each kind, without what a more specific one covers; mere likelihood only where there is no proof."""
    candidates = [candidate for candidate in candidates if candidate.guess.is_proof] or candidates
    covered = {kind for candidate in candidates for kind in candidate.hypothesis.covers}
    best: dict[str, _Candidate] = {}
    for candidate in candidates:
        if candidate.matches and candidate.hypothesis.kind not in covered:
            best.setdefault(candidate.hypothesis.kind, candidate)
    return [_diagnosis(candidate, len(best) == 1) for candidate in list(best.values())[:MAX_DIAGNOSES]]


def _diagnosis(candidate: _Candidate, alone: bool) -> Diagnosis:
    """What is told of a candidate; `alone` if no other explanation is left."""
    found = candidate.guess.fact
    return Diagnosis(
        candidate.hypothesis.kind,
        found if candidate.is_proved else fact("perhaps", what=found),
        confidence="confirmed" if candidate.is_proved and alone else "possible",
        evidence=fact("computed_at_points", points=candidate.matches),
    )


def _is_right(evidence: Evidence) -> bool:
    """Whether nothing is wrong at this point."""
    return evidence.got_or_zeros.dtype == evidence.want.dtype and matches(evidence.want, evidence)


def matches(predicted: Any, evidence: Evidence) -> bool:
    """Whether a prediction, None for no prediction, is what came out. No gradient counts as zeros."""
    return predicted is not None and evidence.agree(evidence.got_or_zeros, np.asarray(predicted))
