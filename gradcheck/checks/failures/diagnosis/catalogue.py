"""Evidence of a failure, and the catalogue of hypotheses about it.

A hypothesis holds if, at every point, the same mistake predicts the wrong gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.dtypes import largest_finite
from gradcheck.autograd.modes import quiet
from gradcheck.checks.closeness.compare import nearly_equal, rounding_tolerance
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.failures.mistakes import KINDS
from gradcheck.checks.result import Diagnosis
from gradcheck.engines.base import Application
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact

#: Returns the reference's gradients of an op alone for its cotangents; empty if it raises.
ReferencePullback = Callable[[Application, Sequence[np.ndarray | None]], Sequence[np.ndarray | None]]


def with_arrays(application: Application, tensors: Sequence[np.ndarray]) -> Application:
    """Return the application with other arrays, in the order of `arrays`."""
    rest = iter(tensors)
    args, kwargs = rebuild(application.args, application.kwargs, lambda _: next(rest), np.dtype)
    return replace(application, args=args, kwargs=kwargs, recorded=None)


@dataclass(frozen=True, slots=True)
class Rule:
    """One op alone with a wrong gradient, its cotangents, the right gradients."""

    application: Application
    position: int  # of the tensor among the arrays of the arguments
    index: int  # of its gradient among those that the op's tensors get
    cotangents: tuple[np.ndarray | None, ...]
    right_gradients: tuple[np.ndarray | None, ...]  # the right gradients of all its tensors
    reference_pullback: ReferencePullback

    @property
    def tensors(self) -> list[np.ndarray]:
        return list(arrays(self.application.args, self.application.kwargs))

    @property
    def tensor(self) -> np.ndarray:
        return self.tensors[self.position]

    @property
    def incoming(self) -> np.ndarray | None:
        """The cotangent of an op with one output, else None."""
        return self.cotangents[0] if len(self.cotangents) == 1 else None

    @property
    def output(self) -> np.ndarray | None:
        """The result of an op with one output, else None."""
        application = self.application
        data = getattr(application.recorded, "data", application.recorded)
        if application.recorded is None:
            try:
                data = application.op(*application.args, **application.kwargs)
            except GradcheckError:
                return None
        return data if isinstance(data, np.ndarray) else None

    def gradient_with_tensors(self, changed: Mapping[int, np.ndarray]) -> np.ndarray | None:
        return self.right_gradient(self.application_with(changed))

    def application_with(self, changed: Mapping[int, np.ndarray]) -> Application:
        arrays = (np.asarray(changed.get(i, array)) for i, array in enumerate(self.tensors))  # NumPy returns scalars
        return with_arrays(self.application, list(arrays))

    def right_gradient(
        self, application: Application, cotangents: Sequence[np.ndarray | None] | None = None
    ) -> np.ndarray | None:
        """Return the tensor's gradient for another application or cotangents."""
        found = self.reference_pullback(application, self.cotangents if cotangents is None else cotangents)
        return found[self.index] if self.index < len(found) else None


@dataclass(frozen=True, slots=True)
class Use:
    """A use of a tensor by an op, and its share; a root's seed has no op."""

    op: str
    owner: str  # the graph entry in which the use stands
    argument: int  # which tensor of the op it is, from 0
    share: np.ndarray
    #: The share if the op's result had passed on a part of its gradient: when, and the array.
    partial: tuple[tuple[Fact, np.ndarray], ...] = ()

    @property
    def origin(self) -> Fact:
        return contribution_origin(self.op, self.owner)


def contribution_origin(op: str, entry: str) -> Fact:
    """Return an op at its entry, or the incoming gradient for no op."""
    return fact("op_at", op=op, entry=entry) if op else fact("incoming_at_root")


@dataclass(frozen=True, slots=True)
class Evidence:
    """The gradient `got`, the right one `want`, and what else is known."""

    got: np.ndarray | None
    want: np.ndarray
    #: The largest magnitude before contributions cancel; roundings are relative to it.
    scale: float = 0.0
    #: The rounding of `got`, relative to the tensor's largest element, if a person wrote it.
    rounding_rtol: float = 0.0
    #: True for a person's claim, which saves and overwrites nothing.
    is_stated: bool = False
    rule: Rule | None = None
    uses: tuple[Use, ...] = ()
    #: The tensor's gradient before this pass, or before it was to be cleared.
    earlier: np.ndarray | None = None
    #: The right gradients of other tensors.
    others: Mapping[str, np.ndarray] = field(default_factory=dict)
    #: The incoming gradients of code as a whole, which are those of its results.
    seeds: Mapping[str, np.ndarray] = field(default_factory=dict)
    #: The same engine's gradients of other tensors, right or wrong.
    engine_gradients: Mapping[str, np.ndarray] = field(default_factory=dict)
    #: True if `got` and `want` are values of the forward pass, and so are `others`.
    is_value: bool = False
    #: The value with the operands of the tensor's op exchanged.
    exchanged: np.ndarray | None = None
    #: True for a root, whose gradient is given.
    is_root: bool = False
    #: The gradient with ones in place of gradients above, by what is replaced.
    reseeded: Mapping[Fact, np.ndarray] = field(default_factory=dict)
    #: The gradient with a path of the graph cut, by the path.
    without_path: Mapping[Fact, np.ndarray] = field(default_factory=dict)

    @property
    def got_or_zeros(self) -> np.ndarray:
        return np.zeros_like(self.want) if self.got is None else self.got

    def agree(self, one: np.ndarray, other: np.ndarray) -> bool:
        """Return whether two arrays differ by the rounding of right computations.

        The rounding is that of the coarser dtype of `got` and `want`, and of terms that cancel.
        """
        scale = max(largest_finite(other), largest_finite(self.want), self.scale)
        known = rounding_tolerance(self.got_or_zeros.dtype, self.want.dtype, scale=scale)
        return nearly_equal(one, other, Tolerance(known.rtol, max(known.atol, self.rounding_rtol * scale)))


class Guess(NamedTuple):
    """The result of a mistake; one key at several points is one mistake."""

    key: Hashable
    fact: Fact
    predicted: Any
    is_proof: bool = True  # False if fitting numbers are merely of the right size


Predict = Callable[[Evidence], Iterator[Guess]]
RulePredict = Callable[[Evidence, Rule], Iterator[Guess]]


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


def rule_hypothesis(kind: str, *, covers: tuple[str, ...] = ()) -> Callable[[RulePredict], Predict]:
    """Enter a function of evidence and its rule, for evidence that has one."""

    def enter(predict: RulePredict) -> Predict:
        return hypothesis(kind, covers=covers)(lambda e: iter(()) if e.rule is None else predict(e, e.rule))

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
