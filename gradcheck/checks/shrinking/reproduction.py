"""The smallest reproductions of failing cases: where the search starts, where it may end, and what is made of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.implementations.python_reproduction import python_reproduction
from gradcheck.checks.isolation.failure_capture import try_part
from gradcheck.checks.isolation.time_limit import case_time_limit, deadline
from gradcheck.checks.options import Engines, Options, ShrinkEffort
from gradcheck.checks.result import CaseResult, Comparison, Failure, Reproduction
from gradcheck.checks.shrinking.case_edits import count_operations, pin
from gradcheck.checks.shrinking.failure_signature import (
    FailureSignature,
    causes_of,
    main_failure_of,
    signature_of,
    without_other_claims,
)
from gradcheck.checks.shrinking.shrinker import CandidateBudget, Check, Shrinker
from gradcheck.checks.shrinking.simplifications import without_unused
from gradcheck.engines.implementation.code_loading import folder_of, with_absolute_paths
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.engines.tensor_class.problem_source import problem_source
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.case_writer import write
from gradcheck.language.loader import load_text
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw

#: A case of more numbers is not written out.
MAX_NUMBERS = 20_000


def explaining_options(options: Options) -> Options:
    """The same checks and what they are explained by, without anything that is suggested."""
    return replace(options, corrected=False, power=False, derived=False)


def verdict_options(options: Options) -> Options:
    """The same checks, of which only the verdict counts."""
    oracle = "none" if options.oracle == "auto" else options.oracle
    return replace(options, explained=False, oracle=oracle, power=False, derived=False)


class ReproductionSearch:
    """Looks for the smallest cases that fail as those of one run do."""

    def __init__(self, options: Options, engines: Engines, check: Check) -> None:
        self.options, self.engines, self.check = options, engines, check

    def find_all(
        self, pairs: Sequence[tuple[Case, CaseResult]], effort: ShrinkEffort
    ) -> tuple[dict[str, Reproduction], dict[str, list[Failure]]]:
        """Those of the first cases that fail, by their ids; unasked, one of those that fail in the same way, and only
        what is complete. And how the search itself failed, where it did."""
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
        """What `find` finds, in the time that one case may take."""
        found: list[Reproduction | None] = []

        def look() -> None:
            with deadline(case_time_limit(self.options.timeout, self.engines.tested)):
                found.append(self.find(case, result, budget))

        try_part("smallest", look, lost)
        return found[0] if found else None

    def find(self, case: Case, result: CaseResult, budget: CandidateBudget) -> Reproduction | None:
        """The smallest case found within the budget that fails as `result` does; None where none is smaller."""
        signature = signature_of(result)
        if signature is None:
            return None
        shrinker = Shrinker(signature, self.check, budget)
        start = next((c for c in self._starts(case, result, signature) if shrinker.fails(c)), None)
        if start is None:
            return None
        if signature.kind is ClaimKind.FORMULA:  # of other formulas, numbers say nothing of why
            known = self.check(start, True)
            shrinker.signature, shrinker.causes = signature_of(known) or signature, causes_of(known)
        found = shrinker.smallest(start)
        if not self._is_smaller(found, case):
            return None
        made = self._reproduction(found, signature, shrinker.complete)
        if made is None:  # a quick check does not see what is a convention, at a kink that numbers were rounded to
            careful = Shrinker(signature, lambda candidate, _: self.check(candidate, True), budget)
            found = careful.smallest(start)
            made = self._reproduction(found, signature, careful.complete) if self._is_smaller(found, case) else None
        return made

    def _reproduction(self, found: Case, signature: FailureSignature, complete: bool) -> Reproduction | None:
        """As it is read back from its text; None where that does not fail in the same way."""
        text = write(found)
        read, errors = load_text(text, str(folder_of(found.place.file) / "smallest.yaml"))
        if errors:
            return None
        again = self.check(read[0], True)
        if signature_of(again) != signature:
            return None
        if found.implementations:  # its file will stand elsewhere
            moved = replace(found, implementations=tuple(map(with_absolute_paths, found.implementations)))
            written = python_reproduction(moved, again, self.options, self.engines)
            return Reproduction(write(moved), count_operations(found), written, complete=complete)
        return Reproduction(text, count_operations(found), self._in_python(read[0], again), complete=complete)

    def _starts(self, case: Case, result: CaseResult, signature: FailureSignature) -> Iterator[Case]:
        """The failure with every number written out; else, as where it lies in no number, the case without the rest."""
        applied = self.options.apply(case)
        if signature.kind is not ClaimKind.WRONG_FORMULA:
            problem = self._problem(applied, result)
            if problem is not None and _numbers(problem) <= MAX_NUMBERS:
                yield without_unused(without_other_claims(pin(problem), signature))
        yield without_unused(without_other_claims(applied, signature))

    def _problem(self, case: Case, result: CaseResult) -> Problem | None:
        """The numbers at which it failed: the case's own or a trial's."""
        lead = main_failure_of(result)
        try:
            if lead is not None and lead.trial is not None and lead.trial.problem is not None:
                return replace(lead.trial.problem, case=case)
            return draw(case, self.options.seed)
        except GradcheckError:
            return None

    def _is_smaller(self, found: Case, case: Case) -> bool:
        """Whether it says less than the case did: fewer operations, or fewer numbers."""
        if count_operations(found) < count_operations(case):
            return True
        try:
            before = _numbers(draw(self.options.apply(case), self.options.seed))
        except GradcheckError:
            return True
        after = [np.size(value.array) for value in (*found.inputs.values(), *found.constants.values())]
        return sum(after) < before

    def _in_python(self, case: Case, result: CaseResult) -> str:
        """For an engine that is somebody's Tensor class, the case in a few lines of Python."""
        lead = main_failure_of(result)
        named = [e for e in self.engines.tested if lead is None or lead.engine == e.name]
        engines = [e for e in named if isinstance(e, TensorClassEngine)]
        if not engines:
            return ""
        if lead is None or lead.what is not ClaimKind.GRADIENT:
            failed = (c for c in result.comparisons if c.what is ClaimKind.GRADIENT and c.status == "failed")
            lead = next((c for c in failed if c.want_array is not None), None)
        return snippet(case, engines[0], lead)


def _numbers(problem: Problem) -> int:
    return sum(array.size for array in (*problem.inputs.values(), *problem.constants.values()))


def snippet(case: Case, engine: TensorClassEngine, lead: Comparison | None) -> str:
    """The case in the class's own words, with the gradient that the lead is about; empty where it takes more than
    constructors, calls and backward passes."""
    wanted = None if lead is None or lead.want_array is None else (lead.tensor, lead.want_array)
    try:
        with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), quiet():
            return problem_source(engine, draw(case), wanted)
    except (GradcheckError, KeyError):
        return ""
