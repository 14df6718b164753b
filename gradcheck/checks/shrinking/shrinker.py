"""Apply all simplifications until none helps or the budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from gradcheck.autograd.modes import quiet
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
from gradcheck.language.claim_kind import ClaimKind

#: Yields smaller cases by one step, those that gain most first.
Simplification = Callable[[Case], Iterator[Case]]
#: `check(case, thorough)` runs a case and never raises; unless `thorough`, without explaining failures.
Check = Callable[[Case, bool], CaseResult]

#: Those that gain most first.
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
#: Those that keep the meaning of a general claim.
#: So do those of user code, which computes its specification as it is.
GENERAL_CLAIM_SIMPLIFICATIONS: tuple[Simplification, ...] = (drop_unused, smaller_sizes, simpler_numbers)
#: Stated numbers belong to their inputs; an unrefuted formula fails at any numbers.
KNOWN_NUMBER_SIMPLIFICATIONS: tuple[Simplification, ...] = (drop_unused,)

#: The ops, or numbers, that cost as much as a minimal candidate.
_OPS, _NUMBERS = 5, 1_000


class CandidateBudget:
    """The number of candidates to try; larger ones count for more."""

    def __init__(self, candidates: float) -> None:
        self.candidates, self.spent = candidates, 0.0

    def spend(self, case: Case) -> bool:
        """Count a candidate; return False if none was left."""
        if self.spent >= self.candidates:
            return False
        self.spent += 1 + count_operations(case) / _OPS + count_numbers(case) / _NUMBERS
        return True


class Shrinker:
    """Shrinks one case while it fails with the same signature."""

    def __init__(self, signature: FailureSignature, check: Check, budget: CandidateBudget) -> None:
        self.signature, self.check, self.budget = signature, check, budget
        self.causes: frozenset[str] | None = None  # the diagnosed mistakes that must stay the same, if any
        self.complete = True  # whether the search ended before its budget
        self._tried: set[str] = set()

    def smallest(self, case: Case) -> Case:
        """Return the case that no simplification shrinks further."""
        moves = GENERAL_CLAIM_SIMPLIFICATIONS if case.implementations else self._simplifications()
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
        if self.signature.kind in (ClaimKind.FORMULA, ClaimKind.JACOBIAN, ClaimKind.HESSIAN, ClaimKind.CHECK):
            return GENERAL_CLAIM_SIMPLIFICATIONS
        return KNOWN_NUMBER_SIMPLIFICATIONS

    def _apply_repeatedly(self, case: Case, move: Simplification) -> Case:
        while True:
            with quiet():
                smaller = next((candidate for candidate in self._candidates(case, move) if self.fails(candidate)), None)
            if smaller is None:
                return case
            case = smaller

    def _candidates(self, case: Case, move: Simplification) -> Iterator[Case]:
        """Yield a move's candidates, of literals only, within the budget."""
        values = (*case.inputs.values(), *case.constants.values())
        if move is not drop_unused and any(value.array is None for value in values):
            return
        for candidate in move(case):
            if not self.budget.spend(candidate):
                self.complete = False
                return
            yield candidate

    def fails(self, case: Case) -> bool:
        """Return whether a case, not tried before, fails in the same way."""
        if not case.graph:
            return False
        try:
            text = write(case)
        except (GradcheckError, ValueError, TypeError):  # such as a number out of the dtype's range
            return False
        if text in self._tried:
            return False
        self._tried.add(text)
        found = signature_of(self.check(case, False))
        if found is None or found != self.signature or (found.is_of_trial and not self.signature.is_of_trial):
            return False
        return self.causes is None or self._is_explained_alike(causes_of(self.check(case, True)))

    def _is_explained_alike(self, causes: frozenset[str]) -> bool:
        """Return whether a mistake is shared; factors have several names."""
        if not self.causes or not causes:
            return not self.causes and not causes
        return "factor" in self.causes or not self.causes.isdisjoint(causes)
