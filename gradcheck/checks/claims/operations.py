"""Check each op of a graph alone: its gradient rule in two engines.

A case's own backward pass often starts from ones, which hide transposes, flips and centering. Random, unsymmetric
cotangents do not.

First each engine pulls the same random gradient through its record of each op, without a second run. The records have
numbers that differ by a rounding, which matters at kinks only, so there the numbers must be equal. An op with one
tensor for two arguments is recorded so. This finds agreement only; other ops are compared on the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import RAISED
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.claims.aliased_arguments import wrong_where_aliased
from gradcheck.checks.claims.cotangents import NormalPool, is_of_ones, operations_of, with_ones
from gradcheck.checks.claims.evaluations import engine_subject, missing_feature_fields, outcome
from gradcheck.checks.closeness.compare import agree, all_agree, compare
from gradcheck.checks.closeness.conditioning import allowances, is_low_precision, max_allowance
from gradcheck.checks.closeness.rough_rounding import is_beyond_rounding, rough_noise, sure_allowance
from gradcheck.checks.closeness.rounding import recheck_with_allowance
from gradcheck.checks.closeness.tolerance import Tolerance, engine_tolerance, epsilon
from gradcheck.checks.context import Context
from gradcheck.checks.points.degenerate import is_all_nan
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Operation, Status, Subject, WrongOperation
from gradcheck.engines.base import ILL_DEFINED, Application, Engine, Pullback
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.double_precision import double_precision_array, double_precision_backend
from gradcheck.engines.fast_path_audit import difference
from gradcheck.engines.recording import RecordedCall, application_of, arrays, flat, rebuild
from gradcheck.facts import fact
from gradcheck.forks import end_fork
from gradcheck.language.case import StatedTolerance
from gradcheck.language.claim_kind import ClaimKind

#: Dtypes in which sums of gradients can be compared directly.
_PLAIN_DTYPES = (np.dtype(np.float64), np.dtype(np.float32))
#: With more elements, the comparison takes longer than the pullback.
_MAX_ELEMENTS = 4_000


class RecordedAgreement(NamedTuple):
    """Owners of ops that agree, and ops without a usable record."""

    owners: tuple[str, ...]
    unrecorded: list[Application]


def compare_recorded(point: Point, engine: Engine, run: StatedTolerance | None) -> RecordedAgreement | None:
    """Return what agrees in both records; None if missing or different."""
    reference = point.engines.reference
    if not isinstance(engine, Core) or not isinstance(reference, DefineByRun) or engine is reference:
        return None
    mine, theirs = point.record(engine), point.record(reference)
    if mine is None or theirs is None or len(mine.calls) != len(theirs.calls):
        return None
    flowing = mine.differentiable_indices()
    numbers = [n for n in flowing if _is_comparable(mine.calls[n], theirs.calls[n], (engine, reference))]
    source = NormalPool(point.problem.seed)
    results = [mine.calls[n].result for n in numbers]
    cotangents = [source.draw(one.shape).astype(one.dtype, copy=False) for one in results]
    got = engine.pull_back_recorded([mine.calls[n] for n in numbers], cotangents)
    want = reference.pull_back_recorded([theirs.calls[n] for n in numbers], cotangents)
    pairs = zip(numbers, got, want, strict=True)
    both = {n: (one, other) for n, one, other in pairs if one is not None and other is not None}
    if not _agree(list(both.values()), point, run):
        return None
    rest = [application_of(mine.calls[n]) for n in flowing if n not in both]
    return RecordedAgreement(tuple(dict.fromkeys([mine.calls[n].owner for n in flowing])), rest)


def _agree(
    both: Sequence[tuple[list[np.ndarray], list[np.ndarray]]], point: Point, run: StatedTolerance | None
) -> bool:
    if any(len(one) != len(another) for one, another in both):
        return False
    stated = point.problem.case.engine_tolerance
    pairs = [pair for one, another in both for pair in zip(one, another, strict=True)]
    return all_agree(pairs, lambda want: engine_tolerance(want.dtype, stated, run))


def _is_comparable(mine: RecordedCall, theirs: RecordedCall, engines: tuple[DefineByRun, DefineByRun]) -> bool:
    """Return whether both are one plain call, at equal numbers near kinks."""
    op, result = mine.op, mine.result
    if type(result) is not Tensor or op is not theirs.op:
        return False
    data = result.data
    if data.dtype not in _PLAIN_DTYPES or data.size > _MAX_ELEMENTS:
        return False
    return op.analytic or not op.kinks or _same_numbers(mine, theirs, engines)


def _same_numbers(mine: RecordedCall, theirs: RecordedCall, engines: tuple[DefineByRun, DefineByRun]) -> bool:
    found = [
        [
            engine.array(value).tobytes()
            for value in flat((*call.args, *call.kwargs.values()))
            if hasattr(value, "requires_grad")
        ]
        for call, engine in zip((mine, theirs), engines, strict=True)
    ]
    return found[0] == found[1]


_FLOAT64 = np.dtype(np.float64)


def applies(context: Context) -> bool:
    """Return whether the graph can be evaluated and reverse mode is checked."""
    return context.can_be_checked and context.options.mode != "forward"


def check(context: Context) -> Iterator[Comparison]:
    """Check each op alone, in each engine."""
    return check_operations(context.points.own, context.engines.tested, context.options.tolerance)


def check_operations(
    point: Point, engines: Sequence[Engine], run: StatedTolerance | None = None
) -> Iterator[Comparison]:
    """Yield a comparison for each entry that agrees, and each wrong gradient."""
    by_reference = cache(lambda: _pulled_by_reference(point, operations_of(point.applications, point.problem.seed)))
    for pair in (_OpComparison(point, engine, run) for engine in engines):
        known = compare_recorded(point, pair.engine, run)
        if known is not None and not pair.compare_some(operations_of(known.unrecorded, point.problem.seed)):
            yield from [pair.subject(owner).passed() for owner in known.owners]
        elif point.applications:
            yield from pair.compare_entries(*by_reference())


def _pulled_by_reference(
    point: Point, operations: Sequence[Operation]
) -> tuple[Sequence[Operation], Sequence[Pullback]]:
    return operations, _pull_back(point.engines.reference, operations, point)


def _pull_back(engine: Engine, operations: Sequence[Operation], point: Point) -> Sequence[Pullback]:
    cotangents = [operation.cotangents for operation in operations]
    return engine.pull_back([operation.application for operation in operations], cotangents, point.problem.dtype)


def wrong_op_gradients(
    point: Point, engine: Engine, applications: Sequence[Application], run: StatedTolerance | None
) -> list[Comparison]:
    """Return the wrong gradients of these ops, each alone, in an engine."""
    return wrong_with_cotangents(point, engine, operations_of(applications, point.problem.seed), run)


def wrong_with_cotangents(
    point: Point, engine: Engine, operations: Sequence[Operation], run: StatedTolerance | None
) -> list[Comparison]:
    """Return the wrong gradients of operations with given cotangents."""
    return [c for c in _OpComparison(point, engine, run).compare_some(operations) if c.status == "failed"]


@dataclass(frozen=True, slots=True)
class _OpComparison:
    """Compares an engine with the reference, one op at a time."""

    point: Point
    engine: Engine
    run: StatedTolerance | None

    @property
    def reference(self) -> Engine:
        return self.point.engines.reference

    def subject(self, owner: str) -> Subject:
        return engine_subject(self.point, ClaimKind.NODE, owner, self.engine)

    def tolerance(self, dtype: np.dtype) -> Tolerance:
        return engine_tolerance(dtype, self.point.problem.case.engine_tolerance, self.run)

    def compare_entries(self, operations: Sequence[Operation], want: Sequence[Pullback]) -> Iterator[Comparison]:
        """Yield a comparison for each entry that agrees, and each wrong gradient."""
        point, applications = self.point, self.point.applications
        wrong: dict[str, list[Comparison]] = {application.owner: [] for application in applications}
        for comparison in self.compare_all(operations, want):
            values = [state.values for state in point.want.states if comparison.tensor in state.values]
            if not (values and is_all_nan(values[0][comparison.tensor])):
                wrong[comparison.tensor].append(comparison)
        cotangents = [operation.cotangents for operation in operations]
        for owner, number in wrong_where_aliased(applications, cotangents, want, (self.engine, point.problem.dtype)):
            shared = fact("wrong_where_shared", op=applications[number].op.name)
            wrong[owner] = wrong[owner] or [self.subject(owner).failed(shared)]
        for owner, found in wrong.items():
            yield from found or [self.subject(owner).passed()]

    def compare_some(self, operations: Sequence[Operation]) -> list[Comparison]:
        return list(self.compare_all(*_pulled_by_reference(self.point, operations))) if operations else []

    def compare_all(self, operations: Sequence[Operation], want: Sequence[Pullback]) -> Iterator[Comparison]:
        """Yield failures and notes for these ops."""
        got = _pull_back(self.engine, operations, self.point)
        end_fork()
        for number, each in enumerate(zip(operations, got, want, strict=True)):
            operation, mine, theirs = self._with_usable_cotangents(*each)
            for index, comparison in self.compare(operation, mine, theirs):
                known = WrongOperation(number, operation, index, self.engine, mine, theirs)
                yield replace(comparison, operation=known)

    def _with_usable_cotangents(
        self, operation: Operation, mine: Pullback, theirs: Pullback
    ) -> tuple[Operation, Pullback, Pullback]:
        """Return it with cotangents of ones if the engine has no products."""
        is_lacking = mine.error is not None and mine.error.kind == "unsupported" and theirs.error is None
        if not is_lacking or is_of_ones(operation):
            return operation, mine, theirs
        ones = with_ones(operation)
        (answer,) = _pull_back(self.engine, [ones], self.point)
        if answer.error is not None and answer.error.kind == "unsupported":
            return operation, mine, theirs
        (wanted,) = _pull_back(self.reference, [ones], self.point)
        return ones, answer, wanted

    def compare(self, operation: Operation, mine: Pullback, theirs: Pullback) -> Iterator[tuple[int, Comparison]]:
        """Yield failures and notes, with the index of the gradient."""
        if mine.error or theirs.error:
            yield from ((0, comparison) for comparison in self._outcomes(operation, mine, theirs))
            return
        if len(mine.gradients) != len(theirs.gradients):
            op, given, wanted = operation.application.op.name, len(mine.gradients), len(theirs.gradients)
            missing = fact("gradients_missing", op=op, engine=self.engine.name, got=given, want=wanted)
            yield 0, self.subject(operation.application.owner).failed(missing)
            return
        for index, (got, want) in enumerate(zip(mine.gradients, theirs.gradients, strict=True)):
            if got is not None and want is not None and got.shape == want.shape and got.dtype == want.dtype:
                if agree(got, want, self.tolerance(want.dtype)):
                    continue
            elif got is None and want is None:
                continue
            found = self._compare_closely(operation, index, mine, theirs)
            if found.status != "passed":
                yield index, found

    def _compare_closely(self, operation: Operation, index: int, mine: Pullback, theirs: Pullback) -> Comparison:
        got, want = mine.gradients[index], theirs.gradients[index]
        dtype = want.dtype if want is not None else got.dtype if got is not None else _FLOAT64
        found = compare(got, want, self.tolerance(dtype), self.subject(operation.application.owner))
        if found.status == "failed" and found.mask is not None:
            found = self._recheck_with_rounding(found, operation, index)
        if found.status == "passed":
            return found
        application, ones = operation.application, is_of_ones(operation)
        number = gradient_positions(application)[index] + 1
        wrong = fact("gradient_of_op", op=application.op.name, number=number, mismatch=found.mismatch, ones=ones)
        return replace(found, mismatch=wrong)

    def _outcomes(self, operation: Operation, mine: Pullback, theirs: Pullback) -> Iterator[Comparison]:
        kinds = [side.error.kind if side.error else "" for side in (mine, theirs)]
        if kinds[0] == kinds[1] or (theirs.error and theirs.error.lacks == ILL_DEFINED):
            return
        application = operation.application
        differ = fact("outcomes_differ", got=self.engine.name, got_outcome=outcome(mine.error),
                      want=self.reference.name, want_outcome=outcome(theirs.error))  # fmt: skip
        text = fact("op_alone", op=application.op.name, what=differ)
        status: Status = "unsupported" if "unsupported" in kinds else "failed"
        lack = missing_feature_fields(status, mine.error, theirs.error)
        yield Comparison(self.subject(application.owner), status, mismatch=text, **lack)

    def _recheck_with_rounding(self, failed: Comparison, operation: Operation, index: int) -> Comparison:
        application, incoming = operation.application, operation.cotangents
        flat = list(arrays(application.args, application.kwargs))
        dtype = self.point.problem.dtype

        def run(core: Core) -> Sequence[np.ndarray | None]:
            return core.pull_back([replace(application, recorded=None)], [incoming], dtype)[0].gradients

        def precise(engine: DefineByRun) -> Sequence[np.ndarray | None]:
            again = in_double_precision(application)
            cotangents = [None if c is None else double_precision_array(c) for c in incoming]
            return double_precision_backend(engine).pull_back([again], [cotangents], _FLOAT64)[0].gradients

        unit = max([epsilon(array.dtype) for array in flat] + [epsilon(dtype)])
        limit = max_allowance(unit, [c for c in (*incoming, failed.want_array) if c is not None])
        noise = None if is_low_precision(unit) else _gradient_at(rough_noise(run, self.point.problem.seed), index)
        if noise is not None:
            if is_beyond_rounding(failed, noise):
                return failed
            again = recheck_with_allowance(failed, sure_allowance(noise, limit), limit)
            if again.status == "passed":
                return again
        found = allowances(run, lambda: precise(Core()), unit, self.point.problem.seed)
        truth: Sequence[np.ndarray | None] = ()
        if is_low_precision(unit) and isinstance(self.reference, DefineByRun):
            truth = precise(self.reference)
        again = recheck_with_allowance(failed, _gradient_at(found, index), limit, _gradient_at(truth, index))
        audited = difference(application) if again.status == "undecided" else None
        return again if audited is None else failed.with_notes(audited)


def _gradient_at(found: Sequence[np.ndarray | None], index: int) -> np.ndarray | None:
    return found[index] if index < len(found) else None


def in_double_precision(application: Application) -> Application:
    """Return the application with all arrays in double precision."""
    args, kwargs = rebuild(application.args, application.kwargs, double_precision_array, raised_dtype)
    return replace(application, recorded=None, args=args, kwargs=kwargs)


def raised_dtype(name: str) -> np.dtype:
    return dtypes.BY_NAME[RAISED.get(name, name)]


def gradient_positions(application: Application) -> list[int]:
    """Return the positions of differentiable arrays among the arguments."""
    tracked = application.tracked or (True,) * sum(1 for _ in arrays(application.args, application.kwargs))
    return [
        position
        for position, array in enumerate(arrays(application.args, application.kwargs))
        if tracked[position] and dtypes.is_differentiable(array.dtype)
    ]
