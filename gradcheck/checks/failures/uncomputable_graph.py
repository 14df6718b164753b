"""Graphs that cannot be computed, and passes that cannot begin.

The file is wrong then, and no engine: its failing part, its operands and a repair are reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import is_differentiable
from gradcheck.autograd.op import lookup
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.context import Context
from gradcheck.checks.failures.correction.graph_repair import GraphRepair, find_graph_repair
from gradcheck.checks.failures.correction.shape_edits import shortened_text
from gradcheck.checks.result import Comparison, Failure
from gradcheck.checks.scope import Scope
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.errors import GradcheckError, Hint, InvalidCase, Place, TensorError, exception_text
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim, Step, TextSpan
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY, Host
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.parser import parse_with_spans
from gradcheck.language.expr.traverse import free_names, postorder, with_children
from gradcheck.language.problem import Problem

#: Errors that an edit of the graph may mend.
_REPAIRABLE = ("shape_mismatch", "bad_argument", "dtype_mismatch")
#: Ops whose last operand is integers: labels or indices.
_INDEXED = frozenset(
    ["cross_entropy", "nll_loss", "getitem", "gather", "index_select", "embedding", "take", "scatter", "one_hot"]
)
#: The most operands in a description.
_MOST_OPERANDS = 4


@dataclass(frozen=True, slots=True)
class UncomputablePart:
    """A part of an entry that cannot be computed, its operands, and the error."""

    entry: str
    part: Expr
    operands: tuple[Any, ...]
    error: TensorError


def explain_uncomputable_graph(context: Context) -> None:
    """Explain errors that every engine raises in the case's own names."""
    forward = [error for error in context.errors if _kind(error) == "forward_raised"]
    if forward and _is_raised_by_all(context, forward):
        _explain_forward(context, forward)
    context.errors = tuple(_explain_step_error(context, error) for error in context.errors)


def _kind(error: Failure) -> str:
    what = error.message["what"] if error.message.kind == "in_engines" else error.message
    return str(what.kind)


def _is_raised_by_all(context: Context, errors: list[Failure]) -> bool:
    raising = {engine for error in errors for engine in error.message["engines"]}
    return raising >= {engine.name for engine in context.engines.all}


def _explain_forward(context: Context, errors: list[Failure]) -> None:
    """Replace the engines' forward errors by one, for all of them."""
    problem = context.points.own.problem
    first = errors[0]
    entry = first.message["what"]["entry"]
    failing = find_uncomputable_part(problem) or _uncomputable_in_reference(context)
    if failing is None or failing.entry != entry:
        return
    message, hint = describe(problem, failing)
    place, text = _part_of(problem.case.graph[entry], failing.part)
    cause = failing.error.__cause__
    is_its = isinstance(cause, (np.linalg.LinAlgError, IndexError)) and not isinstance(cause, GradcheckError)
    numpys = (("NumPy", exception_text(cause)),) if is_its and cause is not None else ()  # ours are about shapes, too
    own_words = (*numpys, *_own_words(context))
    failure = Failure(first.kind, message, place, hint, own_words=own_words, text=text)
    rest = [error for error in context.errors if error not in errors]
    context.errors = (failure, *rest)
    context.found = [c for c in context.found if c.what is not ClaimKind.RAISES or c.reference == "case" or c.step]


def _own_words(context: Context, step: int = 0) -> tuple[tuple[str, str], ...]:
    """Return the messages of all engines but the core."""
    found: list[tuple[str, str]] = []
    for name, evaluation in context.points.own.evaluations().items():
        raised = evaluation.states[step].error if step < len(evaluation.states) else evaluation.error
        if raised is not None and name != Core.name:
            found.append((name, raised.message))
    return tuple(found)


def _part_of(claim: Claim, part: Expr) -> tuple[Place, str]:
    """Return where a part of an entry begins, and its text if it is verbatim."""
    root, known = parse_with_spans(claim.text)
    same = (known.get(id(node)) for node in postorder(root) if node == part and node.at == part.at)
    start, end = next((span for span in same if span is not None), (part.at, part.at))
    if not claim.is_verbatim:
        return claim.place, ""
    return replace(claim.place, column=claim.place.column + start), claim.text[start:end]


def find_uncomputable_part(problem: Problem, engine: DefineByRun | None = None) -> UncomputablePart | None:
    """Return the first part that an engine, or NumPy, cannot compute."""
    names = problem.environment()
    if engine is not None:
        leaves = {**problem.inputs, **problem.constants}
        names |= {name: engine.leaf(a, name in problem.inputs) for name, a in leaves.items()}
    host = NUMPY if engine is None else engine.host
    for entry, claim in problem.case.graph.items():
        found = evaluate_by_parts(entry, claim.expr, names, host)
        if isinstance(found, UncomputablePart):
            return replace(found, operands=tuple(_plain(value, engine) for value in found.operands))
        if found is None:
            return None
        (names[entry],) = found
    return None


def evaluate_by_parts(
    entry: str, expr: Expr, names: Mapping[str, Any], host: Host, gradients: Mapping[str, Any] | None = None
) -> UncomputablePart | tuple[Any] | None:
    """Return the first failing part, (value,), or None for an invalid name."""
    known: dict[int, Any] = {}
    for node in postorder(expr):
        operands = tuple(known[id(child)] for child in node.children)
        try:
            known[id(node)] = _value(node, operands, names, host, gradients)
        except TensorError as error:
            return UncomputablePart(entry, node, operands, error)
        except GradcheckError:
            return None
    return (known[id(expr)],)


def _value(
    node: Expr, operands: tuple[Any, ...], names: Mapping[str, Any], host: Host, gradients: Mapping[str, Any] | None
) -> Any:
    if not operands:
        return evaluate(node, names, host, gradients)
    parts = [Name(str(index)) for index in range(len(operands))]
    values = {str(index): value for index, value in enumerate(operands)}
    return evaluate(with_children(node, parts), values, host)


def _plain(value: Any, engine: DefineByRun | None) -> Any:
    return engine.array(value) if engine is not None and isinstance(value, engine.tensor_type) else value


def _uncomputable_in_reference(context: Context) -> UncomputablePart | None:
    """Return the part that the reference cannot compute, and NumPy can."""
    reference = context.engines.reference
    if not isinstance(reference, DefineByRun):
        return None
    problem = context.points.own.problem
    with reference.session(problem.dtype):
        found = find_uncomputable_part(problem, reference)
    if found is None:
        return None
    if found.error.is_own_message:
        return found
    error = TensorError(f"{reference.name} cannot compute {shortened_text(found.part)}", hint=found.error.hint)
    return replace(found, error=error)


def describe(problem: Problem, failing: UncomputablePart) -> tuple[Fact, Hint]:
    """Return an uncomputable part as a fact, and its repair as a hint."""
    case, part = problem.case, failing.part
    wrong_kind = _constants_of_wrong_dtype(problem, failing)
    meant = None
    if failing.error.kind in _REPAIRABLE and not wrong_kind["integers"]:
        meant = find_graph_repair(problem, failing.entry, part)
    message = uncomputable_fact(failing, wrong_kind, meant)
    if meant is None:
        return message, Hint()
    text, place = _source_text(case, meant.name)
    return message, Hint("", text, meant.claim.text, place) if text else Hint()


def uncomputable_fact(
    failing: UncomputablePart, wrong_kind: Mapping[str, tuple[str, ...]] | None = None, meant: GraphRepair | None = None
) -> Fact:
    """Return what fails, of which operands, and why; with dtypes and a repair."""
    kinds = wrong_kind or {}
    part, error = failing.part, failing.error
    pairs = zip(part.children, failing.operands, strict=True)
    arrays = [(shortened_text(expr), value) for expr, value in pairs if isinstance(value, np.ndarray)]
    operands = arrays[:_MOST_OPERANDS]
    entry = lookup(part.op) if isinstance(part, Call) else None
    return fact(
        "refused",
        entry=failing.entry,
        part=shortened_text(part),
        op=part.op if isinstance(part, Call) else "",
        error=error.kind,
        why=error.message,
        advice=error.hint,
        elementwise=entry is not None and entry.elementwise,
        operands=tuple((text, array.shape, array.dtype.name) for text, array in operands),
        range=tuple((int(a.min()), int(a.max())) if a.dtype.kind in "iu" and a.size else None for _, a in operands),
        meant_in=meant.name if meant else "",
        meant=meant.claim.text if meant else "",
        integers=kinds.get("integers", ()),
        floats=kinds.get("floats", ()),
    )


def _source_text(case: Case, name: str) -> tuple[str, Place]:
    """Return the text and place of an entry or leaf; "" if not verbatim."""
    claim = case.graph.get(name)
    if claim is not None:
        return claim.text if claim.is_verbatim else "", claim.place
    leaf = case.inputs.get(name) or case.constants[name]
    return leaf.text, leaf.place


def _constants_of_wrong_dtype(problem: Problem, failing: UncomputablePart) -> dict[str, tuple[str, ...]]:
    """Return the operands' constants with integers for floats, or vice versa."""
    kinds: dict[str, tuple[str, ...]] = {"integers": (), "floats": ()}
    if failing.error.kind != "dtype_mismatch":
        return kinds
    arrays = [value for value in failing.operands if isinstance(value, np.ndarray)]
    whole = [value for value in arrays if value.dtype.kind in "biu"]
    needs_integers = isinstance(failing.part, Call) and failing.part.op in _INDEXED and not whole
    for expr, value in zip(failing.part.children, failing.operands, strict=True):
        if not isinstance(value, np.ndarray):
            continue
        sources = tuple(name for name in free_names(expr) if name in problem.constants)
        if value.dtype.kind in "iu" and not needs_integers:
            kinds["integers"] += tuple(n for n in sources if problem.constants[n].dtype.kind in "iu")
        elif needs_integers and value is arrays[-1]:
            kinds["floats"] += tuple(n for n in sources if is_differentiable(problem.constants[n].dtype))
    return {kind: tuple(dict.fromkeys(names)) for kind, names in kinds.items()}


def _explain_step_error(context: Context, error: Failure) -> Failure:
    """Return the error of a pass that no engine can begin, in own words."""
    message = error.message
    if message.kind != "in_engines" or message["what"].kind != "step_raised" or message["what"]["asked"]:
        return error
    if set(message["engines"]) < {engine.name for engine in context.engines.all}:
        return error
    number = message["what"]["step"] - 1
    step = context.case.steps[number]
    why = _why_pass_cannot_start(context, step, number, error.kind) if step.action == "backward" else None
    return error if why is None else replace(error, message=why, hint="", own_words=_own_words(context, number))


def _why_pass_cannot_start(context: Context, step: Step, number: int, kind: str) -> Fact | None:
    """Return why a pass cannot begin; None if the core raises another error."""
    own = context.points.own
    steps = len(context.case.steps)
    if kind == "non_scalar_backward":
        values = own.want.state(number).values
        shapes = tuple((root, values[root].shape) for root in step.roots if root in values)
        many = tuple((root, shape) for root, shape in shapes if np.prod(shape) != 1)
        if shapes and not many:
            return fact("complex_root", root=shapes[0][0], step=number + 1, steps=steps)
        return fact("root_of_many", roots=many, step=number + 1, steps=steps)
    if kind == "no_grad_required":
        return fact("root_of_none", roots=tuple(step.roots), step=number + 1, steps=steps)
    raised = Core().evaluate(own.problem).state(number).error
    if raised is None or raised.kind != kind:
        return None
    return fact(
        "step_refused",
        step=number + 1,
        steps=steps,
        error=raised.kind,
        text=raised.message,
        advice=raised.hint,
        roots=tuple(root for root, seed in step.roots.items() if seed is not None),
    )


def explain_uncomputable_claims(context: Context) -> None:
    """Add to each uncomputable claim its failing part."""
    for place, c in enumerate(context.found):
        if c.status == "failed" and c.formula and c.mismatch is not None and c.mismatch.kind == "claim_raised":
            context.found[place] = _with_failing_part(context, c)


def _with_failing_part(context: Context, c: Comparison) -> Comparison:
    try:
        root, known = parse_with_spans(c.formula)
    except InvalidCase:  # pragma: no cover (a claim has been read from its text)
        return c
    point = context.points.at(c.trial)
    scope = StepClaims(point, c.step, context.options.tolerance).scope
    found = _find_failing_part(context.case, "", root, scope)
    if found is None or c.mismatch is None:
        return c
    message = fact("claim_raised", error=c.mismatch["error"], text=c.mismatch["text"], told=uncomputable_fact(found))
    span = known.get(id(found.part))
    if span is None or found.entry:
        return replace(c, mismatch=message)
    return replace(c, mismatch=message, part=TextSpan(c.formula, *span))


def _find_failing_part(case: Case, step: str, expr: Expr, scope: Scope) -> UncomputablePart | None:
    """Return the part that fails, inside the derivation step that holds it."""
    found = evaluate_by_parts(step, expr, scope, NUMPY, scope.gradients)
    while isinstance(found, UncomputablePart) and isinstance(found.part, Name) and found.part.name in case.let:
        step = found.part.name
        found = evaluate_by_parts(step, case.let[step].expr, scope, NUMPY, scope.gradients)
    return found if isinstance(found, UncomputablePart) else None
