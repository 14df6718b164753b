"""Second order: gradients of `<gradient, v>` for random v.

That gradient is the Hessian times v, and also how first gradients change along v. So two evaluations of first
gradients check it without any second-order rule (Pearlmutter 1994, Fast Exact Multiplication by the Hessian).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.claims.evaluations import engine_subject
from gradcheck.checks.closeness.agreement import Allowance, Answer, is_found_wrong, who_is_wrong
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.conditioning import Conditioning
from gradcheck.checks.closeness.overflow import leaves_range
from gradcheck.checks.closeness.rounding import recheck_with_rounding
from gradcheck.checks.closeness.tolerance import Tolerance, base, engine_tolerance
from gradcheck.checks.context import Context
from gradcheck.checks.points.degenerate import is_nowhere_defined, pass_as_out_of_range
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Subject
from gradcheck.engines.base import Engine
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun, Gradients, SecondOrder, last_backward_step
from gradcheck.engines.double_precision import double_precision_backend, double_precision_problem
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.case import StatedTolerance
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.traverse import ops_in
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import random_directions, stream
from gradcheck.oracles.numeric.finite_differences import array_derivative
from gradcheck.oracles.numeric.numeric_tangents import first_step_size

#: An error bar wider than this, relative to the largest element, confirms nothing.
_BLURRED = 1e-5
#: The step to either side of a kink, relative to the first one, and the accuracy of such differences.
_SIDE, _KINK = 2.0**-24, 1e-5
#: The rounding of a difference of first gradients, relative to the largest, and a margin for that of a gradient.
_ROUNDINGS, _MARGIN = 2.0**-50, 8.0
#: An error bar below this part of a difference decides which side is right.
_OF_GAP = 2.0**-4
#: Differences this exact, relative to the largest element, need no finer steps.
_ENOUGH = 1e-12
#: Factors on the first step where larger ones leave the domain of the code.
_FINER_STARTS = (1.0, 2.0**-8, 2.0**-16)
_FLOAT64 = np.dtype(np.float64)


def applies(context: Context) -> bool:
    """Return whether the run checks second order and there is a backward pass."""
    if context.options.order != 2 or not context.can_be_checked:
        return False
    own = context.points.own
    return last_backward_step(own.problem) is not None and not is_nowhere_defined(own, own.last_step)


def check(context: Context, confirmed: bool = True, unprobed: Collection[str] = ()) -> Iterable[Comparison]:
    """Yield a comparison for each engine and input.

    There are none if the reference or engine has no second order. Without `confirmed`, differences are computed only
    for failures. First gradients of `unprobed` inputs are not differentiated."""
    reference, point = context.engines.reference, context.points.own
    step = last_backward_step(point.problem)
    if step is None or not isinstance(reference, DefineByRun):
        return
    second = _ReferenceSecondOrder(point, step, reference, unprobed)
    if second.want.error is not None:
        return
    for engine in context.engines.tested:
        if isinstance(engine, DefineByRun):
            yield from _SecondOrderComparison(second, engine, context.options.tolerance, confirmed).compare()


class _ReferenceSecondOrder:
    """Second order by reference and differences; `probes` are the random v."""

    def __init__(self, point: Point, step: int, reference: DefineByRun, unprobed: Collection[str] = ()) -> None:
        self.point, self.step, self.reference = point, step, reference
        self.problem = problem = point.problem
        drawn = random_directions(_leaves(problem, step), stream(problem.seed, "probes"))
        self.probes = {name: 0.0 * probe if name in unprobed else probe for name, probe in drawn.items()}
        self.want = reference.second_order(problem, step, self.probes)

    def path(self) -> _ProbePath:
        return _ProbePath(self.reference, self.problem, self.step, self.probes)

    @cached_property
    def differences(self) -> dict[str, Answer]:
        """The gradients' differences along probes; none with `detach`."""
        return gradient_differences(self.reference, self.problem, self.step, self.probes)

    @cached_property
    def allowances(self) -> dict[str, np.ndarray | None]:
        def run(core: Core, problem: Problem) -> list[np.ndarray | None]:
            moved = core.second_order(problem, self.step, self.probes)
            if moved.error is not None:
                raise moved.error
            return [moved.second.get(one) for one in self.probes]

        return dict(zip(self.probes, self.point.conditioning.measure(run), strict=False))


def gradient_differences(
    reference: DefineByRun, problem: Problem, step: int, probes: Mapping[str, np.ndarray]
) -> dict[str, Answer]:
    """Return the change of first gradients along probes; {} with `detach`.

    If the engine raises at large steps, they start smaller."""
    if any("detach" in ops_in(claim.expr) for claim in problem.case.graph.values()):
        return {}
    path = _ProbePath(reference, problem, step, probes)
    for finer in _FINER_STARTS:
        try:
            flat, bar = array_derivative(path.at, finer * path.first_step, 2.0**-50, _ENOUGH)
        except GradcheckError:
            continue
        values, bars = path.split_by_input(flat), path.split_by_input(bar)
        return {name: Answer("differences", values[name], bars[name].real, independent=True) for name in values}
    return {}


def _leaves(problem: Problem, step: int) -> dict[str, np.ndarray]:
    arrays = dict(problem.inputs)
    for changed in problem.forwards[:step]:
        arrays |= {name: array for name, array in changed.items() if name in arrays}
    return arrays


class _ProbePath:
    """First gradients in double precision, as inputs move along probes."""

    def __init__(self, tape: DefineByRun, problem: Problem, step: int, probes: Mapping[str, np.ndarray]) -> None:
        self.engine, self.problem, self.step = tape, double_precision_problem(problem), step
        self.leaves = {n: wide(array) for n, array in _leaves(self.problem, step).items() if n in probes}
        self.probes = {name: wide(probe) for name, probe in probes.items()}
        self.shapes = {name: leaf.shape for name, leaf in self.leaves.items()}
        self.first_step = first_step_size(self.leaves, self.probes)

    def at(self, t: float) -> np.ndarray:
        """Return all first gradients, flat, at inputs moved by `t`."""
        moved = {name: np.asarray(leaf + t * self.probes[name]) for name, leaf in self.leaves.items()}
        return _flatten(_first_gradients(self.engine, self.problem, self.step, moved), self.shapes)

    def split_by_input(self, flat: np.ndarray) -> dict[str, np.ndarray]:
        found, start = {}, 0
        for name, shape in self.shapes.items():
            stop = start + int(np.prod(shape))
            found[name] = flat[start:stop] if self.leaves[name].dtype.kind == "c" else flat[start:stop].real
            start = stop
        return found

    def sides(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], float]:
        """Return left and right derivatives to seven digits, and their rounding."""
        t = self.first_step * _SIDE
        rest = self.at(0.0)
        rounding = _ROUNDINGS * float(np.max(np.abs(rest), initial=0.0)) / t
        return self.split_by_input((self.at(-t) - rest) / -t), self.split_by_input((self.at(t) - rest) / t), rounding


def _first_gradients(tape: DefineByRun, problem: Problem, step: int, leaves: Mapping[str, np.ndarray]) -> Gradients:
    steps = problem.case.steps
    alone = replace(problem.case, steps=(steps[step],))
    moved = replace(
        problem, case=alone, inputs={**problem.inputs, **leaves}, seeds=(problem.seeds[step],), forwards=({},)
    )
    evaluation = double_precision_backend(tape).evaluate(moved)
    error = evaluation.error or (evaluation.states[-1].error if evaluation.states else None)
    if error is not None:
        raise error
    return evaluation.states[-1].gradients


def _flatten(gradients: Gradients, shapes: Mapping[str, tuple[int, ...]]) -> np.ndarray:
    parts = []
    for name, shape in shapes.items():
        gradient = gradients.get(name)
        parts.append(np.zeros(int(np.prod(shape))) if gradient is None else wide(gradient).ravel())
    return np.concatenate(parts) if parts else np.zeros(0)


@dataclass(slots=True)
class _SecondOrderComparison:
    """Compares one engine's second order with the reference's."""

    reference_result: _ReferenceSecondOrder
    engine: Engine
    run: StatedTolerance | None
    must_confirm: bool = True
    _names: tuple[str, str] = field(init=False)

    @property
    def conditioning(self) -> Conditioning:
        return self.reference_result.point.conditioning

    def __post_init__(self) -> None:
        self._names = (self.engine.name, self.reference_result.reference.name)

    def compare(self) -> Iterator[Comparison]:
        """Yield a comparison for each input; none without second order."""
        second = self.reference_result
        assert isinstance(self.engine, DefineByRun)
        got = self.engine.second_order(second.problem, second.step, second.probes)
        if got.error is not None:
            if got.error.kind != "unsupported":
                raised = fact("engine_raised", engine=self.engine.name, error=got.error.kind, text=str(got.error))
                yield self._subject(next(iter(second.probes), "")).failed(raised)
            return
        for name in second.probes:
            yield self._compare(name, got)

    def _subject(self, name: str) -> Subject:
        return engine_subject(
            self.reference_result.point, ClaimKind.GRADIENT2, name, self.engine, self.reference_result.step
        )

    def _compare(self, name: str, got: SecondOrder) -> Comparison:
        mine, theirs = got.second.get(name), self.reference_result.want.second.get(name)
        either = theirs if theirs is not None else mine
        dtype = either.dtype if either is not None else _FLOAT64
        stated = self.reference_result.problem.case.engine_tolerance
        allowed = engine_tolerance(dtype, stated, self.run) if either is not None else base(_FLOAT64)
        found = compare(mine, theirs, allowed, self._subject(name))
        if found.status == "failed" and found.mask is not None:
            if leaves_range(self.reference_result.problem):
                return pass_as_out_of_range(found, *self._names)
            found = recheck_with_rounding(found, self.reference_result.allowances.get(name), self.conditioning)
        if found.status == "passed" and not self.must_confirm:
            return found
        oracle = self.reference_result.differences.get(name)
        if oracle is None or not oracle.values.size:
            return found
        flat = [np.zeros(oracle.values.shape) if one is None else wide(one).ravel() for one in (mine, theirs)]
        if flat[0].shape != flat[1].shape:
            return found
        answers = Answer(self._names[0], flat[0]), Answer(self._names[1], flat[1])
        if found.status == "failed":
            return self._resolve_difference(found, answers, oracle, base(dtype))
        return self._confirm_agreement(found, answers, oracle, allowed)

    def _resolve_difference(
        self, failed: Comparison, answers: tuple[Answer, Answer], oracle: Answer, tolerance: Tolerance
    ) -> Comparison:
        """Decide a failure by the differences of first gradients."""
        got, want = answers
        allowance = _allowance(want, tolerance)
        if self.conditioning.is_of_low_precision and oracle.agrees(got, allowance):
            note = fact("differences_side_with", engine=self._names[0], reference=self._names[1])
            return replace(failed, status="passed", mismatched=0).with_notes(note)
        if self._is_convention(failed, got, want):
            return replace(failed, status="not_differentiable", verdict=fact("convention_at_first_kink"))
        verdict = who_is_wrong(got, want, [oracle], allowance)
        if verdict is not None and is_found_wrong(verdict, want.name) and failed.mask is not None:
            gap = np.nan_to_num(np.abs(got.values - want.values), nan=np.inf)
            if np.all((oracle.error <= _OF_GAP * gap)[failed.mask.ravel()]):
                return failed.without_numbers(
                    "passed", verdict=fact("reference_wrong", reference=want.name, what=verdict)
                )
        return replace(failed, verdict=verdict)

    def _confirm_agreement(
        self, found: Comparison, answers: tuple[Answer, Answer], oracle: Answer, tolerance: Tolerance
    ) -> Comparison:
        """Confirm an agreement by the differences of first gradients."""
        got, want = answers
        if got.name == want.name:
            return self._compare_with_differences(found, got, oracle, tolerance)
        allowance = _allowance(want, tolerance)
        scale = float(np.max(np.abs(want.values), initial=0.0))
        bar = float(np.max(oracle.error, initial=0.0))
        if not bar <= _BLURRED * scale:
            return found.with_notes(fact("differences_cannot_confirm", error=bar)) if scale else found
        if not oracle.agrees(got, allowance):
            slack = self.reference_result.allowances.get(found.tensor)
            if slack is not None and slack.size == allowance.absolute.size:
                allowance = Allowance(allowance.absolute + slack.ravel(), allowance.relative)
        if oracle.agrees(got, allowance):
            return replace(found, certificate={"method": "differences", "error": bar})
        if leaves_range(self.reference_result.problem):
            return pass_as_out_of_range(found, "differences")
        return replace(found, status="failed", mismatch=fact("differences_disagree", got=got.name, want=want.name))

    def _compare_with_differences(
        self, found: Comparison, got: Answer, oracle: Answer, tolerance: Tolerance
    ) -> Comparison:
        """Compare an engine that is its own reference."""
        path = self.reference_result.path()
        rounding = _MARGIN * _ROUNDINGS * float(np.max(np.abs(path.at(0.0)), initial=0.0)) / path.first_step
        bar = max(float(np.max(oracle.error, initial=0.0)), rounding)
        sizes = [np.abs(values[np.isfinite(values)]) for values in (got.values, oracle.values)]
        scale = max(float(np.max(size, initial=0.0)) for size in sizes)
        if not bar <= _BLURRED * scale:
            return found.with_notes(fact("differences_cannot_confirm", error=bar)) if scale else found
        subject = replace(found.subject, reference="differences")
        shape = self.reference_result.problem.inputs[found.tensor].shape
        mine, right = (values.reshape(shape) for values in (got.values, oracle.values))
        compared = compare(mine, right, Tolerance(tolerance.rtol, tolerance.atol + bar), subject)
        if compared.status == "failed" and leaves_range(self.reference_result.problem):
            return pass_as_out_of_range(found, "differences")
        if compared.status == "failed":
            at_kink = replace(compared, status="not_differentiable", verdict=fact("convention_at_first_kink"))
            return at_kink if self._is_convention(compared, got, got) else compared
        return replace(found, certificate={"method": "differences", "error": bar})

    def _is_convention(self, found: Comparison, got: Answer, want: Answer) -> bool:
        """Return whether both results lie between the sides of a kink."""
        if np.iscomplexobj(got.values) or np.iscomplexobj(want.values) or found.mask is None:
            return False
        try:
            before, behind, rounding = self.reference_result.path().sides()
        except GradcheckError:
            return False
        left, right = before[found.tensor], behind[found.tensor]
        low, high, wrong = np.minimum(left, right), np.maximum(left, right), found.mask.ravel()
        room = _KINK * float(np.max(np.maximum(np.abs(low), np.abs(high)), initial=0.0)) + rounding
        inside = [(low - room <= one.values) & (one.values <= high + room) for one in (got, want)]
        return bool(np.all((inside[0] & inside[1] & (high - low > 100 * room))[wrong]))


def _allowance(want: Answer, tolerance: Tolerance) -> Allowance:
    return Allowance(np.full(want.values.shape, tolerance.atol), tolerance.rtol)
