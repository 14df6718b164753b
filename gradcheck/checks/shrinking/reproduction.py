"""Find smallest reproductions of failing cases, and write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.isolation.failure_capture import try_part
from gradcheck.checks.isolation.time_limit import case_time_limit, deadline
from gradcheck.checks.options import Engines, Options, ShrinkEffort
from gradcheck.checks.result import CaseResult, Comparison, Failure, Reproduction
from gradcheck.checks.shrinking.case_edits import count_numbers, count_operations, pin
from gradcheck.checks.shrinking.failure_signature import (
    FailureSignature,
    causes_of,
    main_failure_of,
    signature_of,
    without_other_claims,
)
from gradcheck.checks.shrinking.simplifications import (
    GENERAL_CLAIM_SIMPLIFICATIONS,
    KNOWN_NUMBER_SIMPLIFICATIONS,
    SIMPLIFICATIONS,
    Simplification,
    drop_unused,
    integers,
    without_unused,
)
from gradcheck.engines.implementation.code_loading import folder_of, with_absolute_paths
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.engines.tensor_class.problem_source import problem_source
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.case_writer import write
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.loader import load_text
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw

#: `check(case, thorough)` runs a case and never raises; unless `thorough`, without explaining failures.
Check = Callable[[Case, bool], CaseResult]

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


#: Larger cases are not written.
MAX_NUMBERS = 20_000


def explaining_options(options: Options) -> Options:
    """Return the options with explanations, without suggestions."""
    return replace(options, corrected=False, power=False, derived=False)


def verdict_options(options: Options) -> Options:
    """Return the options for verdicts only."""
    oracle = "none" if options.oracle == "auto" else options.oracle
    return replace(options, explained=False, oracle=oracle, power=False, derived=False)


class ReproductionSearch:
    """Searches the smallest cases that fail as those of a run do."""

    def __init__(self, options: Options, engines: Engines, check: Check) -> None:
        self.options, self.engines, self.check = options, engines, check

    def find_all(
        self, pairs: Sequence[tuple[Case, CaseResult]], effort: ShrinkEffort
    ) -> tuple[dict[str, Reproduction], dict[str, list[Failure]]]:
        """Return reproductions, by default one a signature, and errors."""
        left: float = effort.total_candidates
        found: dict[str, Reproduction] = {}
        lost: dict[str, list[Failure]] = {}
        tried = 0
        known: set[FailureSignature] = set()
        for case, result in pairs:
            signature = signature_of(result)
            if signature is None or (not effort.shrinks_claims and (signature.is_claim or signature in known)):
                continue
            known.add(signature)
            if tried == effort.cases or left <= 0:
                break
            tried += 1
            budget = CandidateBudget(min(effort.candidates, left))
            smallest = self._find_in_time(case, result, budget, lost.setdefault(case.id, []))
            left -= budget.spent
            if smallest is not None and (smallest.complete or effort.shrinks_claims):
                found[case.id] = smallest
        return found, lost

    def _find_in_time(
        self, case: Case, result: CaseResult, budget: CandidateBudget, lost: list[Failure]
    ) -> Reproduction | None:
        """Return what `find` finds, within a case's time limit."""
        found: list[Reproduction | None] = []

        def look() -> None:
            with deadline(case_time_limit(self.options.timeout, self.engines.tested)):
                found.append(self.find(case, result, budget))

        try_part("smallest", look, lost)
        return found[0] if found else None

    def find(self, case: Case, result: CaseResult, budget: CandidateBudget) -> Reproduction | None:
        """Return the smallest case that fails as `result`; None if none does."""
        signature = signature_of(result)
        if signature is None:
            return None
        shrinker = Shrinker(signature, self.check, budget)
        start = next((c for c in self._starts(case, result, signature) if shrinker.fails(c)), None)
        if start is None:
            return None
        if signature.kind is ClaimKind.FORMULA:  # another formula may fail for other reasons
            known = self.check(start, True)
            shrinker.signature, shrinker.causes = signature_of(known) or signature, causes_of(known)
        found = shrinker.smallest(start)
        if not self._is_smaller(found, case):
            return None
        made = self._reproduction(found, signature, shrinker.complete)
        if made is None:  # rounded numbers may be at a kink, where only a full check finds the convention
            careful = Shrinker(signature, lambda candidate, _: self.check(candidate, True), budget)
            found = careful.smallest(start)
            made = self._reproduction(found, signature, careful.complete) if self._is_smaller(found, case) else None
        return made

    def _reproduction(self, found: Case, signature: FailureSignature, complete: bool) -> Reproduction | None:
        """Return it as loaded from its text; None if it fails differently."""
        text = write(found)
        read, errors = load_text(text, str(folder_of(found.place.file) / "smallest.yaml"))
        if errors:
            return None
        again = self.check(read[0], True)
        if signature_of(again) != signature:
            return None
        if found.implementations:  # the file will be in another folder
            from gradcheck.checks.implementations.python_reproduction import python_reproduction  # which imports torch

            moved = replace(found, implementations=tuple(map(with_absolute_paths, found.implementations)))
            written = python_reproduction(moved, again, self.options, self.engines)
            return Reproduction(write(moved), count_operations(found), written, complete=complete)
        return Reproduction(text, count_operations(found), self._in_python(read[0], again), complete=complete)

    def _starts(self, case: Case, result: CaseResult, signature: FailureSignature) -> Iterator[Case]:
        """Yield the failure with literals only, then the case without the rest."""
        applied = self.options.apply(case)
        if signature.kind is not ClaimKind.WRONG_FORMULA:
            problem = self._problem(applied, result)
            if problem is not None and _numbers(problem) <= MAX_NUMBERS:
                yield without_unused(without_other_claims(pin(problem), signature))
        yield without_unused(without_other_claims(applied, signature))

    def _problem(self, case: Case, result: CaseResult) -> Problem | None:
        lead = main_failure_of(result)
        try:
            if lead is not None and lead.trial is not None and lead.trial.problem is not None:
                return replace(lead.trial.problem, case=case)
            return draw(case, self.options.seed)
        except GradcheckError:
            return None

    def _is_smaller(self, found: Case, case: Case) -> bool:
        if count_operations(found) < count_operations(case):
            return True
        try:
            before = _numbers(draw(self.options.apply(case), self.options.seed))
        except GradcheckError:
            return True
        after = [np.size(value.array) for value in (*found.inputs.values(), *found.constants.values())]
        return sum(after) < before

    def _in_python(self, case: Case, result: CaseResult) -> str:
        """Return the case as Python, for a user's Tensor class."""
        lead = main_failure_of(result)
        named = [e for e in self.engines.tested if lead is None or lead.engine == e.name]
        engines = [e for e in named if isinstance(e, TensorClassEngine)]
        if not engines:
            return ""
        if lead is None or lead.what is not ClaimKind.GRADIENT:
            lead = gradient_to_print(result)
        return snippet(case, engines[0], lead)


def gradient_to_print(result: CaseResult) -> Comparison | None:
    """Return a wrong gradient, by its numbers rather than its shape alone."""
    gradients = (c for c in result.comparisons if c.what is ClaimKind.GRADIENT and c.want_array is not None)
    failed = (c for c in gradients if c.status == "failed")
    return min(failed, key=_differs_in_shape_alone, default=None)


def _differs_in_shape_alone(c: Comparison) -> bool:
    got, want = c.got_array, c.want_array
    return got is not None and want is not None and np.array_equal(got.ravel(), want.ravel())


def _numbers(problem: Problem) -> int:
    return sum(array.size for array in (*problem.inputs.values(), *problem.constants.values()))


def snippet(case: Case, engine: TensorClassEngine, lead: Comparison | None) -> str:
    """Return the case in the class's API, with the right gradient, or ""."""
    wanted = None if lead is None or lead.want_array is None else (lead.tensor, lead.want_array)
    try:
        with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), quiet():
            return problem_source(engine, draw(case), wanted)
    except (GradcheckError, KeyError):
        return ""
