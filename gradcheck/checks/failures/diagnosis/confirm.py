"""Which hypotheses survive: each must predict what came out, at every point, from the same mistake."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.checks.closeness.compare import wide
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.failures.diagnosis.catalogue import CATALOGUE, Hypothesis
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Guess

#: How many explanations of one failure are told.
MOST = 3
#: At so many points a mistake must give what came out, before it is told with confidence.
POINTS = 2


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One explanation. `points` is at how many points the numbers came out as the mistake would give them.

    It is `proved` if they did so at enough points, to the last digit; `alone` if no other explanation is left.
    """

    kind: str
    message: str
    points: int
    proved: bool
    alone: bool

    @property
    def certain(self) -> bool:
        """Whether it can be nothing else, of all that is in the catalogue."""
        return self.proved and self.alone

    def as_mapping(self) -> dict[str, str]:
        """As a comparison carries it."""
        times = "at 1 point" if self.points == 1 else f"at {self.points} points"
        return {
            "kind": self.kind,
            "message": self.message if self.proved else f"perhaps: {self.message}",
            "evidence": f"computed, this mistake gives what came out, {times}",
            "confidence": "confirmed" if self.certain else "possible",
        }


@dataclass(slots=True)
class _Suspect:
    """One mistake under suspicion."""

    hypothesis: Hypothesis
    key: Hashable
    message: str
    sure: bool
    hits: int = 0


def confirmed(points: Iterable[Evidence]) -> tuple[list[Diagnosis], list[str]]:
    """The explanations that hold at all points, best first, and the kinds that were tried.

    Points are asked for one by one, and no further once nothing is left to confirm.
    """
    suspects: list[_Suspect] | None = None
    tried: dict[str, None] = {}
    for evidence in points:
        if suspects is None:
            suspects = list(_accused(evidence, tried))
        else:
            suspects = list(_still(suspects, evidence))
        if not suspects:
            break
    return _told(suspects or []), list(tried)


def _accused(evidence: Evidence, tried: dict[str, None]) -> Iterator[_Suspect]:
    right = is_right(evidence)
    for hypothesis in CATALOGUE:
        for guess in _guesses(hypothesis, evidence):
            tried.setdefault(hypothesis.kind)
            if matches(guess.predicted, evidence):
                yield _Suspect(hypothesis, guess.key, guess.message, guess.sure, 0 if right else 1)


def _still(suspects: Sequence[_Suspect], evidence: Evidence) -> Iterator[_Suspect]:
    """Those that explain this point too. Where nothing is wrong, a mistake that would show is refuted."""
    right = is_right(evidence)
    known: dict[int, dict[Hashable, Guess]] = {}
    for suspect in suspects:
        guesses = known.get(id(suspect.hypothesis))
        if guesses is None:
            guesses = {guess.key: guess for guess in _guesses(suspect.hypothesis, evidence)}
            known[id(suspect.hypothesis)] = guesses
        guess = guesses.get(suspect.key)
        if guess is not None and matches(guess.predicted, evidence):
            suspect.hits += not right
            yield suspect


def _guesses(hypothesis: Hypothesis, evidence: Evidence) -> Iterator[Guess]:
    with np.errstate(all="ignore"):
        yield from hypothesis.predict(evidence)


def _told(suspects: list[_Suspect]) -> list[Diagnosis]:
    """One for each kind, without what a more specific one covers; mere likelihood only where there is no proof."""
    suspects = [suspect for suspect in suspects if suspect.sure] or suspects
    covered = {kind for suspect in suspects for kind in suspect.hypothesis.covers}
    best: dict[str, _Suspect] = {}
    for suspect in suspects:
        if suspect.hits and suspect.hypothesis.kind not in covered:
            best.setdefault(suspect.hypothesis.kind, suspect)
    return [
        Diagnosis(kind, suspect.message, suspect.hits, suspect.sure and suspect.hits >= POINTS, len(best) == 1)
        for kind, suspect in list(best.items())[:MOST]
    ]


def is_right(evidence: Evidence) -> bool:
    """Whether nothing is wrong at this point."""
    return evidence.arrived.dtype == evidence.want.dtype and matches(evidence.want, evidence)


def matches(predicted: Any, evidence: Evidence) -> bool:
    """Whether this is what came out, within the rounding of a right computation. No gradient counts as zeros."""
    if predicted is None:
        return False
    got, guess = evidence.arrived, np.asarray(predicted)
    if got.shape != guess.shape:
        return False
    with np.errstate(all="ignore"):
        left, right = wide(got), wide(guess)
        error = np.abs(left - right)
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        finite = np.isfinite(right)
        scale = max(_largest(right), _largest(wide(evidence.want)), evidence.scale)
        allowed = base(_coarser(got.dtype, evidence.want.dtype))
        close = error <= allowed.rtol * np.abs(right) + max(allowed.atol, evidence.rounded) * scale
        return bool((same | (finite & close)).all())


def _largest(array: np.ndarray) -> float:
    magnitude = np.abs(array)
    return float(np.max(magnitude, where=np.isfinite(magnitude), initial=0.0))


def _coarser(one: np.dtype, other: np.dtype) -> np.dtype:
    return max(one, other, key=lambda dtype: base(dtype).rtol)
