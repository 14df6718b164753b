"""Check each op of a graph alone in forward mode.

Tangents of its outputs along random directions are compared with the reference's and the numeric oracle's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import Op
from gradcheck.checks.claims.evaluations import engine_subject, outcome
from gradcheck.checks.claims.jvp_points import TangentComparison
from gradcheck.checks.claims.operations import gradient_positions, in_double_precision, raised_dtype
from gradcheck.checks.closeness.conditioning import allowances, is_low_precision, max_allowance
from gradcheck.checks.closeness.rounding import recheck_with_allowance
from gradcheck.checks.closeness.tolerance import engine_tolerance, epsilon
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.double_precision import double_precision_array, double_precision_backend
from gradcheck.engines.jvp import Directions, Pushforward, push_operations
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.case import StatedTolerance
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.random_streams import random_direction, stream
from gradcheck.oracles.numeric.finite_differences import Estimate
from gradcheck.oracles.numeric.numeric_tangents import tangents_of_operation

_FLOAT64 = np.dtype(np.float64)


def check_op_jvps(
    point: Point, engines: Sequence[Engine], run: StatedTolerance | None, oracle_is_asked: bool
) -> Iterator[Comparison]:
    """Yield a comparison for each entry that agrees, and for each failure."""
    applications, reference = point.applications, point.engines.reference
    if not applications or not isinstance(reference, DefineByRun):
        return
    directions = directions_of(applications, point.problem.seed)
    want = push_operations(reference, applications, directions, point.problem.dtype)
    listed = [
        _OpJvp(point, place, *one, run, oracle_is_asked)
        for place, one in enumerate(zip(applications, directions, strict=True))
    ]
    for engine in engines:
        if not isinstance(engine, DefineByRun):
            continue
        got = push_operations(engine, applications, directions, point.problem.dtype)
        if all(one.error is not None and one.error.kind == "unsupported" for one in got):
            continue  # without forward mode, which is reported once
        found: dict[str, list[Comparison]] = {application.owner: [] for application in applications}
        for operation, mine, theirs in zip(listed, got, want, strict=True):
            found[operation.application.owner] += operation.compare(engine, mine, theirs)
        for owner, wrong in found.items():
            yield from wrong or [engine_subject(point, ClaimKind.NODE_JVP, owner, engine).passed()]


def directions_of(applications: Sequence[Application], seed: int) -> list[Directions]:
    """Return random directions of each application's tracked arrays."""
    generator = stream(seed, "directions of operations")
    return [
        _allowed_directions(one.op, [random_direction(array, generator) for array in _tracked_arrays(one)])
        for one in applications
    ]


def _allowed_directions(op: Op, directions: list[np.ndarray]) -> list[np.ndarray]:
    """Return directions with a symmetric one for symmetric matrices."""
    if not op.symmetric or not directions:
        return directions
    first, *others = directions
    return [np.asarray((first + np.swapaxes(first.conj(), -1, -2)) / 2), *others]


def _tracked_arrays(application: Application) -> list[np.ndarray]:
    flat = list(arrays(application.args, application.kwargs))
    return [flat[position] for position in gradient_positions(application)]


@dataclass
class _OpJvp:
    """One op alone, and the tangents of its outputs."""

    point: Point
    op_index: int  # among the applications
    application: Application
    directions: Directions
    run: StatedTolerance | None
    uses_oracle: bool

    def compare(self, engine: Engine, mine: Pushforward, theirs: Pushforward) -> Iterator[Comparison]:
        """Yield failures and notes; nothing if all tangents agree."""
        subject = engine_subject(self.point, ClaimKind.NODE_JVP, self.application.owner, engine)
        op = self.application.op.name
        known = theirs.tangents if theirs.error is None else None
        if mine.error is not None:
            differ = fact("outcomes_differ", got=subject.engine, got_outcome=outcome(mine.error),
                          want=subject.reference, want_outcome=outcome(theirs.error))  # fmt: skip
            failed = subject.failed(fact("jvp_fails", op=op, place=self.op_index, what=differ), lacks=mine.error.lacks)
            kinds = [error.kind for error in (mine.error, theirs.error) if error is not None]
            if "unsupported" in kinds:
                yield replace(failed, status="unsupported")
            elif len(kinds) == 1 or kinds[0] != kinds[1]:
                yield failed
            return
        for number, tangent in mine.tangents.items():
            comparison, oracle = self._comparison(tangent, number), self.oracle_tangents.get(number)
            if known is not None:
                found = comparison.compare(tangent, known.get(number), oracle, subject)
            elif oracle is not None:
                found = comparison.compare_with_oracle(tangent, oracle, subject)
            else:
                continue
            if found.status != "passed" or found.verdict:
                which = fact("jvp_of_op", op=op, number=int(number), place=self.op_index, mismatch=found.mismatch)
                yield replace(found, mismatch=which)

    @cached_property
    def oracle_tangents(self) -> dict[str, Estimate]:
        """The numeric oracle's tangents; empty if it is off or fails."""
        if not self.uses_oracle:
            return {}
        moving = [wide(array) for array in _tracked_arrays(self.application)]
        ways = [wide(direction) for direction in self.directions]
        try:
            with using_default_dtype(_FLOAT64), np.errstate(all="ignore"):
                return tangents_of_operation(self.application.op, self._arguments, moving, ways)
        except (GradcheckError, ValueError, TypeError, LookupError):
            return {}

    def _arguments(self, moved: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return arguments in double precision, with `moved` in place."""
        places = dict(zip(gradient_positions(self.application), moved, strict=True))
        position = iter(range(len(list(arrays(self.application.args, self.application.kwargs)))))

        def chosen(array: np.ndarray) -> Any:
            at = next(position)
            return places[at] if at in places else double_precision_array(array).copy()

        return rebuild(self.application.args, self.application.kwargs, chosen, raised_dtype)

    def _comparison(self, tangent: np.ndarray | None, number: str) -> TangentComparison:
        dtype = _FLOAT64 if tangent is None else tangent.dtype
        tolerance = engine_tolerance(dtype, self.point.problem.case.engine_tolerance, self.run)

        def recheck(failed: Comparison) -> Comparison:
            limit = max_allowance(self._unit, [one for one in (*self.directions, failed.want_array) if one is not None])
            return recheck_with_allowance(failed, self._allowances.get(number), limit, self._precise(number))

        return TangentComparison(tolerance, is_low_precision(self._unit), lambda: self._allowances.get(number), recheck)

    @property
    def _unit(self) -> float:
        flat = arrays(self.application.args, self.application.kwargs)
        return max(epsilon(self.point.problem.dtype), *(epsilon(array.dtype) for array in flat))

    @cached_property
    def _allowances(self) -> dict[str, np.ndarray | None]:
        here = replace(self.application, recorded=None, outputs=())
        numbers = list(self._tangents(Core(), here, self.directions))

        def run(core: Core) -> list[np.ndarray | None]:
            return list(map(self._tangents(core, here, self.directions).get, numbers))

        def precise() -> list[np.ndarray | None]:
            return list(map(self._in_double_precision(Core()).get, numbers))

        return dict(zip(numbers, allowances(run, precise, self._unit, self.point.problem.seed), strict=True))

    def _precise(self, number: str) -> np.ndarray | None:
        reference = self.point.engines.reference
        if not is_low_precision(self._unit) or not isinstance(reference, DefineByRun):
            return None
        return self._in_double_precision(reference).get(number)

    def _in_double_precision(self, engine: DefineByRun) -> Mapping[str, np.ndarray | None]:
        again = replace(in_double_precision(self.application), outputs=())
        return self._tangents(
            double_precision_backend(engine), again, [double_precision_array(way) for way in self.directions], _FLOAT64
        )

    def _tangents(
        self, engine: DefineByRun, application: Application, ways: Directions, dtype: np.dtype | None = None
    ) -> Mapping[str, np.ndarray | None]:
        return push_operations(engine, [application], [ways], dtype or self.point.problem.dtype)[0].tangents
