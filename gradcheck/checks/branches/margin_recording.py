"""Margins of all comparisons in a graph, its gradient rules and claims.

A comparison `a > b` has the margin `a - b`, whose sign gives each element's side. Gradient rules are written in
ops, so the comparisons in the rule of `clamp` are recorded too, without a table of kinks. Margins are tensors of
the core, so they can be differentiated.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import HALVES
from gradcheck.autograd.modes import no_grad, quiet
from gradcheck.autograd.op import Op, lookup
from gradcheck.autograd.operators import Operators
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.branches.branch_sites import (
    CHOOSES,
    FLIPPABLE_OPS,
    JOINS,
    ROUNDING_OPS,
    TESTS,
    BranchSite,
    Margin,
    as_array,
    named_claims,
    step_margins,
)
from gradcheck.checks.points.point import Point
from gradcheck.engines.double_precision import double_precision_array, double_precision_problem
from gradcheck.engines.recording import convert
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.traverse import ops_in
from gradcheck.language.problem import Problem

#: Numbers within this distance of a threshold, in units of its size or of 1, are near it.
_NEAR = 0.3
_REDUCING = frozenset(("all", "any", "amax", "amin", "max", "min", "prod", "count_nonzero"))
#: Ops that compare integers, too.
INTEGER_COMPARISONS = frozenset(("gt", "ge", "lt", "le", "maximum", "minimum", "fmax", "fmin", "eq", "ne"))
_PAIRED = INTEGER_COMPARISONS | {"isclose"}
_SIGN = frozenset(("sign", "sgn", "abs", "signbit"))
#: Ops that test for 0.
_TRUTH = frozenset(("logical_not", "logical_and", "logical_or", "logical_xor", "any", "all", "count_nonzero"))
#: Margins that are positive where a function is defined; of claims only.
EDGES = {
    "log": lambda x: x, "log2": lambda x: x, "log10": lambda x: x, "sqrt": lambda x: x, "rsqrt": lambda x: x,
    "log1p": lambda x: x + 1, "asin": lambda x: 1 - x * x, "acos": lambda x: 1 - x * x, "atanh": lambda x: 1 - x * x,
    "acosh": lambda x: x - 1,
}  # fmt: skip
BRANCHING_OPS = _PAIRED | _SIGN | _TRUTH | {"to", "copysign", "floor_divide"} | TESTS | EDGES.keys()


@dataclass(slots=True)
class MarginLog:
    """The margins so far, by site; `owner` is being evaluated."""

    margins: dict[BranchSite, Margin] = field(default_factory=dict)
    owner: str = ""
    is_claim: bool = False
    is_in_rule: bool = False
    #: The number and side of a comparison whose outcome is flipped.
    flipped: tuple[int, int] | None = None
    _is_reduced: bool = False
    count: int = 0
    _joins: bool = False  # constants may be among elements
    _asked: Container[str] = ()  # ops whose steps are logged: stated ones, and choices

    def enter(self, owner: str, claim: Claim, is_claim: bool) -> None:
        ops = ops_in(claim.expr)
        self.owner, self.is_claim, self.count = owner, is_claim, 0
        self._is_reduced = is_claim and not _REDUCING.isdisjoint(ops)
        self._joins = self._joins or not JOINS.isdisjoint(ops)
        rounds = frozenset[str]() if ROUNDING_OPS.isdisjoint(ops) else ROUNDING_OPS
        self._asked = rounds.union((TESTS | {"div"}).intersection(ops), CHOOSES if self._joins else ())

    def flip(self, before: int, op: str, result: Any) -> Any:
        """Return a result, flipped if it is the one; `before` margins came before."""
        if self.flipped is None or op not in FLIPPABLE_OPS or self.is_in_rule:
            return result
        number, side = self.flipped
        if before != number or self.count != number + 1:  # another comparison, or one without a margin
            return result
        site = next(reversed(self.margins))
        return Tensor.wrap(as_array(result) ^ site.elements_on(self.margins[site].numbers, side))

    def add(self, op: str, left: Any, right: Any, whole: bool = False) -> None:
        """Log that two values are compared."""
        scale = np.minimum(np.abs(as_array(left)), np.abs(as_array(right)))
        is_stated = self.is_claim and not self.is_in_rule and op in FLIPPABLE_OPS
        self.margins[BranchSite(self.owner, self.count, op, self._is_reduced, whole)] = Margin(
            left - right, scale, is_stated
        )
        self.count += 1

    def add_steps(self, op: str, args: tuple[Any, ...], result: Any) -> None:
        """Log roundings, tests for overflow and choices that are asked for."""
        for margin in step_margins(op, args, result) if op in self._asked and not self.is_in_rule else ():
            if margin is not None:
                self.margins[BranchSite(self.owner, self.count, "int" if op == "to" else op)] = margin
            self.count += 1


class MarginTensor(Operators):
    """A tensor whose ops log all comparisons, those within rules included."""

    __slots__ = ("is_truncated", "log", "tensor")

    def __init__(self, tensor: Any, log: MarginLog, is_truncated: bool = False) -> None:
        """Take a tensor; `is_truncated` for integers that were floats."""
        self.tensor, self.log, self.is_truncated = tensor, log, is_truncated

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> np.dtype:
        dtype: np.dtype = self.tensor.dtype
        return dtype

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        found: list[MarginTensor] = []

        def plain(value: MarginTensor) -> Any:
            found.append(value)
            return value.tensor

        given = tuple(convert(arg, MarginTensor, plain) for arg in args)
        log, before, is_truncated = found[0].log, found[0].log.count, any(value.is_truncated for value in found)
        result = Tensor.__apply_op__(op, given) if any(map(_holds_tensor, given)) else op.compute(given)
        _note_margins(log, op, given, result, is_truncated)
        if is_truncated or any(map(is_real, given)):
            log.add_steps(op.name, given, result)
        if op.kinks and op.elementwise and not log.is_in_rule:
            _run_rules(log, op, result, given)
        return _wrap(
            log.flip(before, op.name, result), log, is_truncated or truncates_to_integers(op.name, given, result)
        )


def _holds_tensor(value: Any) -> bool:
    return any(map(_holds_tensor, value)) if isinstance(value, (list, tuple)) else isinstance(value, Tensor)


def _wrap(value: Any, log: MarginLog, is_truncated: bool = False) -> Any:
    if isinstance(value, tuple):
        return tuple(_wrap(part, log, is_truncated) for part in value)
    return MarginTensor(value, log, is_truncated) if isinstance(value, (Tensor, np.ndarray, np.generic)) else value


def _note_margins(log: MarginLog, op: Op, args: tuple[Any, ...], result: Any, is_truncated: bool) -> None:
    pairs = [*compared_operands(op.name, args, result, log.is_claim)]
    for left, right in pairs:
        log.add(op.name, left, right)
    asks_wholes = not pairs and op.name in INTEGER_COMPARISONS and (is_truncated or log.is_claim) and not log.is_in_rule
    if asks_wholes and is_integer(args[0]) and is_integer(args[1]):
        log.add(op.name, as_array(args[0]), as_array(args[1]), whole=True)


def _run_rules(log: MarginLog, op: Op, result: Any, args: tuple[Any, ...]) -> None:
    ones = MarginTensor(Tensor.wrap(np.ones(result.shape, result.dtype)), log)
    seen = tuple(MarginTensor(arg, log) if isinstance(arg, Tensor) else arg for arg in args)
    log.is_in_rule = True
    for rule, arg in zip(op.rules, args, strict=False):
        if rule is not None and isinstance(arg, Tensor):
            rule(ones, MarginTensor(result, log), *seen)
    log.is_in_rule = False


# Margins of a problem -----------------------------------------------------------------------------


def branching_owners(case: Case) -> frozenset[str]:
    """Return the entries and claims that may compare numbers."""
    stated = [(name, ops_in(claim.expr)) for name, claim in (*case.graph.items(), *named_claims(case))]
    chooses = CHOOSES if any(not JOINS.isdisjoint(ops) for _, ops in stated) else frozenset[str]()
    return frozenset(name for name, ops in stated if not chooses.isdisjoint(ops) or any(map(_may_branch, ops)))


@cache
def _may_branch(name: str) -> bool:
    """Return whether an op, or one that it is composed of, may compare."""
    op = lookup(name)
    return name in BRANCHING_OPS or (op is not None and (op.composite or bool(op.kinks and op.elementwise)))


def has_no_slope(case: Case, site: BranchSite) -> bool:
    """Return whether the compared numbers may be flat, or mislead a slope."""
    stated = None if site.owner in case.graph else dict(named_claims(case)).get(site.owner)
    is_spelled_out = stated is not None and (
        site.op == "to" or site.op in FLIPPABLE_OPS.intersection(ops_in(stated.expr))
    )
    return is_spelled_out or site.op in TESTS | CHOOSES or has_rounding_op(case, site)


def has_rounding_op(case: Case, site: BranchSite) -> bool:
    claim = case.graph.get(site.owner) or dict(named_claims(case)).get(site.owner)
    return claim is not None and not ROUNDING_OPS.isdisjoint(ops_in(claim.expr))


#: Tensors, arrays and sizes by name; and a log, with the names and gradients for claims.
Names = Mapping[str, Any]
Logged = tuple[MarginLog, dict[str, Any], dict[str, Any]]


def log_margins(
    problem: Problem, leaves: Names, gradients: Names, owners: Container[str], values: Names | None = None
) -> Logged:
    """Return the log of these entries and claims, names and gradients.

    `leaves` are inputs and constants as tensors; claims use known `values`. A claim that cannot be evaluated has no
    margin. Raises GradcheckError if the graph cannot be.
    """
    log, names = MarginLog(), dict[str, Any]({**problem.sizes, **leaves})
    known = {n: g if isinstance(g, Tensor) else Tensor.wrap(g) for n, g in gradients.items() if g is not None}
    watched, watched_gradients = WrappedNames(names, log), WrappedNames(known, log)
    with quiet():
        for name, claim in problem.case.graph.items():
            log.enter(name, claim, False)
            names[name] = unwrap(evaluate(claim.expr, watched if name in owners else names))
        names |= values or {}
        for name, claim in named_claims(problem.case):
            if name not in owners and name not in problem.case.let:
                continue
            log.enter(name, claim, True)
            scope, given = (watched, watched_gradients) if name in owners else (names, known)
            try:
                value = evaluate(claim.expr, scope, gradients=given)
            except (GradcheckError, TypeError, ValueError):
                continue
            if name in problem.case.let:
                names[name] = unwrap(value)
    return log, names, known


class WrappedNames(Mapping[str, Any]):
    """Names whose values log margins."""

    def __init__(self, names: Mapping[str, Any], log: MarginLog) -> None:
        self._names, self._log = names, log

    def __getitem__(self, name: str) -> Any:
        return _wrap(self._names[name], self._log)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def unwrap(value: Any) -> Any:
    return convert(value, MarginTensor, lambda watched: watched.tensor)


def margins_at(
    problem: Problem, gradients: Names, owners: Container[str], known: Names | None = None
) -> dict[BranchSite, Margin]:
    """Return margins at a problem's numbers and known values, or raise."""
    with no_grad():
        return log_margins_at(problem, gradients, owners, known)[0].margins


def is_at_kink(point: Point) -> bool:
    """Return whether numbers of the graph are exactly at a threshold."""
    owners = branching_owners(point.problem.case) & point.problem.case.graph.keys()
    try:
        return any(np.any(m.numbers == 0) for m in margins_at(point.problem, {}, owners).values())
    except GradcheckError:  # only the reference can compute it
        return False


def final_gradients(point: Point) -> Mapping[str, np.ndarray]:
    """Return a point's gradients after its last step; {} if incomplete."""
    return point.scope(point.last_step).gradients if point.is_complete else {}


def log_margins_at(problem: Problem, gradients: Names, owners: Container[str], known: Names | None) -> Logged:
    """Return the log there, and the names and gradients for claims."""
    exact = known if known is not None and problem.dtype not in HALVES else {}
    values = {n: Tensor.wrap(exact[n]) for n in problem.case.graph if isinstance(exact.get(n), np.ndarray)}
    problem, gradients = in_double_precision(problem.with_latest_inputs(), gradients)
    leaves = {n: Tensor.wrap(a) for n, a in (*problem.inputs.items(), *problem.constants.items())}
    return log_margins(problem, leaves, gradients, owners, values)


def in_double_precision(problem: Problem, gradients: Mapping[str, Any]) -> tuple[Problem, Mapping[str, Any]]:
    """Return a problem in half precision, too coarse for slopes, in double."""
    if problem.dtype not in HALVES:
        return problem, gradients
    return double_precision_problem(problem), {
        n: None if g is None else double_precision_array(g) for n, g in gradients.items()
    }


def sides_met(found: Mapping[BranchSite, Margin], near: bool = True) -> dict[BranchSite, set[int]]:
    """Return the sides of comparisons with an element `near` the threshold."""
    return {site: _sides_of_margin(site, margin, near) for site, margin in found.items() if not margin.is_guard}


def _sides_of_margin(site: BranchSite, margin: Margin, is_near: bool) -> set[int]:
    """Return a margin's sides; far numbers say nothing of those near it."""
    numbers = margin.numbers
    near = numbers if not is_near else numbers[np.abs(numbers) <= _NEAR * np.maximum(1, margin.scale)]
    return {side for side in {*site.sides, 0} if site.is_on(numbers if abs(side) == 2 else near, side)}


def compared_operands(name: str, args: tuple[Any, ...], result: Any, is_claim: bool) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of operands, one of them floating, that an op compares."""
    if name in _PAIRED:
        if is_real(args[0]) or is_real(args[1]):
            yield args[0], args[1]
    elif name in _SIGN:
        yield from ((arg, 0.0) for arg in args[:1] if is_real(arg))
    elif name == "copysign":
        yield from ((arg, 0.0) for arg in args[1:2] if is_real(arg))
    elif name in _TRUTH or (name == "to" and result.dtype.kind == "b"):
        yield from ((arg, 0.0) for arg in args[:2] if is_real(arg))
    elif is_claim and name in EDGES and is_real(args[0]):
        yield EDGES[name](args[0]), 0.0


def truncates_to_integers(name: str, args: tuple[Any, ...], result: Any) -> bool:
    return name in ("to", "argmax", "argmin") and is_real(args[0]) and result.dtype.kind in "iu"


def is_real(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") == "f"


def is_integer(value: Any) -> bool:
    return isinstance(value, int) or getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u")
