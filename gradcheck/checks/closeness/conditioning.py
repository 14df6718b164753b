"""Conditioning: how far rounding may take each element of each value and gradient; asked only where two differ.

Forwards and rules run again on numbers that round at random at every elementary operation (see
`autograd/random_rounding.py`), a few times, in the dtypes of the case. How far an element moves is what rounding does
to it at this point of this graph: structural zeros, cancellations and constants included (Monte Carlo arithmetic:
Parker 1997; CESTAC: Vignes 1993). In less than double precision what the plain run has lost against double precision
counts too, for true roundings may all go the same way. A few times as much is allowed to two who differ.

Rounding noise grows with the roundings. A jump (a tie of `max`, a kink of `abs`) does not: it moves a result as far for
small roundings as for large ones, to one of a few values. Elements that jump get no allowance, so that a wrong
convention at a kink stays visible. Elements that take any value for the smallest roundings are hopeless: nothing can be
said of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.random_rounding import Roundings
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.closeness.rough_rounding import RoughRounding
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.result import Comparison
from gradcheck.checks.scope import Scope
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.double_precision import DoublePrecisionHost, double_precision_backend, double_precision_problem
from gradcheck.engines.fast_path_audit import first_difference
from gradcheck.engines.rounding_core import RoundingCore
from gradcheck.errors import DomainError, GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.evaluation.host import NUMPY
from gradcheck.language.expr.nodes import Dtype
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream

Arrays = Sequence[np.ndarray | None]
#: What this engine makes of something, in some precision; always the same arrays, None where there is none.
Run = Callable[[Core], Arrays]
Computation = Callable[[Core, Problem], Arrays]
#: A value or a gradient (a ClaimKind), after a step, of a tensor.
Key = tuple[ClaimKind, int, str]

#: How often it is run with each size of roundings.
_DRAWS = 6
#: The larger roundings, in units of the smaller ones; less in half precision, where larger ones leave nothing.
_LARGER, _LARGER_OF_HALVES, _HALF = 64.0, 16.0, 2.0**-11
_DOUBLE = 2.0**-52
#: How many times as far as rounding has moved it in these draws an element may be off; less in half precision, where
#: roundings inside an op are taken to be as coarse as those of its result.
_MARGIN, _MARGIN_OF_HALVES = 8.0, 4.0
#: What has been lost against double precision counts up to so many times that; more of it is a branch not taken.
_SAME_WAY = 64.0
#: What moves as far for the smaller roundings, within a factor, jumps or is hopeless; within a larger one, it may be so
#: by luck, but not most of a tensor.
_STAYS, _UNSURE = 2.0, 8.0
#: Elements that jump take few values: `_VALUES` at most, told apart by a part of the larger one of two.
_VALUES, _APART = 3, 1e-3
#: So small a part of the largest is the noise about it; of a hopeless element in double precision some draw may be a
#: million times as far off as the others.
_NOTHING, _NOTHING_OF_LOW = 1e-10, 1e-6
#: By the coarsest rounding, what part of the largest magnitude anywhere in the evaluation is allowed at most. Where
#: rounding explains more than this limit, nothing is decided.
_CAPS = ((1e-12, 1e-3), (1e-5, 1e-2), (2e-3, 0.1), (1.0, 0.25))


def allowances(run: Run, precise: Callable[[], Arrays], unit: float, seed: int) -> list[np.ndarray | None]:
    """What each element of the arrays that `run` computes may be off by, absolute; 0 where it jumps, infinite where
    nothing is left of it. None where there is no array, or not always of the same shape.

    `unit` is the coarsest rounding; where it is coarser than double precision, `precise` is asked for the same arrays
    in that. Raises GradcheckError.
    """
    generator = stream(seed, "rounding")
    still = [None if array is None else wide(array) for array in run(Core())]
    larger = _LARGER if unit < _HALF else _LARGER_OF_HALVES
    fine = _moves(run, still, 1.0, generator)
    coarse = _moves(run, still, larger, generator)
    nothing = _NOTHING_OF_LOW if is_low_precision(unit) else _NOTHING
    found = [_noise(a, b, larger, nothing) for a, b in zip(fine, coarse, strict=True)]
    if is_low_precision(unit):
        found = [_with_precision_loss(*one) for one in zip(found, still, precise(), strict=True)]
    margin = _MARGIN if unit < _HALF else _MARGIN_OF_HALVES
    return [None if noise is None else margin * noise for noise in found]


def max_allowance(unit: float, arrays: Iterable[np.ndarray]) -> float:
    """The most that is allowed of anything where these are the numbers there are, absolute."""
    return next(part for bound, part in _CAPS if unit <= bound) * max(map(largest_finite, arrays), default=0.0)


def is_low_precision(unit: float) -> bool:
    """Whether roundings of this size are those of less than double precision."""
    return unit > _DOUBLE


def _moves(run: Run, still: Arrays, size: float, generator: np.random.Generator) -> list[np.ndarray | None]:
    """How far each array moves in each draw, in units of `size`, with its sign; draws come first."""
    found: list[list[np.ndarray]] = [[] for _ in still]
    for _ in range(_DRAWS):
        for moves, base, moved in zip(found, still, _run_rounded(run, still, Roundings(generator, size)), strict=True):
            if base is not None and moved is not None and moved.shape == base.shape:
                with np.errstate(all="ignore"):
                    same = (moved == base) | (np.isnan(moved) & np.isnan(base))
                    moves.append(np.where(same, 0.0, (wide(moved) - base) / size))
    return [np.stack(moves) if len(moves) == _DRAWS else None for moves in found]


def _run_rounded(run: Run, still: Arrays, roundings: Roundings) -> Arrays:
    """What comes out with these roundings; no numbers where they take an argument out of a domain, as where a matrix
    that is all but singular becomes so."""
    try:
        return run(RoundingCore(roundings))
    except DomainError:
        return [None if base is None else np.full(base.shape, np.nan) for base in still]


def _noise(fine: np.ndarray | None, coarse: np.ndarray | None, larger: float, nothing: float) -> np.ndarray | None:
    """How far rounding moves each element: 0 where it jumps, infinite where it is hopeless."""
    if fine is None or coarse is None:
        return None
    with np.errstate(all="ignore"):
        near, far = np.abs(fine).max(axis=0), np.abs(coarse).max(axis=0)
        grows, few = _spread(fine) / _spread(coarse), _takes_few_values(fine, nothing)
        stays, unsure = grows > larger / _STAYS, grows > max(larger / _UNSURE, _UNSURE)
        none = ~np.isfinite(near)  # now a number, now none
        if 2 * np.count_nonzero((unsure & ~few) | none) > near.size:  # the others had luck in these draws
            return np.full(near.shape, np.inf)
        noise = np.maximum(near, np.where(np.isfinite(far), far, 0.0))
        return np.where((stays & ~few) | none, np.inf, np.where(stays & few, 0.0, noise))


def _spread(moves: np.ndarray) -> np.ndarray:
    """How far draws lie apart, whatever the plain run has lost."""
    return np.asarray(np.abs(moves - moves.mean(axis=0)).max(axis=0))


def _takes_few_values(moves: np.ndarray, nothing: float) -> np.ndarray:
    """Where draws fall into few groups, as they do on the two sides of a tie. How far they lie from the plain run says
    nothing of that: it may be the one that is a million times as far off as all others."""
    values = np.sort(moves - moves.min(axis=0), axis=0)
    gaps = np.diff(values, axis=0) > np.maximum(_APART * values[1:], nothing * np.abs(moves).max(axis=0))
    few: np.ndarray = gaps.sum(axis=0) < _VALUES
    return few


def _with_precision_loss(
    noise: np.ndarray | None, still: np.ndarray | None, truth: np.ndarray | None
) -> np.ndarray | None:
    """With what the plain run has lost against double precision."""
    if noise is None or still is None or truth is None or truth.shape != still.shape:
        return noise
    with np.errstate(all="ignore"):
        lost = np.abs(still - truth)
        return np.where(lost <= _SAME_WAY * noise, np.maximum(noise, lost), noise)


class Conditioning:
    """What rounding explains of one problem at its point, where a reference has this `evaluation`."""

    def __init__(
        self, reference: Engine, problem: Problem, evaluation: Evaluation, of_graph: Conditioning | None = None
    ) -> None:
        """`evaluation` is the reference's, of this problem; `of_graph` is of the same graph, with other claims."""
        self._reference, self._problem, self._evaluation, self._same_graph = reference, problem, evaluation, of_graph
        self._measured: dict[Key, np.ndarray | None] | None = None
        self._precise: dict[Key, np.ndarray | None] | None = None
        self.why_not: Fact | None = None  # why there is no measurement, if there is none

    def may_explain(self, failed: Comparison) -> bool:
        """Whether any allowance could be large enough; where none could, there is no need to ask for it. What is not
        finite may come of an overflow or an underflow."""
        got, want, mask = failed.got_array, failed.want_array, failed.mask
        if got is None or want is None or mask is None:
            return False
        error = np.abs(wide(got) - wide(want))[mask]
        return bool((~(error > self.limit + (failed.atol or 0.0)) | np.isinf(error)).all())

    @cached_property
    def fast_path_difference(self) -> Fact | None:
        """The first op at which the core's fast path differs from its definition, which only looks like rounding."""
        return first_difference(self._problem)

    @cached_property
    def rough_rounding(self) -> RoughRounding:
        """What two runs tell at once of what is far beyond rounding. What less than double precision has lost is always
        measured."""
        known = None if self._same_graph is None else self._same_graph.rough_rounding
        return RoughRounding(None if self.is_of_low_precision else self._problem, known)

    def allowance(self, what: ClaimKind, step: int, tensor: str) -> np.ndarray | None:
        """For a VALUE or a GRADIENT after a step: what each element may be off by. None where that is unknown."""
        if self._measured is None:
            keys = [key for key, _ in self._arrays()]
            found = self.measure(lambda core, problem: _arrays_at_keys(core.evaluate(problem), keys))
            self._measured = dict(zip(keys, found, strict=False))
        return self._measured.get((what, step, tensor))

    def precise_answer(self, what: ClaimKind, step: int, tensor: str) -> np.ndarray | None:
        """The reference's own answer in double precision, where the case is in less; None where there is none."""
        if self._precise is None:
            self._precise = {}
            if self.is_of_low_precision and isinstance(self._reference, DefineByRun):
                keys = [key for key, _ in self._arrays()]
                evaluation = double_precision_backend(self._reference).evaluate(double_precision_problem(self._problem))
                self._precise = dict(zip(keys, _arrays_at_keys(evaluation, keys), strict=True))
        return self._precise.get((what, step, tensor))

    def claim_allowances(self, step: int, differences: Callable[[Scope], list[np.ndarray]]) -> list[np.ndarray | None]:
        """What each element of the `differences` may be that a claim after a step is about; empty where that cannot be
        measured."""

        def run(core: Core, problem: Problem) -> list[np.ndarray]:
            states = core.evaluate(problem).states
            if step >= len(states):
                raise GradcheckError(f"step {step + 1} was not reached")
            with core.session(problem.dtype):
                return differences(Scope(problem, states[step], core.host, waits=True))

        return self.measure(run)

    def in_double_precision(self) -> Conditioning:
        """That of the same problem in double precision, by the core."""
        problem = double_precision_problem(self._problem)
        return Conditioning(Core(), problem, double_precision_backend(Core()).evaluate(problem))

    def unrounded_difference(self, step: int, differences: Callable[[Scope], list[np.ndarray]]) -> np.ndarray | None:
        """The first of the `differences` after a step, with no roundings but the core's; None where there is none."""
        states = self._evaluation.states
        if step >= len(states):
            return None
        try:
            with using_default_dtype(dtypes.real_of(self._problem.dtype)):
                return differences(Scope(self._problem, states[step], DoublePrecisionHost(NUMPY), waits=True))[0]
        except (GradcheckError, ValueError):
            return None

    def gradient(self, step: int, tensor: str) -> np.ndarray | None:
        """A tensor's gradient after a step; None where there is none."""
        states = self._evaluation.states
        return states[step].gradients.get(tensor) if step < len(states) else None

    def measure(self, run: Computation) -> list[np.ndarray | None]:
        """What each element may be off by of whatever `run` computes with an engine of the problem, in the case's
        precision or in double precision; empty where it cannot be computed."""
        problem = self._problem

        def precise_answer() -> Arrays:
            return run(double_precision_backend(Core()), double_precision_problem(problem))

        try:
            return allowances(lambda core: run(core, problem), precise_answer, self._unit, problem.seed)
        except (GradcheckError, ValueError) as error:  # what cannot be computed is judged without an allowance
            self.why_not = fact("no_conditioning", error=str(error))
            return []

    @property
    def is_of_low_precision(self) -> bool:
        """Whether something is rounded to less than double precision."""
        return is_low_precision(self._unit)

    @cached_property
    def limit(self) -> float:
        """The most that is allowed of anything, absolute."""
        return max_allowance(self._unit, (array for _, array in self._arrays()))

    @cached_property
    def _unit(self) -> float:
        """The coarsest relative rounding anywhere in the graph."""
        units = (epsilon(array.dtype) for _, array in self._arrays())
        return max(epsilon(self._problem.dtype), *_units(self._problem), *units, 0.0)

    def _arrays(self) -> Iterator[tuple[Key, np.ndarray]]:
        """Every value and gradient that roundings can reach, with its key."""
        for step, state in enumerate(self._evaluation.states):
            for what, arrays in ((ClaimKind.VALUE, state.values), (ClaimKind.GRADIENT, state.gradients)):
                for name, array in arrays.items():
                    if array is not None and dtypes.is_differentiable(array.dtype):
                        yield (what, step, name), array


def _arrays_at_keys(evaluation: Evaluation, keys: Iterable[Key]) -> list[np.ndarray | None]:
    found: list[np.ndarray | None] = []
    for what, step, name in keys:
        if step >= len(evaluation.states):
            found.append(None)
            continue
        state = evaluation.states[step]
        found.append((state.values if what is ClaimKind.VALUE else state.gradients).get(name))
    return found


def _units(problem: Problem) -> Iterable[float]:
    """The rounding units of the dtypes that a graph's expressions name."""
    for claim in problem.case.graph.values():
        for node in claim.expr.walk():
            if isinstance(node, Dtype):
                yield epsilon(dtypes.BY_NAME[node.name])
