"""The stage of gradients that are NaN or infinite in every engine.

Nothing differs then. A rule has multiplied 0 by infinity, as that of `where(x > 0, sqrt(x), 0)` does at 0. Where the
derivative is finite, at least from one side, the reference is wrong. Code or a formula that is not finite there is
wrong too, and a formula that is right is excused. Else a note says where the number arises.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.context import Context
from gradcheck.checks.failures.kink_conventions import as_number
from gradcheck.checks.result import Comparison
from gradcheck.engines.double_precision import double_precision_problem
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Claim
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.expr.traverse import replace_part

if TYPE_CHECKING:
    from gradcheck.checks.failures.gradient_flow import Contribution

#: The most tensors, and elements of each, whose derivatives are computed.
_MOST_TENSORS, _MOST_ELEMENTS = 3, 16
#: The relative difference of one-sided derivatives, or of a formula, that is none.
_CLOSE = 1e-6


def applies(context: Context) -> bool:
    """Return whether a number is not finite at the case's own numbers."""
    options = context.options
    is_asked = options.explained and options.oracle != "none"
    return is_asked and any(_is_nonfinite(c) or _is_nan_value(c) for c in context.found)


def check(context: Context) -> Iterable[Comparison]:
    """Say where such numbers arise, and what the derivatives are there."""
    judge(context, is_code=False)
    first = next(filter(_is_nan_value, context.found), None)
    if first is not None:
        told = _nan_value(context, first.tensor)
        context.amend(lambda c: _is_nan_value(c) and c.tensor == first.tensor, lambda c: c.with_notes(told))
    return ()


def judge(context: Context, *, is_code: bool) -> None:
    """Amend what was found at the case's own numbers.

    An engine is as wrong as the reference. Somebody's code fails, since the reference is right elsewhere.
    """
    if not applies(context):
        return
    keys = dict.fromkeys((c.tensor, c.step) for c in context.found if _is_nonfinite(c))
    inputs = [key for key in keys if key[0] in context.case.inputs]
    dtype = dtypes.real_of(double_precision_problem(context.points.own.problem).dtype)
    with using_default_dtype(dtype), np.errstate(all="ignore"):
        steps: dict[str, list[int]] = {}
        for tensor, step in inputs or list(keys):
            steps.setdefault(tensor, []).append(step)
        for tensor in list(steps)[:_MOST_TENSORS]:
            for step in dict.fromkeys((steps[tensor][0], steps[tensor][-1])):  # formulas are about the last
                _amend(context, _NonfiniteGradient(context, tensor, step), is_code)


def _is_nonfinite(c: Comparison) -> bool:
    is_gradient = c.what is ClaimKind.GRADIENT and c.status == "passed" and c.trial is None and c.verdict is None
    return is_gradient and _notes_nonfinite(c)


def _is_nan_value(c: Comparison) -> bool:
    is_value = c.what is ClaimKind.VALUE and c.status == "passed" and c.trial is None and c.step == 0
    return is_value and c.has_note("nans_agree")


def _nan_value(context: Context, tensor: str) -> Fact:
    """Return the place of an entry's first NaN, and the op that makes it."""
    from gradcheck.checks.failures.gradient_flow import GradientFlow

    value = wide(np.asarray(context.points.own.want.states[0].values[tensor]))
    index = tuple(int(i) for i in np.argwhere(np.isnan(value))[0])
    try:
        owners = GradientFlow(context.points.own.problem, 0).owners
    except GradcheckError:
        owners = {}
    for made, entry in owners.items():
        bad = np.argwhere(np.isnan(wide(made.data)) & (entry == tensor.partition("[")[0]))
        if len(bad) and not any(np.isnan(wide(one.data)).any() for one in made.creators):
            at = tuple(int(i) for i in bad[0])
            operands = [wide(one.data)[at] for one in made.creators if one.data.shape == made.data.shape]
            op = made.creation_op.name if made.creation_op is not None else ""
            return fact("nan_value", index=index, op=op, operands=tuple(map(as_number, operands)))
    return fact("nan_value", index=index, op="", operands=())


def _notes_nonfinite(c: Comparison) -> bool:
    return c.has_note("nans_agree") or c.has_note("infinities_agree")


def _amend(context: Context, found: _NonfiniteGradient, is_code: bool) -> None:
    """Amend what was found about a tensor by its derivatives."""
    told = found.fact
    if told is None:
        return
    if not found.has_derivative:
        context.amend(found.is_about, lambda c: c.with_notes(told))
        return

    def change(c: Comparison) -> Comparison:
        wrong = fact("reference_wrong", reference=c.reference, what=told)
        if c.status == "passed" and (is_code or c.what is ClaimKind.FORMULA):
            return found.as_failure(c)
        if c.what is not ClaimKind.FORMULA:
            return replace(c, verdict=wrong, certificate=None)
        at = found.element_lost_by(c)
        if at is not None:
            return replace(found, at=at).as_failure(c.without_numbers("failed"))
        return c.without_numbers("passed", verdict=wrong) if found.explains(c) else c

    context.amend(lambda c: found.is_about(c) or found.is_formula(c), change)


@dataclass
class _NonfiniteGradient:
    """A gradient's elements that are not finite, at the case's numbers."""

    context: Context
    tensor: str
    step: int
    at: int | None = None  #: the element to speak of
    _known: dict[tuple[int, complex], tuple[float, float]] = field(default_factory=dict)

    def is_about(self, c: Comparison) -> bool:
        return _is_nonfinite(c) and (c.tensor, c.step) == (self.tensor, self.step)

    def is_formula(self, c: Comparison) -> bool:
        """Return whether a formula is not finite either, or differs."""
        is_here = c.what is ClaimKind.FORMULA and c.trial is None and (c.tensor, c.step) == (self.tensor, self.step)
        return is_here and (_notes_nonfinite(c) if c.status == "passed" else c.mask is not None)

    @cached_property
    def gradient(self) -> np.ndarray:
        return wide(np.asarray(self.context.points.own.want.states[self.step].gradients[self.tensor]))

    @cached_property
    def value(self) -> np.ndarray:
        return wide(np.asarray(self.context.points.own.want.states[self.step].values[self.tensor]))

    @cached_property
    def elements(self) -> np.ndarray:
        """Their flat indices."""
        return np.flatnonzero(~np.isfinite(self.gradient))

    @cached_property
    def element(self) -> int:
        """The first that has a derivative, or the first."""
        if self.at is not None:
            return self.at
        some = map(int, self.elements[:_MOST_ELEMENTS])
        return next(filter(self._has_derivative, some), int(self.elements[0]))

    @property
    def has_derivative(self) -> bool:
        return self._has_derivative(self.element)

    def sides(self, element: int, number: complex = 1.0) -> tuple[float, float]:
        """Return the derivatives from the left and from the right, or NaN."""
        if (element, number) not in self._known:
            from gradcheck.oracles.numeric.numeric_gradient import numeric_gradient

            raised = double_precision_problem(self.context.points.own.problem)
            try:
                found = numeric_gradient(raised, self.tensor, self.step).one_sided(element, number)
            except GradcheckError:
                found = (np.nan, np.nan)
            self._known[element, number] = found
        return self._known[element, number]

    def _has_derivative(self, element: int) -> bool:
        """Return whether a side has one; of an infinite gradient, both."""
        finite = np.isfinite(self.sides(element))
        return bool(finite.any() if np.isnan(self.gradient.flat[element]) else finite.all())

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The place of the element, its gradient and a finite derivative."""
        index = tuple(int(i) for i in np.unravel_index(self.element, self.gradient.shape))
        want = next(filter(np.isfinite, self.sides(self.element)), None)
        return {"worst_index": index, "got": as_number(self.gradient[index]), "want": want}

    @cached_property
    def fact(self) -> Fact | None:
        """The element, its origin and its derivative; None if unknown."""
        born = self._birth()
        if born is None and not self.has_derivative:
            return None
        index, gradient = self.numbers["worst_index"], self.numbers["got"]
        value = as_number(self.value[index])
        derivative = _derivative(*self.sides(self.element)) if self.has_derivative else None
        safe = self._safe_entry(born) if born is not None and derivative is not None else None
        return fact("nonfinite_gradient", tensor=self.tensor, index=index, value=value, gradient=gradient,
                    derivative=derivative, born=born, safe=safe)  # fmt: skip

    def as_failure(self, c: Comparison) -> Comparison:
        """Return a comparison that fails at an element of finite derivative."""
        c = c.with_subject(reference="differences")
        return replace(c, status="failed", mismatch=self.fact, mismatched=1, notes=(), **self.numbers)

    def element_lost_by(self, c: Comparison) -> int | None:
        """Return an element at which only the derivative is finite."""
        if c.got_array is None or not self._differs_there_alone(c):
            return None
        got = wide(c.got_array).ravel()
        some = (int(at) for at in self.elements[:_MOST_ELEMENTS] if not np.isfinite(got[at]))
        return next(filter(self._has_derivative, some), None)

    def explains(self, c: Comparison) -> bool:
        """Return whether a formula differs only there, by right numbers."""
        if c.mask is None or c.got_array is None or not self._differs_there_alone(c):
            return False
        differing, got = np.flatnonzero(c.mask), wide(c.got_array).ravel()
        return len(differing) <= _MOST_ELEMENTS and all(self._is_right(int(at), complex(got[at])) for at in differing)

    def _differs_there_alone(self, c: Comparison) -> bool:
        if c.mask is None or c.got_array is None or c.mask.shape != c.got_array.shape:
            return False
        return set(np.flatnonzero(c.mask)) <= set(self.elements)

    def _is_right(self, element: int, value: complex) -> bool:
        """Return whether a number, or each part, lies between the derivatives."""
        imaginary = self.sides(element, 1j) if self.value.dtype.kind == "c" else (0.0, 0.0)
        return _is_between(value.real, self.sides(element)) and _is_between(value.imag, imaginary)

    def _birth(self) -> Fact | None:
        """Return the op whose rule makes the first such number on the way."""
        from gradcheck.checks.failures.gradient_flow import GradientFlow

        try:
            flow = GradientFlow(self.context.points.own.problem, self.step)
            received = flow.run_backward().received
        except GradcheckError:
            return None
        behind = flow.ancestors(self.tensor)
        for tensor, contributions in received.items():
            if flow.names.get(tensor) in behind:
                continue
            for one in contributions:
                at = _first_not_finite(one, received)
                if at is not None and one.child is not None and one.child.creation_op is not None:
                    argument = wide(tensor.data)[at] if tensor.data.shape == one.share.shape else None
                    entry = flow.owners.get(one.child, "")
                    number = None if argument is None else as_number(argument)
                    return fact("nonfinite_arises", op=one.child.creation_op.name, entry=entry, argument=number)
        return None

    def _safe_entry(self, born: Fact) -> Fact | None:
        """Return the entry with a harmless argument in the branch not taken."""
        from gradcheck.checks.failures.gradient_flow import GradientFlow

        problem, name = self.context.points.own.problem, born["entry"]
        for expr in _with_safe_arguments(problem.case.graph[name].expr, born["op"]):
            graph = {**problem.case.graph, name: Claim.of(expr)}
            try:
                flow = GradientFlow(replace(problem, case=replace(problem.case, graph=graph)), self.step)
                gradient = flow.run_backward().expected[self.tensor]
            except (GradcheckError, KeyError):
                continue
            if np.isfinite(wide(gradient)[self.numbers["worst_index"]]):
                return fact("entry_is", name=name, text=graph[name].text)
        return None


def _with_safe_arguments(expr: Expr, op: str) -> Iterator[Expr]:
    """Yield `where(c, op(where(c, x, 1)), …)` for `where(c, op(x), …)`."""
    choices = [node for node in expr.walk() if isinstance(node, Call) and node.op == "where" and len(node.args) == 3]
    for condition, *branches in (choice.args for choice in choices):
        for is_other, branch in enumerate(branches):
            calls = [node for node in branch.walk() if isinstance(node, Call)]
            for inner in sorted(calls, key=lambda call: call.op != op):
                for argument in inner.args:
                    sides = (Literal(1), argument) if is_other else (argument, Literal(1))
                    safe = replace_part(inner, argument, Call("where", (condition, *sides)))
                    yield replace_part(expr, inner, safe)


def _first_not_finite(one: Contribution, received: dict[Tensor, list[Contribution]]) -> tuple[int, ...] | None:
    """Return where a share is the first that is not finite, or None."""
    bad = np.argwhere(~np.isfinite(wide(one.share)))
    if not len(bad) or one.child is None:
        return None
    arrived = (wide(other.share) for other in received.get(one.child, ()))
    return None if not all(np.isfinite(share).all() for share in arrived) else tuple(int(i) for i in bad[0])


def _derivative(left: float, right: float) -> Fact:
    sides: Sequence[float] = [side for side in (left, right) if np.isfinite(side)]
    if len(sides) == 2 and abs(right - left) > _CLOSE * max(abs(left), abs(right)):
        return fact("between_sides", low=min(sides), high=max(sides))
    side = None if len(sides) == 2 else "left" if np.isfinite(left) else "right"
    return fact("derivative_is", value=sides[0], side=side)


def _is_between(value: float, sides: tuple[float, float]) -> bool:
    finite = [side for side in sides if np.isfinite(side)]
    if not finite:
        return False
    room = _CLOSE * max(map(abs, finite))
    return bool(min(finite) - room <= value <= max(finite) + room)
