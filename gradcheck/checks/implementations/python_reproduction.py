"""Write a failing case of user code as Python without gradcheck."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.context import Context
from gradcheck.checks.implementations.implementation_case import case_as_run
from gradcheck.checks.implementations.implementation_check import engine_and_case
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Implementation
from gradcheck.language.claim_kind import ClaimKind

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine as Engine


def python_reproduction(case: Case, result: CaseResult, options: Options, engines: Engines) -> str:
    """Return the code's call at the case's own numbers; "" if impossible."""
    try:
        with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), quiet():
            return _reproduction_of(case_as_run(case, options.seed), result, options, engines)
    except (GradcheckError, KeyError, TypeError):
        return ""


def _reproduction_of(case: Case, result: CaseResult, options: Options, engines: Engines) -> str:
    from gradcheck.engines.implementation.call_source import CodeCall, call_source

    context = Context.of(case, options, engines)
    named = next((o for o in case.implementations if any(c.engine == o.name for c in _failed(result))), None)
    named = named or case.implementations[0]
    if not context.points.own.want.states:  # the specification itself cannot be evaluated
        return ""
    engine, own = engine_and_case(context, case, named)
    if own is None:
        return ""
    point = Context.of(own, options, engines).points.own
    failed = [c for c in _failed(result) if c.what is ClaimKind.GRADIENT and c.trial is None and c.step == 0]
    first = next((c for c in failed if c.tensor in point.want.states[0].gradients), None)
    right = None if first is None else point.want.states[0].gradients[first.tensor]
    wanted = None if first is None or right is None else (first.tensor, right)
    return call_source(CodeCall(named, engine, point.problem, point.want.states[0].values, wanted))


def standalone_reproduction(context: Context, named: Implementation, engine: Engine) -> str:
    """Return the call of code alone at its first wrong gradient, or ""."""
    from gradcheck.engines.implementation.call_source import CodeCall, call_source

    failed = [c for c in context.found if c.status == "failed"]
    first = next((c for c in failed if c.what is ClaimKind.GRADIENT), failed[0])
    problem = context.points.at(first.trial).problem
    wanted = None if first.want_array is None else (first.tensor, first.want_array)
    values = {**problem.inputs, **problem.constants}
    try:
        return call_source(CodeCall(named, engine, problem, values, wanted))
    except (GradcheckError, KeyError, TypeError):
        return ""


def _failed(result: CaseResult) -> list[Comparison]:
    return [c for c in result.comparisons if c.status == "failed"]
