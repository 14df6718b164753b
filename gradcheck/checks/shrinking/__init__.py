"""The smallest reproduction: a failing case made smaller, step by step, as long as it fails in the same way.

Delta debugging (Zeller and Hildebrandt 2002) on what a case is made of: operations, tensors, sizes, numbers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.effort import Effort
from gradcheck.checks.options import Settings
from gradcheck.checks.result import CaseResult, Reproduction
from gradcheck.checks.shrinking import moves, numbers
from gradcheck.checks.shrinking.pin import bare, pin
from gradcheck.checks.shrinking.snippet import snippet
from gradcheck.checks.shrinking.ways import Way, lead_of, way_of
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Call
from gradcheck.language.expr.traverse import walk
from gradcheck.language.loader import load_text
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.writer import write

#: `check(case, thorough)` runs a case and never raises; unless `thorough`, without explaining failures.
Check = Callable[[Case, bool], CaseResult]

#: A case of more numbers is not written out.
MAX_NUMBERS = 20_000
#: How often a trial may have been drawn again before it was the one that failed.
_ATTEMPTS = 20


def shrink(case: Case, result: CaseResult, check: Check, settings: Settings, seconds: float) -> Reproduction | None:
    """The smallest case found in so many seconds that fails as `result` does; None where none is smaller."""
    way = way_of(result)
    if way is None:
        return None
    shrinker = _Shrinker(way, check, time.perf_counter() + seconds)
    start = next((c for c in _starts(case, result, way, settings) if shrinker.fails(c)), None)
    if start is None:
        return None
    found = shrinker.smallest(start)
    text = write(found)
    read, errors = load_text(text, "smallest.yaml")
    if errors or not _is_smaller(found, case, settings):
        return None
    again = check(read[0], True)
    if way_of(again) != way:
        return None
    return Reproduction(text, operations(found), _in_python(read[0], again, settings), complete=shrinker.complete)


def _in_python(case: Case, result: CaseResult, settings: Settings) -> str:
    """For an engine that is somebody's Tensor class, the case in a few lines of Python."""
    lead = lead_of(result)
    engines = [
        e for e in settings.engines if isinstance(e, TensorClassEngine) and (lead is None or lead.engine == e.name)
    ]
    if not engines or way_of(result) is None:
        return ""
    told = [c for c in result.comparisons if c.what == "gradient" and c.status == "failed" and c.want_array is not None]
    return snippet(case, engines[0], lead if lead is not None and lead.what == "gradient" else next(iter(told), None))


def shrink_all(
    pairs: Sequence[tuple[Case, CaseResult]], check: Check, settings: Settings, effort: Effort
) -> dict[str, Reproduction]:
    """The smallest reproductions of the first cases that fail, by their ids."""
    deadline = time.perf_counter() + effort.together
    found: dict[str, Reproduction] = {}
    tried = 0
    for case, result in pairs:
        way = way_of(result)
        if way is None or (way.is_claim and not effort.claims):
            continue
        left = deadline - time.perf_counter()
        if tried == effort.cases or left <= 0:
            break
        tried += 1
        smallest = shrink(case, result, check, settings, min(effort.seconds, left))
        if smallest is not None and (smallest.complete or effort.claims):
            found[case.id] = smallest
    return found


def operations(case: Case) -> int:
    """How many ops the graph's expressions apply."""
    return sum(isinstance(node, Call) for claim in case.graph.values() for node in walk(claim.expr))


def _starts(case: Case, result: CaseResult, way: Way, settings: Settings) -> Iterator[Case]:
    """The same failure with every number written out; where it lies in no number, the case with nothing else said."""
    applied = settings.apply(case)
    if way.what != "wrong_formula":
        for problem in _problems(applied, result, settings):
            yield moves.without_unused(bare(pin(problem), way))
    yield moves.without_unused(bare(applied, way))


def _problems(case: Case, result: CaseResult, settings: Settings) -> Iterable[Problem]:
    """The numbers at which it failed: the case's own or a trial's."""
    lead = lead_of(result)
    trial = None if lead is None or lead.trial is None else lead.trial
    for attempt in range(_ATTEMPTS if trial else 1):
        try:
            with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), np.errstate(all="ignore"):
                number = None if trial is None else int(trial["trial"]) - 1
                problem = draw(case, settings.seed, number, attempt=attempt)
        except GradcheckError:  # sizes that do not go together
            continue
        numbers = sum(array.size for array in (*problem.inputs.values(), *problem.constants.values()))
        same = trial is None or dict(trial.get("sizes") or {}) == dict(problem.sizes)
        if same and numbers <= MAX_NUMBERS:
            yield problem


def _is_smaller(found: Case, case: Case, settings: Settings) -> bool:
    """Whether it says less than the case did: fewer operations, or fewer numbers."""
    if operations(found) < operations(case):
        return True
    try:
        problem = draw(settings.apply(case), settings.seed)
    except GradcheckError:
        return True
    before = sum(array.size for array in (*problem.inputs.values(), *problem.constants.values()))
    after = [np.size(value.array) for value in (*found.inputs.values(), *found.constants.values())]
    return sum(after) < before


class _Shrinker:
    """Makes one case smaller."""

    def __init__(self, way: Way, check: Check, deadline: float) -> None:
        self.way, self.check, self.deadline = way, check, deadline
        self.complete = True
        self._tried: set[str] = set()

    def smallest(self, case: Case) -> Case:
        """The end of all moves, or of the time."""
        chosen = self._moves()
        progress = True
        while progress and self.complete:
            progress = False
            for move in chosen:
                smaller = self._moved(case, move)
                progress = progress or smaller is not case
                case = smaller
        return self._moved(case, numbers.integers)

    def _moves(self) -> tuple[moves.Move, ...]:
        if not self.way.is_claim:
            return moves.MOVES
        return moves.OF_CLAIMS if self.way.what in ("formula", "check") else moves.OF_KNOWN_NUMBERS

    def _moved(self, case: Case, move: moves.Move) -> Case:
        """As far as one move leads."""
        while True:
            smaller = next((c for c in self._candidates(case, move) if self.fails(c)), None)
            if smaller is None:
                return case
            case = smaller

    def _candidates(self, case: Case, move: moves.Move) -> Iterator[Case]:
        if (
            any(value.array is None for value in (*case.inputs.values(), *case.constants.values()))
            and move is not moves.unused
        ):
            return  # only what is written out can be cut and changed
        with np.errstate(all="ignore"):
            for candidate in move(case):
                if time.perf_counter() > self.deadline:
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
        return way_of(self.check(case, False)) == self.way


def quick(settings: Settings) -> Settings:
    """The same checks, of which only the verdict counts."""
    timeout = 2.0 if settings.timeout is None else min(2.0, settings.timeout)
    return replace(
        settings, evidence=False, oracle="none" if settings.oracle == "auto" else settings.oracle, timeout=timeout
    )
