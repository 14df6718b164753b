"""Check cases one after another in this process, or in a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial

from gradcheck.autograd import dtypes
from gradcheck.checks.isolation.memory_limit import memory_limit
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.result import CaseResult
from gradcheck.checks.reuse.cached_reference import CachedAnswers, CachedReference
from gradcheck.checks.reuse.reference_answers import ReferenceAnswers
from gradcheck.checks.scheduling.isolated_case import ResultExtra, check_isolated, unreadable_result
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.language.case import Case, CaseOrErrors


def run_sequentially(
    work: Sequence[CaseOrErrors], options: Options, engines: Engines, answers: ReferenceAnswers | None = None
) -> Iterator[CaseResult]:
    """Yield the result of each case, by cached answers if there are any."""
    check = make_checker(options, engines)
    with engine_sessions(options, engines):
        for item in work:
            if answers is None or not isinstance(item, Case):
                yield check(item)
            else:
                found, new_answers = check_with_answers(engines, answers.lookup(item), partial(check, item))
                answers.add(item, new_answers)
                yield found


def check_with_answers(
    engines: Engines, known: CachedAnswers | None, check: Callable[[], CaseResult]
) -> tuple[CaseResult, bytes | None]:
    """Check a case; return new answers of the reference, or None."""
    reference = engines.reference
    if known is None or not isinstance(reference, CachedReference):
        return check(), None
    return reference.check_with(known, check)


def make_checker(options: Options, engines: Engines) -> Callable[[CaseOrErrors], CaseResult]:
    """Return a function from a case to its result."""
    further = _result_extras(options)
    limited = bool(options.override_values("memory"))

    def check(item: CaseOrErrors) -> CaseResult:
        if not isinstance(item, Case):
            return unreadable_result(item)
        chosen = options.of(item)
        with memory_limit(chosen.memory) if limited else nullcontext():
            return check_isolated(item, chosen, engines.of(chosen), further)

    return check


def _result_extras(options: Options) -> dict[str, ResultExtra]:
    """Return the extras of results; imported only if requested."""
    chosen: dict[str, ResultExtra] = {}
    if options.derived:
        from gradcheck.checks.independence import note_derived

        chosen["derived"] = note_derived
    if options.power:
        from gradcheck.checks.mutation.score_measurement import with_mutation_score

        chosen["power"] = with_mutation_score
    return chosen


@contextmanager
def engine_sessions(options: Options, engines: Engines) -> Iterator[None]:
    """Enter sessions and the memory limit once a run, not twice a case."""
    dtype = dtypes.BY_NAME[options.dtype or "float64"]
    with ExitStack() as stack:
        for engine in set(engines.all_with_overrides):
            if isinstance(engine, DefineByRun):
                stack.enter_context(
                    engine.deferred_session(dtype) if isinstance(engine, CachedReference) else engine.session(dtype)
                )
        stack.enter_context(memory_limit(options.max_memory))
        yield
