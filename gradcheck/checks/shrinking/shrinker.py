"""The loop: every way to make a case smaller, over and over, until none leads further or the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradcheck.autograd.modes import quiet
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.result import CaseResult
from gradcheck.checks.shrinking.case_edits import count_numbers, count_operations
from gradcheck.checks.shrinking.failure_signature import FailureSignature, causes_of, signature_of
from gradcheck.checks.shrinking.simplifications import (
    drop_aliases,
    drop_unused,
    earlier_roots,
    entries_as_numbers,
    fewer_steps,
    integers,
    plain_dtype,
    simpler_numbers,
    simpler_parts,
    small_parts,
    smaller_sizes,
)
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.case_writer import write

#: Yields smaller cases, each by one step, those first with which most is won.
Simplification = Callable[[Case], Iterator[Case]]
#: `check(case, thorough)` runs a case and never raises; unless `thorough`, without explaining failures.
Check = Callable[[Case, bool], CaseResult]

#: The most that can be won first.
SIMPLIFICATIONS: tuple[Simplification, ...] = (
    drop_unused,
    fewer_steps,
    earlier_roots,
    entries_as_numbers,
    small_parts,
    simpler_parts,
    drop_aliases,
    smaller_sizes,
    plain_dtype,
    simpler_numbers,
)
#: Those that leave what a claim is about as it is.
GENERAL_CLAIM_SIMPLIFICATIONS: tuple[Simplification, ...] = (drop_unused, smaller_sizes, simpler_numbers)
#: Known numbers belong to the inputs that they were computed for; what nothing refutes fails at any.
KNOWN_NUMBER_SIMPLIFICATIONS: tuple[Simplification, ...] = (drop_unused,)

#: So many ops, or so many numbers, cost as much again as a candidate does at least.
_OPS, _NUMBERS = 5, 1_000


class CandidateBudget:
    """How many candidates may be tried, counted in those of the smallest size; larger ones count for more."""

    def __init__(self, candidates: float) -> None:
        self.candidates, self.spent = candidates, 0.0

    def spend(self, case: Case) -> bool:
        """Count a candidate; False where nothing was left for it."""
        if self.spent >= self.candidates:
            return False
        self.spent += 1 + count_operations(case) / _OPS + count_numbers(case) / _NUMBERS
        return True


class Shrinker:
    """Makes one case smaller, as long as it fails with the same signature."""

    def __init__(self, signature: FailureSignature, check: Check, budget: CandidateBudget) -> None:
        self.signature, self.check, self.budget = signature, check, budget
        self.causes: frozenset[str] | None = None  # the mistakes that may explain the failure, where that is asked
        self.complete = True  # whether nothing was left to try when the budget was spent
        self._tried: set[str] = set()

    def smallest(self, case: Case) -> Case:
        """Where all moves end, or the budget."""
        moves = self._simplifications()
        progress = True
        while progress and self.complete:
            progress = False
            for move in moves:
                smaller = self._apply_repeatedly(case, move)
                progress = progress or smaller is not case
                case = smaller
        return self._apply_repeatedly(case, integers)

    def _simplifications(self) -> tuple[Simplification, ...]:
        if not self.signature.is_claim:
            return SIMPLIFICATIONS
        if self.signature.kind in (ClaimKind.FORMULA, ClaimKind.CHECK):
            return GENERAL_CLAIM_SIMPLIFICATIONS
        return KNOWN_NUMBER_SIMPLIFICATIONS

    def _apply_repeatedly(self, case: Case, move: Simplification) -> Case:
        """As far as one move leads."""
        while True:
            with quiet():
                smaller = next((candidate for candidate in self._candidates(case, move) if self.fails(candidate)), None)
            if smaller is None:
                return case
            case = smaller

    def _candidates(self, case: Case, move: Simplification) -> Iterator[Case]:
        """What a move makes of a case, while the budget lasts. Only what is written out can be cut and changed."""
        values = (*case.inputs.values(), *case.constants.values())
        if move is not drop_unused and any(value.array is None for value in values):
            return
        for candidate in move(case):
            if not self.budget.spend(candidate):
                self.complete = False
                return
            yield candidate

    def fails(self, case: Case) -> bool:
        """Whether a case, not tried before, fails in the same way."""
        if not case.graph:
            return False
        try:
            text = write(case)
        except (GradcheckError, ValueError, TypeError):  # a number that the dtype does not hold, say
            return False
        if text in self._tried:
            return False
        self._tried.add(text)
        found = signature_of(self.check(case, False))
        if found is None or found != self.signature or (found.is_of_trial and not self.signature.is_of_trial):
            return False
        return self.causes is None or self._is_explained_alike(causes_of(self.check(case, True)))

    def _is_explained_alike(self, causes: frozenset[str]) -> bool:
        """By one of the same mistakes, or by none; a constant factor has other names at other sizes."""
        if not self.causes or not causes:
            return not self.causes and not causes
        return "factor" in self.causes or not self.causes.isdisjoint(causes)
