"""A graph that cannot be computed, or a backward pass that cannot begin: where, of which operands, and what may have
been meant. It is then the file that is wrong, and no engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import is_differentiable
from gradcheck.autograd.op import lookup
from gradcheck.checks.context import Context
from gradcheck.checks.failures.correction.computable import nearest_computable
from gradcheck.checks.failures.correction.shape_edits import shown
from gradcheck.checks.result import ClaimKind, Failure
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.errors import GradcheckError, Hint, Place, TensorError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.traverse import free_names, postorder, with_children
from gradcheck.language.problem import Problem

#: Kinds of errors that an edit of the graph may mend.
_MENDABLE = ("shape_mismatch", "bad_argument", "dtype_mismatch")
#: Ops whose last operand is integers: labels, indices.
_INDEXED = frozenset(
    ["cross_entropy", "nll_loss", "getitem", "gather", "index_select", "embedding", "take", "scatter", "one_hot"]
)
#: Of more operands, none is described.
_MOST_OPERANDS = 4


@dataclass(frozen=True, slots=True)
class Refusal:
    """The part of a graph's entry that cannot be computed, its operands' values in order, and why."""

    entry: str
    part: Expr
    operands: tuple[Any, ...]
    error: TensorError


def explain_refusals(context: Context) -> None:
    """Say of what every engine refuses why, in the case's own names; other errors stay as they are."""
    forward = [error for error in context.errors if _kind(error) == "forward_raised"]
    if forward and _is_of_all(context, forward):
        _explain_forward(context, forward)
    context.errors = tuple(_of_step(context, error) for error in context.errors)


def _kind(error: Failure) -> str:
    what = error.message["what"] if error.message.kind == "in_engines" else error.message
    return str(what.kind)


def _is_of_all(context: Context, errors: list[Failure]) -> bool:
    """Whether every engine refuses the graph: each error names those that raise it."""
    refusing = {engine for error in errors for engine in error.message["engines"]}
    return refusing >= {engine.name for engine in context.engines.all}


def _explain_forward(context: Context, errors: list[Failure]) -> None:
    """One error for all engines; that they call it by other names is no further failure."""
    problem = context.points.own.problem
    first = errors[0]
    entry = first.message["what"]["entry"]
    refusal = find_refusal(problem) or _by_reference(context)
    if refusal is None or refusal.entry != entry:
        return
    told, hint = describe(problem, refusal)
    claim = problem.case.graph[entry]
    failure = Failure(first.kind, told, _place_in(claim, refusal.part), hint, own_words=_own_words(context))
    rest = [error for error in context.errors if error not in errors]
    context.errors = (failure, *rest)
    context.found = [c for c in context.found if c.what is not ClaimKind.RAISES or c.reference == "case" or c.step]


def _own_words(context: Context, step: int = 0) -> tuple[tuple[str, str], ...]:
    """What other engines than our own say of it."""
    found: list[tuple[str, str]] = []
    for name, evaluation in context.points.own.evaluations().items():
        raised = evaluation.states[step].error if step < len(evaluation.states) else evaluation.error
        if raised is not None and name != Core.name:
            found.append((name, raised.message))
    return tuple(found)


def _place_in(claim: Claim, part: Expr) -> Place:
    """Where a part of an entry begins, where its text stands in the file as it is."""
    return replace(claim.place, column=claim.place.column + part.at) if claim.verbatim else claim.place


# Where -------------------------------------------------------------------------------------------------


def find_refusal(problem: Problem, engine: DefineByRun | None = None) -> Refusal | None:
    """The first part that cannot be computed, by an engine or by NumPy; None where all can."""
    names = problem.environment()
    if engine is not None:
        leaves = {**problem.inputs, **problem.constants}
        names |= {name: engine.leaf(a, name in problem.inputs) for name, a in leaves.items()}
    for entry, claim in problem.case.graph.items():
        known: dict[int, Any] = {}
        for node in postorder(claim.expr):
            operands = tuple(known[id(child)] for child in node.children)
            try:
                known[id(node)] = _value(node, operands, names, engine)
            except TensorError as error:
                return Refusal(entry, node, tuple(_plain(value, engine) for value in operands), error)
            except GradcheckError:
                return None
        names[entry] = known[id(claim.expr)]
    return None


def _value(node: Expr, operands: tuple[Any, ...], names: Mapping[str, Any], engine: DefineByRun | None) -> Any:
    host = NUMPY if engine is None else engine.host
    if not operands:
        return evaluate(node, names, host)
    parts = [Name(str(index)) for index in range(len(operands))]
    values = {str(index): value for index, value in enumerate(operands)}
    return evaluate(with_children(node, parts), values, host)


def _plain(value: Any, engine: DefineByRun | None) -> Any:
    return engine.array(value) if engine is not None and isinstance(value, engine.tensor_type) else value


def _by_reference(context: Context) -> Refusal | None:
    """What the reference refuses, and NumPy would not."""
    reference = context.engines.reference
    if not isinstance(reference, DefineByRun):
        return None
    problem = context.points.own.problem
    with reference.session(problem.dtype):
        found = find_refusal(problem, reference)
    if found is None:
        return None
    error = TensorError(f"{reference.name} refuses {shown(found.part)}", hint=found.error.hint)
    return replace(found, error=error)


# What --------------------------------------------------------------------------------------------------


def describe(problem: Problem, refusal: Refusal) -> tuple[Fact, Hint]:
    """A refusal as a fact, with what may have been meant; and that as an edit of the file, if it is known."""
    case, error = problem.case, refusal.error
    part = refusal.part
    pairs = zip(part.children, refusal.operands, strict=True)
    operands = tuple((shown(expr), value) for expr, value in pairs if isinstance(value, np.ndarray))[:_MOST_OPERANDS]
    wrong_kind = _of_wrong_kind(problem, refusal)
    meant = None
    if error.kind in _MENDABLE and not wrong_kind["integers"]:
        meant = nearest_computable(problem, refusal.entry, part)
    hint = Hint()
    instead = ""
    if meant is not None:
        instead = meant.claim.text
        text, place = _as_it_stands(case, meant.name)
        hint = Hint("", text, instead, place) if text else hint
    entry = lookup(part.op) if isinstance(part, Call) else None
    told = fact(
        "refused",
        entry=refusal.entry,
        part=shown(part),
        op=part.op if isinstance(part, Call) else "",
        error=error.kind,
        why=error.message,
        advice=error.hint,
        elementwise=entry is not None and entry.elementwise,
        operands=tuple((text, array.shape, array.dtype.name) for text, array in operands),
        range=tuple((int(a.min()), int(a.max())) if a.dtype.kind in "iu" and a.size else None for _, a in operands),
        meant_in=meant.name if meant else "",
        meant=instead,
        integers=wrong_kind["integers"],
        floats=wrong_kind["floats"],
    )
    return told, hint


def _as_it_stands(case: Case, name: str) -> tuple[str, Place]:
    """The text of an entry or a leaf in the file, and where; no text where the file has it otherwise."""
    claim = case.graph.get(name)
    if claim is not None:
        return claim.text if claim.verbatim else "", claim.place
    leaf = case.inputs.get(name) or case.constants[name]
    return leaf.text, leaf.place


def _of_wrong_kind(problem: Problem, refusal: Refusal) -> dict[str, tuple[str, ...]]:
    """Constants that hold integers where floating numbers are needed, or the other way round: those that the operands
    come from."""
    kinds: dict[str, tuple[str, ...]] = {"integers": (), "floats": ()}
    if refusal.error.kind != "dtype_mismatch":
        return kinds
    arrays = [value for value in refusal.operands if isinstance(value, np.ndarray)]
    whole = [value for value in arrays if value.dtype.kind in "biu"]
    needs_integers = isinstance(refusal.part, Call) and refusal.part.op in _INDEXED and not whole
    for expr, value in zip(refusal.part.children, refusal.operands, strict=True):
        if not isinstance(value, np.ndarray):
            continue
        sources = tuple(name for name in free_names(expr) if name in problem.constants)
        if value.dtype.kind in "iu" and not needs_integers:
            kinds["integers"] += tuple(n for n in sources if problem.constants[n].dtype.kind in "iu")
        elif needs_integers and value is arrays[-1]:
            kinds["floats"] += tuple(n for n in sources if is_differentiable(problem.constants[n].dtype))
    return {kind: tuple(dict.fromkeys(names)) for kind, names in kinds.items()}


# Backward passes ---------------------------------------------------------------------------------------


def _of_step(context: Context, error: Failure) -> Failure:
    """The error of a backward pass that no engine can begin, in our own words."""
    message = error.message
    if message.kind != "in_engines" or message["what"].kind != "step_raised" or message["what"]["asked"]:
        return error
    if set(message["engines"]) < {engine.name for engine in context.engines.all}:
        return error
    number = message["what"]["step"] - 1
    step = context.case.steps[number]
    told = _no_beginning(context, step, number, error.kind) if step.action == "backward" else None
    if told is None:
        return error
    return replace(error, message=told, hint="", own_words=_own_words(context, number))


def _no_beginning(context: Context, step: Step, number: int, kind: str) -> Fact | None:
    """Why a backward pass cannot begin; None where the core would not say so."""
    own = context.points.own
    steps = len(context.case.steps)
    if kind == "non_scalar_backward":
        values = own.want.states[number].values if number < len(own.want.states) else {}
        shapes = tuple((root, values[root].shape) for root in step.roots if root in values)
        many = tuple((root, shape) for root, shape in shapes if np.prod(shape) != 1)
        return fact("root_of_many", roots=many, step=number + 1, steps=steps)
    if kind == "no_grad_required":
        return fact("root_of_none", roots=tuple(step.roots), step=number + 1, steps=steps)
    mine = Core().evaluate(own.problem)
    raised = mine.states[number].error if number < len(mine.states) else None
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
