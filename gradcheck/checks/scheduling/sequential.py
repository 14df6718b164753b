"""Cases one after another, in this process: what a run does, and each of its workers with its share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial

from gradcheck.autograd import dtypes
from gradcheck.checks.reuse.reference_answers import Answers
from gradcheck.checks.isolation.memory_limit import memory_limit
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.reuse.cached_reference import Known, Recalled
from gradcheck.checks.result import CaseResult
from gradcheck.checks.scheduling.isolated_case import Further, check_one, unreadable
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.language.case import Case, Work


def in_turn(
    work: Sequence[Work], options: Options, engines: Engines, answers: Answers | None = None
) -> Iterator[CaseResult]:
    """The result of each, by the reference's `answers` as far as there are any."""
    check = checker(options, engines)
    with ready(options, engines):
        for item in work:
            if answers is None or not isinstance(item, Case):
                yield check(item)
            else:
                found, learned = recalling(engines, answers.about(item), partial(check, item))
                answers.learn(item, learned)
                yield found


def recalling(
    engines: Engines, known: Known | None, check: Callable[[], CaseResult]
) -> tuple[CaseResult, bytes | None]:
    """What the check of a case finds, and what the reference was asked that was not known, where that matters."""
    reference = engines.reference
    if known is None or not isinstance(reference, Recalled):
        return check(), None
    return reference.while_checking(known, check)


def checker(options: Options, engines: Engines) -> Callable[[Work], CaseResult]:
    """What makes a result of a case."""
    further = _further(options)
    limited = bool(options.overridden("memory"))

    def check(item: Work) -> CaseResult:
        if not isinstance(item, Case):
            return unreadable(item)
        chosen = options.of(item)
        with memory_limit(chosen.memory) if limited else nullcontext():
            return check_one(item, chosen, engines.of(chosen), further)

    return check


def _further(options: Options) -> dict[str, Further]:
    """What is told of cases beyond their verdicts; imported only where it was asked for."""
    chosen: dict[str, Further] = {}
    if options.derived:
        from gradcheck.checks.independence import note_derived

        chosen["derived"] = note_derived
    if options.power:
        from gradcheck.checks.mutation.score_measurement import with_power

        chosen["power"] = with_power
    return chosen


@contextmanager
def ready(options: Options, engines: Engines) -> Iterator[None]:
    """Every engine's settings as most cases want them, so that they are changed twice in a run and not twice a case;
    and the limit to the memory that cases may take."""
    dtype = dtypes.BY_NAME[options.dtype or "float64"]
    with ExitStack() as stack:
        for engine in set(engines.every):
            if isinstance(engine, DefineByRun):
                stack.enter_context(engine.ready(dtype) if isinstance(engine, Recalled) else engine.session(dtype))
        stack.enter_context(memory_limit(options.most_memory))
        yield
