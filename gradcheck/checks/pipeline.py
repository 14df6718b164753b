"""One case from beginning to end: what every engine computes, what is claimed about it, and the verdict."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.claims.engines import compare_evaluations, compare_with_file, place_of
from gradcheck.checks.claims.formulas import hear
from gradcheck.checks.claims.operations import WrongNode, check_nodes
from gradcheck.checks.claims.stated import unheard
from gradcheck.checks.claims.trials import verify
from gradcheck.checks.closeness.conditioning import Noise
from gradcheck.checks.closeness.rounding import widen
from gradcheck.checks.options import Settings
from gradcheck.checks.result import CaseResult, CaseStatus, Comparison, Failure
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.engines.core import Core, CoreHost, evaluate_and_record
from gradcheck.engines.recording import Recorder
from gradcheck.language.case import Case
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw


def check_case(case: Case, settings: Settings) -> CaseResult:
    """The verdict on one case. What an engine raises beyond the contract's errors passes through: the caller's to
    report."""
    start = time.perf_counter()
    engines = [e for e in settings.engines if not case.only or e.name in case.only]
    if case.skip is not None:
        return result(case, settings, "skipped", reason=case.skip)
    if not engines:
        return result(case, settings, "skipped", reason=f"only for {', '.join(case.only)}")
    chosen = settings.apply(case)
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[chosen.dtype])), quiet():
        problem = draw(chosen, settings.seed)
        comparisons, failures = _check(problem, engines, settings)
    return _judged(case, settings, comparisons, failures, start)


def _check(
    problem: Problem, engines: Sequence[Engine], settings: Settings
) -> tuple[list[Comparison], tuple[Failure, ...]]:
    reference = settings.reference
    want = reference.evaluate(problem)
    noise = Noise(reference, problem, want)
    recorder = Recorder(CoreHost())
    evaluations = {engine.name: evaluate_and_record(engine, problem, recorder) for engine in engines}
    comparisons: list[Comparison] = []
    for got in evaluations.values():
        comparisons += widen(compare_evaluations(problem, got, want, settings.tolerance), noise)
    for evaluation in (want, *evaluations.values()):
        comparisons += compare_with_file(problem.case, evaluation)
    failures = tuple(_unexpected(problem.case, {reference.name: want, **evaluations}))
    if not want.states and want.error and not failures:
        comparisons += unheard(problem.case, want)
    if not want.states or failures or (want.error and want.error.kind == "unsupported"):
        return _explained(problem, evaluations, comparisons, (), settings, engines, 0), failures
    if not recorder.closed:  # the core is not among the engines
        Core().evaluate(problem, recorder=recorder)
    applications, wrong = recorder.applications(), list[WrongNode]()
    comparisons += check_nodes(problem, applications, engines, reference, settings.tolerance, wrong)
    comparisons += hear(problem, {reference.name: want, **evaluations}, reference.name, noise, settings.tolerance)
    verified = verify(problem, want, comparisons, engines, settings, noise)
    if settings.oracle == "numeric":
        from gradcheck.checks.claims.numeric import check_with_oracle

        verified += check_with_oracle(problem, evaluations, settings.tolerance, noise)
    if settings.order == 2:
        from gradcheck.checks.claims.second_order import check_second_order

        verified += check_second_order(problem, engines, reference, settings.tolerance, noise)
    if not settings.evidence or all(comparison.status == "passed" for comparison in verified):
        return verified, failures
    return _argued(problem, {reference.name: want, **evaluations}, verified, wrong, settings, engines, noise,
                   len(applications)), failures  # fmt: skip


def _argued(
    problem: Problem,
    evaluations: dict[str, Evaluation],
    found: list[Comparison],
    wrong: list[WrongNode],
    settings: Settings,
    engines: Sequence[Engine],
    noise: Noise,
    operations: int,
) -> list[Comparison]:
    """Of what has failed: who stands alone, where it comes from, what may have been meant. `evaluations` are those of
    all engines, the reference's too."""
    from gradcheck.checks.failures.arbitration import appeal

    if settings.oracle != "none":
        found = appeal(problem, found, evaluations, noise, wrong)
    under_test = {engine.name: evaluations[engine.name] for engine in engines}
    told = _explained(problem, under_test, found, wrong, settings, engines, operations)
    return _suggested(problem, evaluations[settings.reference.name], told, settings)


def _explained(
    problem: Problem,
    evaluations: dict[str, Evaluation],
    found: list[Comparison],
    wrong: Sequence[WrongNode],
    settings: Settings,
    engines: Sequence[Engine],
    operations: int,
) -> list[Comparison]:
    from gradcheck.checks.failures.explain import explain

    return explain(problem, evaluations, found, wrong, engines, settings.reference, operations)


def _suggested(problem: Problem, want: Evaluation, found: list[Comparison], settings: Settings) -> list[Comparison]:
    """With what may have been meant by formulas that failed, and where they are seen to fail."""
    if problem.case.xfail or not any(c.what == "formula" and c.status == "failed" for c in found):
        return found
    from gradcheck.checks.failures.correction import suggest
    from gradcheck.checks.failures.counterexample import with_counterexamples

    return with_counterexamples(problem.case, suggest(problem, want, found, settings))


def _unexpected(case: Case, evaluations: dict[str, Evaluation]) -> Iterator[Failure]:
    """Errors that the case does not ask for, and those that it asks for in vain; each once, with all its engines."""
    raised: dict[tuple[int, str], list[tuple[str, Failure]]] = {}
    for name, evaluation in evaluations.items():
        for step, failure in _surprises(case, evaluation):
            raised.setdefault((step, failure.kind), []).append((name, failure))
    for found in raised.values():
        names, failure = ", ".join(name for name, _ in found), found[0][1]
        yield replace(failure, message=f"{failure.message} [{names}]")


def _surprises(case: Case, evaluation: Evaluation) -> Iterator[tuple[int, Failure]]:
    first = case.steps[0].raises
    if not evaluation.states and evaluation.error:
        error = evaluation.error
        if error.kind == "unsupported":
            return
        if error.kind != first:
            where = place_of(case, evaluation.failed_at)
            yield 0, Failure(error.kind, f"{evaluation.failed_at}: {error.message}", where, error.hint)
            return
        for index, step in enumerate(case.steps[1:], 1):
            why = f"step {index + 1} was not run: {evaluation.failed_at} could not be evaluated in the first place"
            yield index, Failure("not_run", why, step.place)
        return
    for index, (step, state) in enumerate(zip(case.steps, evaluation.states, strict=False)):
        error_kind = state.error.kind if state.error else None
        if error_kind == step.raises or error_kind == "unsupported":
            continue
        if state.error is None:
            yield index, Failure("not_raised", f"step {index + 1} should raise {step.raises}, and did not", step.place)
        else:
            asked = f", not {step.raises}" if step.raises else ""
            text = f"step {index + 1} raised {error_kind}{asked}: {state.error.message}"
            yield index, Failure(state.error.kind, text, step.place, state.error.hint)


def _judged(
    case: Case,
    settings: Settings,
    comparisons: Sequence[Comparison],
    failures: tuple[Failure, ...],
    start: float,
) -> CaseResult:
    statuses = {comparison.status for comparison in comparisons}
    status: CaseStatus
    if failures or "failed" in statuses or "undecided" in statuses:
        status = "failed"
    elif "unsupported" in statuses:
        status = "unsupported"
    elif not any(comparison.what == "gradient" for comparison in comparisons):
        status = "failed" if not any(step.raises for step in case.steps) else "passed"
    else:
        status = "passed"
    if case.xfail is not None and status in ("failed", "passed"):
        status = "xfailed" if status == "failed" else "xpassed"
    return result(
        case,
        settings,
        status,
        seconds=time.perf_counter() - start,
        reason=case.xfail or "",
        errors=failures,
        comparisons=tuple(comparisons),
    )


def result(
    case: Case,
    settings: Settings,
    status: CaseStatus,
    *,
    seconds: float = 0.0,
    reason: str = "",
    errors: tuple[Failure, ...] = (),
    comparisons: tuple[Comparison, ...] = (),
) -> CaseResult:
    """A result with everything that is the case's own."""
    return CaseResult(
        id=case.id,
        file=case.place.file,
        name=case.name,
        status=status,
        place=case.place,
        seconds=seconds,
        seed=case.seed if settings.seed is None else settings.seed,
        reproduce=settings.reproduce(case),
        reason=reason,
        tags=case.tags,
        errors=errors,
        comparisons=comparisons,
    )
