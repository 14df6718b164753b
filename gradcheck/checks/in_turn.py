"""Cases one after another, in this process: what a run does, and each of its workers with its share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from functools import partial

from gradcheck.autograd import dtypes
from gradcheck.checks.ahead import begun_together
from gradcheck.checks.answers import Answers
from gradcheck.checks.memory import memory_limit
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.pipeline import Begun
from gradcheck.checks.recalled import Known, Recalled
from gradcheck.checks.result import CaseResult
from gradcheck.checks.runner import Further, check_one, finish_one, unreadable
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.language.case import Case, Work


def in_turn(
    work: Sequence[Work], options: Options, engines: Engines, answers: Answers | None = None
) -> Iterator[CaseResult]:
    """The result of each, by the reference's `answers` as far as there are any."""
    check = checker(options, engines)
    with ready(options, engines):
        needs_none = None if answers is None else answers.needs_none
        for item, begun in begun_of(work, options, engines, needs_none):
            if begun is not None and begun.result is not None:
                yield begun.result
            elif answers is None or not isinstance(item, Case):
                yield check(item, begun)
            else:
                found, learned = recalling(engines, answers.about(item), partial(check, item, begun))
                answers.learn(item, learned)
                yield found


def begun_of(
    work: Sequence[Work], options: Options, engines: Engines, needs_none: Callable[[Case], bool] | None
) -> Iterator[tuple[Work, Begun | None]]:
    """Each item, with what is begun of it. Of a reference that is recalled, only cases are begun that need none of its
    answers (`needs_none`), with the engine itself; unless they pass so, they are checked by what is known."""
    finish, reference = None if _further(options) else finish_one, engines.reference
    if not isinstance(reference, Recalled):
        yield from begun_together(work, options, engines, finish)
    elif needs_none is None or not any(isinstance(item, Case) and needs_none(item) for item in work):
        yield from ((item, None) for item in work)
    else:
        itself = replace(engines, reference=reference.made)
        for item, begun in begun_together(work, options, itself, finish, needs_none):
            is_known = begun is not None and begun.result is not None and begun.result.status == "passed"
            yield item, begun if is_known else None


def recalling(
    engines: Engines, known: Known | None, check: Callable[[], CaseResult]
) -> tuple[CaseResult, bytes | None]:
    """What the check of a case finds, and what the reference was asked that was not known, where that matters."""
    reference = engines.reference
    if known is None or not isinstance(reference, Recalled):
        return check(), None
    return reference.while_checking(known, check)


def checker(options: Options, engines: Engines) -> Callable[..., CaseResult]:
    """What makes a result of a case, and of what is begun of it, if anything is."""
    further = _further(options)
    limited = bool(options.overridden("memory"))

    def check(item: Work, begun: Begun | None = None) -> CaseResult:
        if not isinstance(item, Case):
            return unreadable(item)
        chosen = options.of(item)
        with memory_limit(chosen.memory) if limited else nullcontext():
            return check_one(item, chosen, engines.of(chosen), further, begun)

    return check


def _further(options: Options) -> dict[str, Further]:
    """What is told of cases beyond their verdicts; imported only where it was asked for."""
    chosen: dict[str, Further] = {}
    if options.derived:
        from gradcheck.checks.independence import note_derived

        chosen["derived"] = note_derived
    if options.power:
        from gradcheck.checks.mutation.measure import with_power

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
