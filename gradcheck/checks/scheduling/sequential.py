"""Check cases one after another, in this process or in a worker.

Each has a result, whatever an engine does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial

from gradcheck.autograd import dtypes
from gradcheck.checks.isolation.failure_capture import Part, capture_warnings, failure_of, try_part
from gradcheck.checks.isolation.fork_call import call_in_fork
from gradcheck.checks.isolation.memory_limit import memory_limit
from gradcheck.checks.isolation.pickling import Packer
from gradcheck.checks.isolation.time_limit import case_time_limit, deadline
from gradcheck.checks.isolation.worker_processes import ProcessEnded, can_fork
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.pipeline import case_result, check_case
from gradcheck.checks.result import CaseResult, CaseStatus, Failure
from gradcheck.checks.reuse.cached_reference import CachedAnswers, CachedReference, ReferenceAnswers
from gradcheck.engines.base import Engine, conventions, take_output
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.library_imports import same_working_directory
from gradcheck.engines.resolve import imported_anew
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.errors import InvalidCase
from gradcheck.facts import Fact, fact
from gradcheck.forks import end_fork
from gradcheck.interrupts import Interrupt, marked_interrupts
from gradcheck.language.case import Case, CaseOrErrors
from gradcheck.language.crash import Crash

#: Adds something to the result of a case.
ResultExtra = Callable[[CaseResult, Case, Options, Engines], CaseResult]
Extras = Mapping[Part, ResultExtra]


def check_isolated(case: Case, options: Options, engines: Engines, further: Extras | None = None) -> CaseResult:
    """Return a result with warnings and extras; the user's interrupt passes."""
    with marked_interrupts(), capture_warnings() as warned, same_working_directory():
        found = _check_within_limits(case, options, engines, further or {})
    return replace(found, warnings=(*found.warnings, *warned)) if warned else found


def _check_within_limits(case: Case, options: Options, engines: Engines, further: Extras) -> CaseResult:
    start = time.perf_counter()
    try:
        with deadline(case_time_limit(options.timeout, engines.tested, bool(case.implementations))):
            found = _with_extras(check_with_fresh_engines(case, options, engines), case, options, engines, further)
            return _with_conventions(_with_output(found, engines), engines)
    except InvalidCase as error:
        found = case_result(case, options, "invalid", errors=(_invalid_failure(error),))
    except Interrupt:
        raise
    except BaseException as error:  # an engine's exit must not end this process
        found = crashed_result(case, options, error)
    finally:
        end_fork()
    return _with_conventions(_with_output(replace(found, seconds=time.perf_counter() - start), engines), engines)


def crashed_result(case: Case, options: Options, error: BaseException) -> CaseResult:
    """Return the result of a case that crashed or exceeded a limit."""
    return case_result(case, options, "crashed", errors=(failure_of(error, case.place),))


def _with_extras(found: CaseResult, case: Case, options: Options, engines: Engines, further: Extras) -> CaseResult:
    """Return the result with extras, as far as they succeed."""
    results, lost = [found], list(found.incomplete)
    for part, add in further.items():

        def look(add: ResultExtra = add) -> None:
            results.append(add(results[-1], case, options, engines))

        if not try_part(part, look, lost):
            break
    return replace(results[-1], incomplete=tuple(lost)) if lost else results[-1]


def _with_output(found: CaseResult, engines: Engines) -> CaseResult:
    printed = {engine.name: text for engine in engines.tested if (text := take_output(engine)).strip()}
    return replace(found, output={**found.output, **printed}) if printed else found


def _with_conventions(found: CaseResult, engines: Engines) -> CaseResult:
    by_engine = (
        (engine.name, (*conventions(engine), *_other_subgradients(found, engine.name))) for engine in engines.tested
    )
    stated = tuple((name, facts) for name, facts in by_engine if facts)
    return replace(found, conventions=stated) if stated else found


def _other_subgradients(found: CaseResult, engine: str) -> Iterator[Fact]:
    """Yield the ops whose subgradient the engine chooses differently."""
    ops = (
        c.operation.application.op.name
        for c in found.comparisons
        if c.engine == engine and c.status == "not_differentiable" and c.operation is not None
    )
    yield from (fact("takes_another_subgradient", op=op) for op in dict.fromkeys(ops))


def _invalid_failure(error: InvalidCase) -> Failure:
    details = error.details if isinstance(error, Crash) else ""
    return Failure(error.kind, fact("said", text=error.message), error.place, error.hint, details)


def unreadable_result(errors: Sequence[InvalidCase]) -> CaseResult:
    """Return the result of a file with errors; "crashed" if gradcheck crashed."""
    place = errors[0].place
    failures = tuple(_invalid_failure(error) for error in errors)
    status: CaseStatus = "crashed" if any(isinstance(error, Crash) for error in errors) else "invalid"
    return CaseResult(id=place.file, file=place.file, name="", status=status, place=place, errors=failures)


def check_with_fresh_engines(case: Case, options: Options, engines: Engines) -> CaseResult:
    """Return the verdict; of a failed case, that of a fork, if it has one.

    The fork is asked if a pass of a Tensor class that is imported by name had raised before the case. Such a pass may
    leave something behind: a graph that is one for the whole process, cleared only at a good end. Later cases then
    fail, each of which is right in a process of its own, as its author would run it."""
    classes = (e for e in engines.tested if isinstance(e, TensorClassEngine))
    marked = [e for e in classes if e.spec and e.api.failed_passes]
    found = check_case(case, options, engines)
    if found.status != "failed" or not marked or not can_fork():
        return found

    def again() -> bytes:
        tested = tuple(map(_anew, engines.tested))
        found = check_case(case, options, replace(engines, tested=tested))
        return Packer([case, engines.reference, *tested]).pack(found)

    try:
        answer = call_in_fork(again)
    except ProcessEnded:
        return found
    fresh: CaseResult = Packer([case, engines.reference, *engines.tested]).unpack(answer)
    for engine in marked if fresh.status == "passed" else ():
        engine.leaves_something = True
    return fresh if fresh.status in ("passed", "failed") else found


def _anew(engine: Engine) -> Engine:
    """Return a Tensor class's engine in which no pass has run."""
    if not isinstance(engine, TensorClassEngine):
        return engine
    fresh = imported_anew(engine)
    fresh.use_like(engine)
    return fresh


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


def _result_extras(options: Options) -> Extras:
    """Return the extras of results; imported only if requested."""
    chosen: dict[Part, ResultExtra] = {}
    if options.derived:
        from gradcheck.checks.derivation import note_derived

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
