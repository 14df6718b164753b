"""Blame: which of two differing sides is wrong.

The numeric oracle, other engines and the file's claims are compared with both. `kinks` has settled points without a
derivative before. Cases that pass cost nothing; the work on failures is bounded by counts, not by time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import largest_finite
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import lookup
from gradcheck.checks.claims.formulas import formula_allowance
from gradcheck.checks.claims.operations import gradient_positions
from gradcheck.checks.closeness.agreement import Answer, is_found_wrong
from gradcheck.checks.closeness.rounding import capped_allowance
from gradcheck.checks.context import Context
from gradcheck.checks.failures.disagreement import (
    FILE,
    FORMULA,
    Disagreement,
    disagreement_of,
    normwise_slack,
    oracle_confirms,
)
from gradcheck.checks.failures.kink_conventions import classify_at_kink
from gradcheck.checks.failures.point_failures import COMPUTATION_ERRORS
from gradcheck.checks.failures.reference_errors import ReferenceOpErrors, reference_error_verdict
from gradcheck.checks.failures.wrong_steps import claim_of
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, WrongOperation
from gradcheck.engines.double_precision import double_precision_array, double_precision_problem
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY
from gradcheck.language.expr.traverse import ops_in
from gradcheck.language.trial_draws import mentions_inner_gradient
from gradcheck.oracles.numeric.directional_derivative import HIGH_PRECISION_ELEMENTS
from gradcheck.oracles.numeric.finite_differences import Estimate
from gradcheck.oracles.numeric.numeric_gradient import NumericGradient, numeric_gradient
from gradcheck.oracles.numeric.objective import OpObjective, WideHost, precise_value
from gradcheck.oracles.numeric.work_budget import WorkBudget

#: The most failures of a point, and elements of a failure, that are checked: the worst ones, or more at kinks.
MAX_FAILURES, MAX_ELEMENTS, MAX_KINKED_ELEMENTS = 12, 6, 256
#: The oracle's work for one tensor and for one point; all points have _POINTS times as much. Once it is spent,
#: failures get no verdict.
WORK, ALL_WORK, _POINTS = 1_000_000_000, 3_000_000_000, 4

#: A reference error is the known one if its relative error is at most so many times as large.
_AS_MUCH = 2.0

#: Values that differ by less than this part of the largest may be inexact, not wrong.
_INEXACT = 1e-7

#: The part of the largest allowance that is granted where nothing is measured.
_PART = 0.25

#: Verdicts that blame no side.
_UNDECIDED_VERDICTS = frozenset(("oracle_cannot_tell", "all_differ"))

#: Modules of ops that factorize matrices.
_ALGORITHMS = frozenset(("inverse_solve", "determinants", "factorizations"))


def assign_blame(context: Context) -> None:
    """Give failures at the case's own numbers, and at its trials, a verdict."""
    budget = WorkBudget(_POINTS * ALL_WORK)
    for point in (context.points.own, *context.points.other_points):
        if any(c.status == "failed" and c.trial == point.trial for c in context.found):
            raised = double_precision_problem(point.problem)
            with using_default_dtype(dtypes.real_of(raised.dtype)), np.errstate(all="ignore"):
                _BlameAssignment(context, point, WorkBudget(ALL_WORK, within=budget)).run()


@dataclass(slots=True)
class _BlameAssignment:
    """The failures at one point, and the independent answers about them."""

    context: Context
    point: Point
    _budget: WorkBudget
    _oracles: dict[tuple[str, int], NumericGradient | None] = field(default_factory=dict)
    _wrong_ops: ReferenceOpErrors | None = None

    def run(self) -> None:
        looked_at = 0
        for place, c in enumerate(self.context.found):
            if looked_at < MAX_FAILURES and not self._budget.is_spent and self._is_open_here(c):
                again = self._with_verdict(c)
                looked_at += again is not c and again.status == "failed"
                self.context.found[place] = again

    def _is_open_here(self, c: Comparison) -> bool:
        is_constant = c.tensor in self.context.case.constants  # without gradients
        here = c.trial == self.point.trial and c.status == "failed" and c.verdict is None
        return here and not is_constant and c.what is not ClaimKind.WRONG_FORMULA

    def _with_verdict(self, c: Comparison) -> Comparison:
        disagreement = disagreement_of(c)
        if disagreement is None:
            return c
        if c.what.is_about_value:
            return self._value_with_verdict(disagreement)
        if not c.what.is_about_gradient and c.operation is None:
            return c
        slack = self._slack(disagreement)
        disagreement = disagreement.without_explained(slack)
        oracle = self._oracle(c)
        estimate = self._partials(oracle, disagreement, 1 if self._is_known_wrong(disagreement) else MAX_ELEMENTS)
        if estimate is not None and np.any(estimate.kinked):
            estimate = self._partials(oracle, disagreement, MAX_KINKED_ELEMENTS)
        if estimate is not None:
            all_seen = len(estimate.value) >= len(disagreement.indices)
            disagreement = replace(disagreement, indices=disagreement.indices[: len(estimate.value)])
            kinked = classify_at_kink(c, disagreement.answers(), estimate, disagreement.allowance(), all_seen)
            if kinked is not None:
                return self._check_reference(disagreement, kinked, oracle) if oracle is not None else kinked
            if np.any(estimate.kinked) and not np.all(estimate.kinked):  # elsewhere the answers differ
                disagreement, estimate = disagreement.where(~estimate.kinked), estimate.where(~estimate.kinked)
        others = list(self._other_answers(disagreement)) if c.operation is None else []
        if estimate is not None:
            others.append(Answer(estimate.method, estimate.value, estimate.error, independent=True))
        compared = disagreement.with_verdict(others, disagreement.allowance(slack))
        about_reference = reference_error_verdict(self.context, self.point, c)
        if about_reference is not None:
            return replace(c, status="passed", verdict=about_reference)
        checked = self._check_reference(disagreement, compared, oracle) if oracle is not None else compared
        is_of_graph = checked.status == "failed" and c.operation is None
        return self._check_reference_ops(checked, slack) if is_of_graph else checked

    def _value_with_verdict(self, disagreement: Disagreement) -> Comparison:
        """Return a value with its verdict; an inexact reference is excused."""
        c, reference = disagreement.comparison, self.context.engines.reference.name
        precise = [replace(one, independent=True) for one in self._precise_answers(disagreement)]
        others = [*self._other_answers(disagreement), *precise]
        compared = disagreement.with_verdict(others, disagreement.allowance())
        if not precise or compared.verdict is None or not is_found_wrong(compared.verdict, reference):
            return compared
        verdict = fact("reference_wrong", reference=reference, what=compared.verdict)
        return replace(c, status="passed", verdict=verdict)

    def _precise_answers(self, disagreement: Disagreement) -> Iterator[Answer]:
        """Yield the value in high precision, if both are close.

        Forwards are the core's own, so that it tells about roundings only."""
        c = disagreement.comparison
        values = self.point.want.state(c.step).values
        one, other = (answer.values for answer in disagreement.answers())
        is_close = np.abs(one - other).max() <= _INEXACT * max(map(largest_finite, values.values()), default=0.0)
        if is_close and sum(np.size(value) for value in values.values()) <= HIGH_PRECISION_ELEMENTS:
            with suppress(*COMPUTATION_ERRORS):
                value = precise_value(double_precision_problem(self.point.problem), c.tensor, c.step)
                yield from disagreement.answer("high precision", value)

    def _check_reference_ops(self, c: Comparison, slack: np.ndarray | None) -> Comparison:
        """Pass a comparison if ops that the reference has wrong explain it."""
        reference = self.context.engines.reference.name
        is_decided = c.verdict is not None and c.verdict.kind not in _UNDECIDED_VERDICTS
        if is_decided and c.verdict is not None and not is_found_wrong(c.verdict, reference):
            return c
        if self._wrong_ops is None:
            self._wrong_ops = ReferenceOpErrors(self.point, self.context.options.tolerance, self._with_verdict)
        explained = None if slack is None else capped_allowance(slack, self.point.conditioning.limit)
        verdict = self._wrong_ops.verdict(c, explained)
        return c if verdict is None else replace(c, status="passed", verdict=verdict)

    def _is_known_wrong(self, disagreement: Disagreement) -> bool:
        """Return whether a trial's claim is wrong at the case's own numbers too."""
        c, mine = disagreement.comparison, disagreement.answers()[0].name
        if not c.trial:
            return False
        known = (o for o in self.context.found if not o.trial and o.verdict and _claim_key(o) == _claim_key(c))
        return any(o.status == "failed" and o.verdict and is_found_wrong(o.verdict, mine) for o in known)

    def _check_reference(self, disagreement: Disagreement, c: Comparison, oracle: NumericGradient) -> Comparison:
        """Pass a comparison if its reference is wrong.

        It is if the numeric oracle confirms the other side; or if the oracle cannot decide, and the reference is
        off as much as elsewhere. A reference that is off by rounding alone is not wrong.
        """
        reference = self.context.engines.reference.name
        if c.verdict is None:
            return c
        if is_found_wrong(c.verdict, reference):
            if not oracle_confirms(oracle, c) and self._known_reference_error(c) is None:
                return c
            if disagreement.is_rounding_only and c.what is ClaimKind.GRADIENT:
                return disagreement.passed_as_rounding(c.verdict)
            return replace(c, status="passed", verdict=fact("reference_wrong", reference=reference, what=c.verdict))
        known = self._known_reference_error(c) if c.verdict.kind == "oracle_cannot_tell" else None
        alike = known is not None and c.max_rel is not None and c.max_rel <= _AS_MUCH * (known.max_rel or 0.0)
        return replace(c, status="passed", verdict=known.verdict) if known is not None and alike else c

    def _known_reference_error(self, c: Comparison) -> Comparison | None:
        """Return a comparison in which the reference has this gradient wrong."""
        about = (o for o in self.context.found if o.tensor == c.tensor and o.what.is_about_gradient)
        return next((o for o in about if o.verdict is not None and o.verdict.kind == "reference_wrong"), None)

    # Independent answers ------------------------------------------------------------------------

    def _oracle(self, c: Comparison) -> NumericGradient | None:
        try:
            if c.operation is not None:
                return _operation_oracle(c.operation)
            key = (c.tensor, c.step)
            if key not in self._oracles:
                self._oracles[key] = None
                self._oracles[key] = numeric_gradient(double_precision_problem(self.point.problem), *key)
            return self._oracles[key]
        except COMPUTATION_ERRORS:  # only other engines can evaluate the graph
            return None

    def _partials(self, oracle: NumericGradient | None, disagreement: Disagreement, most: int) -> Estimate | None:
        if oracle is None:
            return None
        some = replace(disagreement, indices=disagreement.indices[:most])
        one, other = (answer.values for answer in some.answers())
        try:
            return oracle.deciding_partials(some.indices.tolist(), one, other, WorkBudget(WORK, within=self._budget))
        except COMPUTATION_ERRORS:
            return None

    def _slack(self, disagreement: Disagreement) -> np.ndarray | None:
        """Return what rounding may take the disputed gradient from the right one."""
        c, conditioning = disagreement.comparison, self.point.conditioning
        if c.operation is not None:
            return normwise_slack(disagreement.got, disagreement.want)
        if self._is_known_wrong(disagreement) and not conditioning.may_explain(c):
            return np.full(disagreement.want.shape, _PART * conditioning.limit)
        if conditioning.rough_rounding.is_negligible(c):
            return None
        return conditioning.allowance(ClaimKind.GRADIENT, c.step, c.tensor)

    def _other_answers(self, disagreement: Disagreement) -> Iterator[Answer]:
        """Yield the other engines' answers and the file's claims."""
        c = disagreement.comparison
        is_value = c.what.is_about_value
        evaluations = self.point.evaluations()
        known = (c.engine, c.reference, "core" if _calls_algorithms(self.context.case, c) else "")
        for name, evaluation in evaluations.items():
            if name not in known and c.step < len(evaluation.states):
                state = evaluation.states[c.step]
                yield from disagreement.answer(name, (state.values if is_value else state.gradients).get(c.tensor))
        for what in (ClaimKind.EXPECTED_VALUE,) if is_value else (ClaimKind.FORMULA, ClaimKind.EXPECTED):
            yield from self._claim_of_file(disagreement, what)
        if is_value and "core" not in evaluations:
            yield from disagreement.answer("NumPy", self._numpy_value(c.tensor))

    def _claim_of_file(self, disagreement: Disagreement, what: ClaimKind) -> Iterator[Answer]:
        """Yield a claim of the file that passed, as an answer."""
        c = disagreement.comparison
        if c.what is what:
            return
        key = (what, c.tensor, c.step, c.trial, "passed")
        passed = (o for o in self.context.found if (o.what, o.tensor, o.step, o.trial, o.status) == key)
        other = next(passed, None)
        claim = None if other is None else claim_of(self.context.case, other)
        by_reference = claim is not None and mentions_inner_gradient(self.context.case, claim.expr)
        if other is None or by_reference:  # a formula of the reference's own gradients
            return
        same = (what, c.tensor, other.formula)
        proved = any(o.certificate is not None for o in self.context.found if (o.what, o.tensor, o.formula) == same)
        name, said_by = (FORMULA, other.reference) if what is ClaimKind.FORMULA else (FILE, other.engine)
        name = fact("proved", what=name) if proved else name
        if what is ClaimKind.FORMULA:  # a proved formula passes, whatever the reference says
            yield from (replace(a, name=name, independent=proved) for a in self._formula_answers(disagreement, other))
            return
        parties = (party for party in disagreement.answers() if party.name == said_by)
        yield from (replace(party, name=name, independent=proved) for party in parties)

    def _formula_answers(self, disagreement: Disagreement, c: Comparison) -> Iterator[Answer]:
        claim = claim_of(self.context.case, c)
        if claim is None:
            return
        try:
            found = self.point.scope(c.step).array_of(claim.expr)
        except GradcheckError:
            return
        noise = formula_allowance(self.point, c.step, c.tensor, claim)
        for answer in disagreement.answer("", found):
            known = noise is not None and noise.size == found.size
            yield replace(answer, error=noise.ravel()[disagreement.indices]) if noise is not None and known else answer

    def _numpy_value(self, tensor: str) -> np.ndarray | None:
        """Return the value by NumPy's forwards, if the core is no engine."""
        names = self.point.problem.environment()
        try:
            for name, claim in self.context.case.graph.items():
                names[name] = evaluate(claim.expr, names, NUMPY)
        except COMPUTATION_ERRORS:
            return None
        found = names.get(tensor)
        return found if isinstance(found, np.ndarray) else None


def _claim_key(c: Comparison) -> tuple[object, ...]:
    return c.what, c.tensor, c.step, c.engine, c.reference, c.formula


def _calls_algorithms(case: Case, c: Comparison) -> bool:
    """Return whether a formula needs an inverse or the like from the core."""
    if c.what is not ClaimKind.FORMULA:
        return False
    formulas = [claim for claim in case.formulas.get(c.tensor, ()) if claim.text == c.formula]
    called = {name for claim in (*formulas, *case.let.values()) for name in ops_in(claim.expr)}
    modules = {op.forward.__module__.rpartition(".")[2] for op in map(lookup, called) if op is not None}
    return not modules.isdisjoint(_ALGORITHMS)


def _operation_oracle(one: WrongOperation) -> NumericGradient:
    """Return the oracle of one op alone, in double precision."""
    application = one.application
    held = [double_precision_array(array) for array in arrays(application.args, application.kwargs)]
    place = gradient_positions(application)[one.index]
    host = WideHost()

    def call(value: object) -> object:
        position = iter(range(len(held)))

        def chosen(_: np.ndarray) -> object:
            at = next(position)
            return value if at == place else held[at].copy()

        args, kwargs = rebuild(application.args, application.kwargs, chosen, host.dtype)
        return host.call(application.op, args, kwargs)

    return NumericGradient([OpObjective(held[place], call, one.operation.cotangents)])
