"""Check an implementation as one more engine, in a case of its own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.claims import evaluations as of_engines
from gradcheck.checks.claims import trials
from gradcheck.checks.claims.evaluations import check_engine, unexpected_errors
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.context import Context
from gradcheck.checks.failures import kinks, nonfinite_gradients
from gradcheck.checks.failures.blame_assignment import assign_blame
from gradcheck.checks.implementations import behaviour, code_thresholds
from gradcheck.checks.implementations.code_diagnosis import diagnose_code
from gradcheck.checks.implementations.code_rounding import CodeRounding
from gradcheck.checks.implementations.implementation_case import implementation_case, relevant_names
from gradcheck.checks.implementations.second_order import check_second_order
from gradcheck.checks.implementations.undefined_derivatives import excuse_undefined
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import narrower_domain
from gradcheck.checks.result import Comparison, Failure
from gradcheck.engines.core import Core
from gradcheck.engines.implementation.binding import ancestors_of, bindings
from gradcheck.engines.implementation.code_engine import CodeEngine as ImplementationEngine
from gradcheck.engines.implementation.code_kinds import code_of
from gradcheck.engines.implementation.code_loading import load_code
from gradcheck.engines.implementation.global_state import Patches, capture_stdout, restore_global_state
from gradcheck.engines.implementation.operand_dtypes import judged_dtype
from gradcheck.engines.tensor_class.user_code_guard import Output
from gradcheck.errors import CodeNotAllowed, InvalidCase, UsageError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Implementation
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.sampling import draw
from gradcheck.language.trial_draws import is_general

#: The tolerance for choosing among bindings of arguments.
_NEAR = 1e-2
#: The stages that code goes through.
STAGES = (of_engines, trials)


@dataclass(slots=True)
class ImplementationResults:
    """The results of all implementations of a case."""

    comparisons: list[Comparison] = field(default_factory=list)
    errors: list[Failure] = field(default_factory=list)
    lost: list[Failure] = field(default_factory=list)
    output: dict[str, str] = field(default_factory=dict)  # printed text, by name


def check_implementations(context: Context, case: Case) -> ImplementationResults:
    """Check all implementations of a case after its own stages.

    Raises InvalidCase if code is not allowed to run, or cannot be called."""
    found = ImplementationResults()
    if not context.options.allow_code:
        first = case.implementations[0]
        hint = "--allow-code runs it, as does allow-code = true in [tool.gradcheck]"
        raise CodeNotAllowed(f"the case needs {first.name} to run, which is not allowed", place=first.place, hint=hint)
    values = context.points.own.want.states[0].values if context.points.own.want.states else None
    for one in case.implementations:
        for dtype in one.dtypes or (case.dtype,):
            if values is not None:
                _check_implementation(context, case, (one, dtype), found)
    return found


def _check_implementation(
    context: Context, whole: Case, which: tuple[Implementation, str], found: ImplementationResults
) -> None:
    one, dtype = which
    patches = Patches()
    engine, case = engine_and_case(context, whole, one)
    engine.patched_functions = patches.undo()
    if case is None:
        return
    dtype = judged_dtype(engine, draw(replace(case, dtype=dtype), case.seed))
    options = replace(context.options, dtype=None, order=one.order or 2)
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[dtype])):
        own = Context.of(replace(case, dtype=dtype), options, Engines((engine,), context.engines.reference))
        own.points.own.evaluation(engine)
        engine.patched_functions += patches.undo()  # before its entry is evaluated
        _run_stages(own, engine)
        # conventions at a kink are the code's own; a wrong reference is wrong in the graph too
        own_kinks = (c for c in own.found if c.status == "not_differentiable" and c.trial is None)
        at_kink = any(own_kinks) or any(c.passes_by_wrong_reference for c in own.found)
        if dtype == context.case.dtype and not own.errors and not _failed(own) and not at_kink:
            own.found += _check_in_graph(context, engine, case)
    patches.undo()
    found.comparisons += own.found
    found.errors += own.errors
    found.lost += own.failed_explanations
    printed = engine.output.take()
    if printed.strip():
        found.output[engine.name] = found.output.get(engine.name, "") + printed


def engine_and_case(context: Context, case: Case, one: Implementation) -> tuple[ImplementationEngine, Case | None]:
    """Return the engine and its case; None if there is nothing to check."""
    values = context.points.own.want.states[0].values
    several = sum(name.startswith(f"{one.entry}[") for name in values) or 1
    try:
        output = Output()
        with restore_global_state(), capture_stdout(output):
            code = code_of(*load_code(one), one.name, several)
    except UsageError as error:
        raise InvalidCase(error.message, place=one.place, hint=error.hint) from error
    listed = [
        ImplementationEngine(one.name, one.entry, code, binding, getattr(context.engines.reference, "device", None))
        for binding in bindings(case, one, code.signature, code.parameters)
    ]
    listed[0].output.write(output.take())
    engine = next((e for e in listed if _is_near(e, context)), listed[0]) if len(listed) > 1 else listed[0]
    return engine, implementation_case(case, one, engine.binding, values)


def _is_near(engine: ImplementationEngine, context: Context) -> bool:
    """Return whether the code, with this binding, is close to its entry."""
    found, want = engine.values_alone(context.points.own.problem), context.points.own.want.states[0].values
    parts = [name for name in want if name.partition("[")[0] == engine.entry]
    return all(
        name in found
        and found[name].shape == want[name].shape
        and np.allclose(wide(found[name]), wide(want[name]), rtol=_NEAR, atol=_NEAR, equal_nan=True)
        for name in parts
    )


def _run_stages(context: Context, engine: ImplementationEngine) -> None:
    names = relevant_names(context.case)
    answer = context.points.own.evaluation(engine)
    trace = getattr(answer.error, "trace", "")
    raised = unexpected_errors(context.case, {engine.name: answer})
    context.errors = tuple(replace(one, details=trace) if one.kind == "code_raised" else one for one in raised)
    if context.points.own.want.error is not None:
        context.errors = ()
        return
    rounding = CodeRounding(context, engine)
    for stage in STAGES:
        if stage.applies(context):
            found = [c for c in stage.check(context) if c.engine == engine.name]
            context.found += [c for c in found if c.tensor.partition("[")[0] in names or not c.tensor]
    _excuse_differences(context, rounding)
    nonfinite_gradients.judge(context, is_code=True)
    if not _failed(context) and context.can_be_checked and is_general(context.case):
        beyond = (*code_thresholds.check(context, engine), *code_thresholds.overflow(context, engine))
        context.found += [c for c in beyond if c.tensor.partition("[")[0] in names]
        _excuse_differences(context, rounding)
    if not _failed(context) and context.can_be_checked and is_general(context.case):
        varied = code_thresholds.check_varied(context, engine, code_thresholds.block_sizes(engine.code.constants))
        context.found += [c for c in varied if c.tensor.partition("[")[0] in names]
        _excuse_differences(context, rounding)
    if _failed(context):
        _excuse_reference(context)
    if not _failed(context) and not context.errors:
        context.found += check_second_order(context, engine)
        context.found += behaviour.check(context, engine, rounding)
    elif not context.errors:
        context.found = behaviour.check_determinism(context, engine) or context.found
    if context.points.refusals:
        note = narrower_domain(engine, context.points.refusals)
        context.found[:1] = [c.with_notes(note) for c in context.found[:1]]
    diagnose_code(context, engine)


def _excuse_differences(context: Context, rounding: CodeRounding) -> None:
    """Pass differences that the code's rounding or a kink explains."""
    if _failed(context):
        rounding.allow_all()
        excuse_undefined(context)
    if _failed(context) and kinks.applies(context):
        kinks.check(context)


def _excuse_reference(context: Context) -> None:
    """Pass gradients if finite differences confirm the code.

    The reference is wrong then. Where the core agrees with the code, one element decides for all points."""
    verdicts: dict[str, Fact | None] = {}
    for place, c in enumerate(context.found):
        if c.status != "failed" or c.what is not ClaimKind.GRADIENT or verdicts.get(c.tensor, c) is None:
            continue
        is_known = c.tensor in verdicts and _core_agrees_with_code(context, c)
        verdict = verdicts[c.tensor] = verdicts[c.tensor] if is_known else _verdict_against_reference(context, c)
        if verdict is not None:
            context.found[place] = c.without_numbers("passed", verdict=verdict)


def _verdict_against_reference(context: Context, c: Comparison) -> Fact | None:
    alone = Context(context.case, context.options, context.engines, context.points)
    alone.found = [c]
    assign_blame(alone)
    return alone.found[0].verdict if alone.found[0].status == "passed" else None


def _core_agrees_with_code(context: Context, c: Comparison) -> bool:
    if c.got_array is None:
        return False
    ours = Core().evaluate(context.points.at(c.trial).problem).state(c.step).gradients.get(c.tensor)
    return ours is not None and compare(ours, c.got_array, base(ours.dtype), c.subject).status == "passed"


def _check_in_graph(context: Context, engine: ImplementationEngine, case: Case) -> list[Comparison]:
    point = context.points.own
    if not point.is_complete or any(step.raises for step in context.case.steps):
        return []
    between = ancestors_of(context.case, engine.entry) & context.case.graph.keys() - case.graph.keys()
    rounding = CodeRounding(context, engine)
    stated = context.options.tolerance or case.engine_tolerance
    failed = [c for c in check_engine(point, engine.evaluate(point.problem), stated) if c.status == "failed"]
    judged = [rounding.allow_rounding(c, point) for c in failed if c.tensor.partition("[")[0] not in between]
    return [c.with_notes(fact("inside_the_graph")) for c in judged if c.status == "failed"]


def _failed(context: Context) -> bool:
    return any(c.is_failing for c in context.found)
