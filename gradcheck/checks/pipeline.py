"""Check one case: run its stages, explain failures, return the verdict."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks import original_dtype
from gradcheck.checks.baseline import apply_xfail
from gradcheck.checks.claims import (
    certificates,
    combinations,
    evaluations,
    formulas,
    jvps,
    numeric_gradients,
    operations,
    second_order,
    stated_claims,
    trials,
    undefined_formulas,
    uninformative_gradients,
)
from gradcheck.checks.claims.evaluations import unexpected_errors
from gradcheck.checks.context import Context
from gradcheck.checks.documented_functions import judge_by_documentation
from gradcheck.checks.failures import kinks, nonfinite_gradients
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.result import CaseResult, CaseStatus, Comparison, Failure
from gradcheck.engines.base import own_dtype as engine_dtype
from gradcheck.engines.library_imports import importing_elsewhere
from gradcheck.engines.resolve import named_engines
from gradcheck.errors import InvalidCase
from gradcheck.facts import fact
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.implied_cotangents import with_implied_cotangents
from gradcheck.language.likely_slips import likely_slips
from gradcheck.language.sampling import draw
from gradcheck.language.suggest import did_you_mean
from gradcheck.language.trial_draws import without_trials

if TYPE_CHECKING:
    from gradcheck.checks.implementations.implementation_check import ImplementationResults


class Stage(Protocol):
    """A module that checks one kind of claim."""

    __name__: str

    def applies(self, context: Context) -> bool:
        """Return whether there is anything to compare."""
        ...

    def check(self, context: Context) -> Iterable[Comparison]:
        """Yield comparisons to add to `context.found`."""
        ...


STAGES: tuple[Stage, ...] = (
    evaluations,
    operations,
    stated_claims,
    formulas,
    trials,
    nonfinite_gradients,
    kinks,
    undefined_formulas,
    certificates,
    combinations,
    uninformative_gradients,
    numeric_gradients,
    jvps,
    second_order,
)


def check_case(case: Case, options: Options, engines: Engines) -> CaseResult:
    """Return the verdict on one case. Unforeseen exceptions pass through."""
    start = time.perf_counter()
    if case.skip is not None:
        return case_result(case, options, "skipped", reason=case.skip)
    _check_engine_names(case, engines)
    if not engines.only(case.only).tested:
        return case_result(case, options, "skipped", reason=f"only for {', '.join(case.only)}")
    options = _in_engine_dtype(case, options, engines)
    case = with_implied_cotangents(case, options.seed)
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[options.apply(case).dtype])), quiet(), importing_elsewhere():
        try:
            is_general = case.has_general_claims or not case.implementations  # else only its code needs trials
            context = examine(case if is_general else without_trials(case), options, engines)
            if case.states_derivatives:
                context.found += _check_derivatives(context)
            code = _check_implementations(context, options.apply(case)) if case.implementations else None
        except InvalidCase as error:
            return _undrawn_result(case, options, error)
    return apply_xfail(verdict(context, case, time.perf_counter() - start, code), case, options.today)


def _check_engine_names(case: Case, engines: Engines) -> None:
    """Raise InvalidCase for a misspelt engine in `only`.

    A name that differs more may be an engine of another run."""
    of_run = {*engines.specs, *(engine.name for engine in (*engines.all, *engines.specs.values()))}
    for name in [one for one in case.only if one not in of_run]:
        known = named_engines()
        hint = did_you_mean(name, [one for one in known if abs(len(one) - len(name)) <= 1])
        if hint and name not in known:
            raise InvalidCase(f"there is no engine '{name}'", place=case.places.get("only"), hint=hint)


def _check_derivatives(context: Context) -> list[Comparison]:
    from gradcheck.checks.derivatives.derivative_check import check_derivatives  # not needed by most cases

    with _timed(context, "derivatives"):
        return check_derivatives(context, examine)


def _check_implementations(context: Context, case: Case) -> ImplementationResults:
    from gradcheck.checks.implementations.implementation_check import check_implementations  # which imports torch

    return check_implementations(context, case)


def _in_engine_dtype(case: Case, options: Options, engines: Engines) -> Options:
    """Return options with the engines' only dtype, if the run names none."""
    if options.dtype is not None or case.dtype != "float64":
        return options
    found = {engine_dtype(engine) for engine in engines.tested}
    (dtype,) = found if len(found) == 1 else (None,)
    return options if dtype in (None, case.dtype) else replace(options, dtype=dtype)


def examine(case: Case, options: Options, engines: Engines) -> Context:
    """Run all stages and explain what failed."""
    context = _run_stages(case, options, engines)
    in_own_dtype = None
    if context.case.dtype != case.dtype and original_dtype.has_failures(context):
        with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])):
            in_own_dtype = _run_stages(case, replace(options, dtype=None), engines)
        original_dtype.excuse_dtype_failures(context, in_own_dtype, explained=False)
    alone = replace(engines, tested=())
    documented = judge_by_documentation(context, lambda there: _run_stages(there, options, alone))
    _explain(context)
    if documented is not None:
        _explain(documented)
        context.found += documented.found
        context.failed_explanations += documented.failed_explanations
    if in_own_dtype is not None and original_dtype.has_failures(context):  # perhaps kinks explain it
        _explain(in_own_dtype)
        original_dtype.excuse_dtype_failures(context, in_own_dtype, explained=True)
    return context


def _explain(context: Context) -> None:
    if any(c.status != "passed" for c in context.found):
        from gradcheck.checks.failures.explain import explain

        with _timed(context, "explanation"):
            explain(context)


@contextmanager
def _timed(context: Context, stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    context.stage_seconds[stage] = context.stage_seconds.get(stage, 0.0) + time.perf_counter() - start


def _run_stages(case: Case, options: Options, engines: Engines) -> Context:
    context = Context.of(case, options, engines)
    context.errors = tuple(unexpected_errors(context.case, context.points.own.evaluations()))
    for stage in STAGES:
        if stage.applies(context):
            with _timed(context, stage.__name__.rpartition(".")[2]):
                # a stage may amend what was found before it
                found = [comparison for comparison in stage.check(context) if context.is_requested(comparison)]
            context.found += found
    if any(c.status == "failed" for c in context.found):
        from gradcheck.checks.failures.bare_graph_recheck import mark_unreproduced

        mark_unreproduced(context)
    return context


def _undrawn_result(case: Case, options: Options, error: InvalidCase) -> CaseResult:
    """Return the verdict if the case's numbers cannot be drawn.

    Raises InvalidCase if the file itself is wrong."""
    dtype = options.apply(case).dtype
    if dtype != case.dtype:
        try:
            draw(case, options.seed)
            message = fact("not_in_this_dtype", own=case.dtype, dtype=dtype, why=fact("said", text=error.message))
            return case_result(
                case, options, "unsupported", errors=(Failure(error.kind, message, error.place, error.hint),)
            )
        except InvalidCase as own:
            error = own
    if not error.needs_graph_values:
        raise error
    failure = Failure(error.kind, fact("said", text=error.message), error.place, error.hint)
    return apply_xfail(case_result(case, options, "failed", errors=(failure,)), case, options.today)


def verdict(context: Context, case: Case, seconds: float, code: ImplementationResults | None = None) -> CaseResult:
    """Return the verdict on a case whose stages have run."""
    output: dict[str, str] = {}
    if code is not None:
        context.found += code.comparisons
        context.errors = (*context.errors, *code.errors)
        context.failed_explanations += code.lost
        output = code.output
    statuses = {comparison.status for comparison in context.found}
    compared = any(c.what in (ClaimKind.GRADIENT, ClaimKind.JVP) for c in context.found)
    status: CaseStatus = "passed"
    if context.errors or "failed" in statuses or "undecided" in statuses:
        status = "failed"
    elif "unsupported" in statuses:
        status = "unsupported"
    elif not compared and not any(step.raises for step in case.steps):
        status = "failed"
    found = {
        "errors": context.errors,
        "comparisons": tuple(context.found),
        "incomplete": tuple(context.failed_explanations),
        "seconds": seconds,
        "stage_seconds": dict(context.stage_seconds),
        "output": output,
        "warnings": tuple(dict.fromkeys(likely_slips(case))),
    }
    return case_result(case, context.options, status, **found)


def case_result(case: Case, options: Options, status: CaseStatus, **found: Any) -> CaseResult:
    """Return a result with the case's own fields and those of `found`."""
    return CaseResult(
        id=case.id,
        file=case.place.file,
        name=case.name,
        status=status,
        place=case.place,
        seed=options.seed_of(case),
        reproduce=options.reproduce(case),
        tags=case.tags,
        **found,
    )
