"""Measure how far rounding may take each element; only after a difference.

Forwards and rules run again, a few times, on numbers that round at random at every elementary operation (see
`autograd/random_rounding.py`), in the dtypes of the case. How far an element moves is the effect of rounding at this
point of this graph, with its structural zeros, cancellations and constants (Monte Carlo arithmetic: Parker 1997;
CESTAC: Vignes 1993). In less than double precision, the loss of the plain run against double precision counts too,
since true roundings may all go one way. The allowance is a few times as much.

Rounding noise grows with the roundings. A jump (a tie of `max`, a kink of `abs`) does not: small roundings move a
result as far as large ones, to one of a few values. Elements that jump get no allowance, so that a wrong convention
at a kink stays visible. Elements that take any value under the smallest roundings are undetermined, and never decide
a comparison.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import largest_finite, wide
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.random_rounding import Roundings
from gradcheck.checks.closeness.rough_rounding import RoughRounding, states_as_stated
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.result import Comparison
from gradcheck.checks.scope import Scope
from gradcheck.engines.base import Engine, Evaluation, State
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.double_precision import DoublePrecisionHost, double_precision_backend, double_precision_problem
from gradcheck.engines.fast_path_audit import first_difference
from gradcheck.engines.rounding_core import RoundingCore
from gradcheck.errors import DomainError, GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.evaluation.host import NUMPY
from gradcheck.language.expr.nodes import Dtype
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream

Arrays = Sequence[np.ndarray | None]
#: Computes arrays with an engine; always the same ones, None if there is none.
Run = Callable[[Core], Arrays]
Computation = Callable[[Core, Problem], Arrays]
#: The kind (value or gradient), the step and the tensor.
Key = tuple[ClaimKind, int, str]

#: Runs with each size of roundings.
_DRAWS = 6
#: The larger roundings, in units of the smaller ones; less in half precision, which they would exhaust.
_LARGER, _LARGER_OF_HALVES, _HALF = 64.0, 16.0, 2.0**-11
_DOUBLE = 2.0**-52
#: The allowance, in units of the largest move; less in half precision, where roundings inside an op are taken to be
#: as coarse as those of its result.
_MARGIN, _MARGIN_OF_HALVES = 8.0, 4.0
#: A loss against double precision counts up to this multiple of the noise; more is an untaken branch.
_SAME_WAY = 64.0
#: An element that smaller roundings move as far, within the first factor, jumps or is undetermined. Within the second
#: one, this may be chance for some elements, but not for most of a tensor.
_STAYS, _UNSURE = 2.0, 8.0
#: Elements that jump take at most `_VALUES` values, which differ by a part of the larger one.
_VALUES, _APART = 3, 1e-3
#: Moves below this part of the largest are noise about a value. An undetermined element in double precision may be a
#: million times as far off in some draw.
_NOTHING, _NOTHING_OF_LOW = 1e-10, 1e-6
#: By the coarsest rounding: the largest allowance, as a part of the largest magnitude in the evaluation. If rounding
#: explains more than this limit, nothing is decided.
_CAPS = ((1e-12, 1e-3), (1e-5, 1e-2), (2e-3, 0.1), (1.0, 0.25))


def allowances(run: Run, precise: Callable[[], Arrays], unit: float, seed: int) -> list[np.ndarray | None]:
    """Return what each element of the arrays of `run` may be off by, absolute.

    0 where an element jumps, infinite where it is undetermined; None without an array of constant shape. `unit` is
    the coarsest rounding; if it exceeds double precision, `precise` returns the arrays in that.

    Raises GradcheckError.
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
    """Return the largest absolute allowance among such arrays."""
    return next(part for bound, part in _CAPS if unit <= bound) * max(map(largest_finite, arrays), default=0.0)


def is_low_precision(unit: float) -> bool:
    """Return whether the rounding unit exceeds double precision."""
    return unit > _DOUBLE


def _moves(run: Run, still: Arrays, size: float, generator: np.random.Generator) -> list[np.ndarray | None]:
    """Return each array's signed moves, in units of `size`, draws first."""
    found: list[list[np.ndarray]] = [[] for _ in still]
    for _ in range(_DRAWS):
        for moves, base, moved in zip(found, still, _run_rounded(run, still, Roundings(generator, size)), strict=True):
            if base is not None and moved is not None and moved.shape == base.shape:
                with np.errstate(all="ignore"):
                    same = (moved == base) | (np.isnan(moved) & np.isnan(base))
                    moves.append(np.where(same, 0.0, (wide(moved) - base) / size))
    return [np.stack(moves) if len(moves) == _DRAWS else None for moves in found]


def _run_rounded(run: Run, still: Arrays, roundings: Roundings) -> Arrays:
    """Return the arrays with these roundings; NaN where they leave a domain."""
    try:
        return run(RoundingCore(roundings))
    except DomainError:
        return [None if base is None else np.full(base.shape, np.nan) for base in still]


def _noise(fine: np.ndarray | None, coarse: np.ndarray | None, larger: float, nothing: float) -> np.ndarray | None:
    """Return how far rounding moves each element; see `allowances`."""
    if fine is None or coarse is None:
        return None
    with np.errstate(all="ignore"):
        near, far = np.abs(fine).max(axis=0), np.abs(coarse).max(axis=0)
        grows, few = _spread(fine) / _spread(coarse), _takes_few_values(fine, nothing)
        stays, unsure = grows > larger / _STAYS, grows > max(larger / _UNSURE, _UNSURE)
        none = ~np.isfinite(near)  # sometimes not a number
        if 2 * np.count_nonzero((unsure & ~few) | none) > near.size:  # the other elements are so by chance
            return np.full(near.shape, np.inf)
        noise = np.maximum(near, np.where(np.isfinite(far), far, 0.0))
        return np.where((stays & ~few) | none, np.inf, np.where(stays & few, 0.0, noise))


def _spread(moves: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(moves - moves.mean(axis=0)).max(axis=0))


def _takes_few_values(moves: np.ndarray, nothing: float) -> np.ndarray:
    """Return where draws, without the plain run, fall into few groups."""
    values = np.sort(moves - moves.min(axis=0), axis=0)
    gaps = np.diff(values, axis=0) > np.maximum(_APART * values[1:], nothing * np.abs(moves).max(axis=0))
    few: np.ndarray = gaps.sum(axis=0) < _VALUES
    return few


def _with_precision_loss(
    noise: np.ndarray | None, still: np.ndarray | None, truth: np.ndarray | None
) -> np.ndarray | None:
    """Return the noise with the loss of the plain run added."""
    if noise is None or still is None or truth is None or truth.shape != still.shape:
        return noise
    with np.errstate(all="ignore"):
        lost = np.abs(still - truth)
        return np.where(lost <= _SAME_WAY * noise, np.maximum(noise, lost), noise)


class Conditioning:
    """The rounding allowances of one problem, by a reference's evaluation."""

    def __init__(
        self, reference: Engine, problem: Problem, evaluation: Evaluation, of_graph: Conditioning | None = None
    ) -> None:
        """Share runs with `of_graph`, of the same graph with other claims."""
        self._reference, self._problem, self._evaluation, self._same_graph = reference, problem, evaluation, of_graph
        self.why_not: Fact | None = None  # why there is no measurement, if there is none

    def may_explain(self, failed: Comparison) -> bool:
        """Return whether the largest allowance, or an overflow, may explain it."""
        got, want, mask = failed.got_array, failed.want_array, failed.mask
        if got is None or want is None or mask is None:
            return False
        error = np.abs(wide(got) - wide(want))[mask]
        return bool((~(error > self.limit + (failed.atol or 0.0)) | np.isinf(error)).all())

    @cached_property
    def fast_path_difference(self) -> Fact | None:
        """The first op whose fast path in the core differs, if any."""
        return first_difference(self._problem)

    @cached_property
    def rough_rounding(self) -> RoughRounding:
        """Two rough runs; none in low precision, which is always measured."""
        known = None if self._same_graph is None else self._same_graph.rough_rounding
        return RoughRounding(None if self.is_of_low_precision else self._problem, known)

    def allowance(self, what: ClaimKind, step: int, tensor: str) -> np.ndarray | None:
        """Return the allowance of a value or gradient after a step, or None."""
        return self._measured.get((what, step, tensor))

    @cached_property
    def _measured(self) -> dict[Key, np.ndarray | None]:
        keys = [key for key, _ in self._arrays()]
        found = self.measure(
            lambda core, problem: _arrays_at_keys(states_as_stated(core.evaluate(problem), problem), keys)
        )
        return dict(zip(keys, found, strict=False))

    def precise_answer(self, what: ClaimKind, step: int, tensor: str) -> np.ndarray | None:
        """Return the reference's array in double precision, for lower ones."""
        return self._precise.get((what, step, tensor))

    @cached_property
    def _precise(self) -> dict[Key, np.ndarray | None]:
        if not self.is_of_low_precision or not isinstance(self._reference, DefineByRun):
            return {}
        keys = [key for key, _ in self._arrays()]
        evaluation = double_precision_backend(self._reference).evaluate(double_precision_problem(self._problem))
        return dict(zip(keys, _arrays_at_keys(states_as_stated(evaluation, self._problem), keys), strict=True))

    def claim_allowances(self, step: int, differences: Callable[[Scope], list[np.ndarray]]) -> list[np.ndarray | None]:
        """Return the allowance of each of a claim's differences; empty if unknown."""

        def run(core: Core, problem: Problem) -> list[np.ndarray]:
            states = states_as_stated(core.evaluate(problem), problem)
            if step >= len(states):
                raise GradcheckError(f"step {step + 1} was not reached")
            with core.session(problem.dtype):
                return differences(Scope(problem, states[step], core.host, waits=True, engine=core))

        return self.measure(run)

    def in_double_precision(self) -> Conditioning:
        """Return the conditioning of the core in double precision."""
        problem = double_precision_problem(self._problem)
        return Conditioning(Core(), problem, double_precision_backend(Core()).evaluate(problem))

    def unrounded_difference(self, step: int, differences: Callable[[Scope], list[np.ndarray]]) -> np.ndarray | None:
        """Return a claim's first difference without random roundings, or None."""
        states = self._evaluation.states
        if step >= len(states):
            return None
        try:
            with using_default_dtype(dtypes.real_of(self._problem.dtype)):
                return differences(Scope(self._problem, states[step], DoublePrecisionHost(NUMPY), waits=True))[0]
        except (GradcheckError, ValueError):
            return None

    def gradient(self, step: int, tensor: str) -> np.ndarray | None:
        """Return a tensor's gradient after a step, or None."""
        states = self._evaluation.states
        return states[step].gradients.get(tensor) if step < len(states) else None

    def measure(self, run: Computation) -> list[np.ndarray | None]:
        """Return the allowances of what `run` computes; empty if it fails."""
        problem = self._problem

        def precise_answer() -> Arrays:
            return run(double_precision_backend(Core()), double_precision_problem(problem))

        try:
            return allowances(lambda core: run(core, problem), precise_answer, self._unit, problem.seed)
        except (GradcheckError, ValueError) as error:  # no allowance without a computation
            self.why_not = fact("no_conditioning", error=str(error))
            return []

    @property
    def scale(self) -> float:
        """The largest magnitude of an input."""
        inputs = (array for array in self._problem.inputs.values() if dtypes.is_differentiable(array.dtype))
        return max((float(np.max(np.abs(array), initial=0.0)) for array in inputs), default=0.0)

    @property
    def is_of_low_precision(self) -> bool:
        """True if something is rounded to less than double precision."""
        return is_low_precision(self._unit)

    @cached_property
    def limit(self) -> float:
        """The largest absolute allowance."""
        return max_allowance(self._unit, (array for _, array in self._arrays()))

    @cached_property
    def _unit(self) -> float:
        """The coarsest relative rounding anywhere in the graph."""
        units = (epsilon(array.dtype) for _, array in self._arrays())
        return max(epsilon(self._problem.dtype), *_units(self._problem), *units, 0.0)

    def _arrays(self) -> Iterator[tuple[Key, np.ndarray]]:
        """Yield every value and gradient that roundings can reach."""
        for step, state in enumerate(self._evaluation.states):
            for what, arrays in ((ClaimKind.VALUE, state.values), (ClaimKind.GRADIENT, state.gradients)):
                for name, array in arrays.items():
                    if array is not None and dtypes.is_differentiable(array.dtype):
                        yield (what, step, name), array


def _arrays_at_keys(states: Sequence[State], keys: Iterable[Key]) -> list[np.ndarray | None]:
    found: list[np.ndarray | None] = []
    for what, step, name in keys:
        if step >= len(states):
            found.append(None)
            continue
        state = states[step]
        found.append((state.values if what is ClaimKind.VALUE else state.gradients).get(name))
    return found


def _units(problem: Problem) -> Iterable[float]:
    for claim in problem.case.graph.values():
        for node in claim.expr.walk():
            if isinstance(node, Dtype):
                yield epsilon(dtypes.BY_NAME[node.name])
