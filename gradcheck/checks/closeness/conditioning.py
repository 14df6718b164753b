"""Conditioning: how much of a disagreement rounding alone explains; asked only where two computations disagree.

Two correct implementations may differ by more than a fixed tolerance after many roundings, or where large
contributions cancel. So the reference runs again, in double precision, with every op's result moved by a relative
amount `a` at random (see `engines/perturbation.py`). What the gradients move by, divided by `a`, is the sensitivity of
each element: about the magnitude of its contributions before they cancel. Roundings of relative size `epsilon`
then explain about `epsilon * sensitivity` (Higham, Accuracy and Stability of Numerical Algorithms, 1.5: forward error
is at most condition number times backward error).

Rounding noise is linear in `a`. A jump (a tie of `max`, a kink of `abs`) is not: it moves a result by as much for a
small `a` as for a large one, to one of a few values. Elements that jump get no allowance, so that a wrong convention
at a kink stays visible. Elements that take any value for the least perturbation are infinitely sensitive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import RAISED, largest_finite, wide
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.checks.closeness.tolerance import epsilon
from gradcheck.checks.result import ClaimKind, Comparison
from gradcheck.checks.scope import Scope
from gradcheck.engines.base import Engine, Evaluation
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.perturbation import Perturbation, PerturbingHost, PlainArrays
from gradcheck.errors import GradcheckError
from gradcheck.facts import Fact, fact
from gradcheck.language.expr.nodes import Dtype
from gradcheck.language.problem import Problem
from gradcheck.language.random import stream

Arrays = Sequence[np.ndarray | None]
#: A value or a gradient (a ClaimKind), after a step, of a tensor.
Key = tuple[ClaimKind, int, str]

#: The finer, the worse-conditioned a point may be before the answer is not linear any more; just above roundings.
_FINE, _COARSE, _DRAWS = 2.0**-49, 2.0**-41, 6
#: For roundings inside ops, which the perturbation cannot reach, and the luck of few draws. A primitive op on halves is
#: computed in single precision and rounds once; one that is composed of others rounds in between.
_MARGIN, _MARGIN_OF_HALVES, _HALF = 16.0, 4.0, 2.0**-11
_DOUBLE = 2.0**-52
#: A sensitivity that grows so much as the perturbation shrinks is a jump, if it takes few values: `_VALUES` at most,
#: told apart by a part of the largest. More of them, and it is a point so ill-conditioned that nothing is left.
_JUMP, _VALUES, _APART = 30.0, 3, 1e-3
#: By rounding unit, what part of the largest magnitude anywhere in the evaluation is allowed at most. Where roundings
#: explain more than this limit, nothing is decided.
_CAPS = ((1e-12, 1e-3), (1e-5, 1e-2), (2e-3, 0.1), (1.0, 0.25))


def sensitivity(run: Callable[[Perturbation], Arrays], seed: int) -> list[np.ndarray | None]:
    """What each element of the arrays that `run` computes moves by, for a relative perturbation of 1; None where there
    is no array, or none of the same shape each time. 0 where it jumps or is not finite; infinite where nothing is left
    of the answer."""
    generator = stream(seed, "conditioning")
    still = run(Perturbation(0.0, generator))
    fine = _moves(run, still, _FINE, generator)
    coarse = _moves(run, still, _COARSE, generator)
    return [_smooth(a, b) for a, b in zip(fine, coarse, strict=True)]


def _moves(
    run: Callable[[Perturbation], Arrays], still: Arrays, amplitude: float, generator: np.random.Generator
) -> list[np.ndarray | None]:
    """How far each array moves in each draw, relative to the amplitude; draws come first."""
    found: list[list[np.ndarray]] = [[] for _ in still]
    for _ in range(_DRAWS):
        for moves, base, moved in zip(found, still, run(Perturbation(amplitude, generator)), strict=True):
            if base is not None and moved is not None and moved.shape == base.shape:
                with np.errstate(all="ignore"):
                    moves.append(np.abs(moved - base) / amplitude)
    return [np.stack(moves) if len(moves) == _DRAWS else None for moves in found]


def _smooth(fine: np.ndarray | None, coarse: np.ndarray | None) -> np.ndarray | None:
    if fine is None or coarse is None:
        return None
    with np.errstate(all="ignore"):
        near, far = fine.max(axis=0), coarse.max(axis=0)
        grows, few = near > _JUMP * far, _takes_few_values(fine)
        bad = (grows & few) | ~np.isfinite(near) | ~np.isfinite(far)
        moved = np.where(bad, 0.0, np.maximum(np.where(bad, 0.0, near), np.where(bad, 0.0, far)))
        hopeless = grows & ~few & ~bad
        if 2 * np.count_nonzero(hopeless) > hopeless.size:  # the others had luck in these draws
            return np.full(moved.shape, np.inf)
        return np.where(hopeless, np.inf, moved)


def _takes_few_values(moves: np.ndarray) -> np.ndarray:
    """Where draws fall into few groups, as they do on the two sides of a tie."""
    gaps = np.diff(np.sort(moves, axis=0), axis=0) > _APART * moves.max(axis=0)
    few: np.ndarray = gaps.sum(axis=0) < _VALUES
    return few


@dataclass(frozen=True, slots=True)
class Rounding:
    """What roundings do: their relative size, and the largest magnitude there is, which bounds what is allowed.

    `primitive` is for one op that is not composed of others, and so rounds once in half precision.
    """

    unit: float
    largest: float
    primitive: bool = False

    def allow(self, sensitivity: np.ndarray | None) -> np.ndarray | None:
        """The absolute difference that may be made of something so sensitive; none where nothing is left of it."""
        explained = self.explain(sensitivity)
        return None if explained is None else np.where(np.isinf(explained), 0.0, np.minimum(explained, self.limit))

    def explain(self, sensitivity: np.ndarray | None) -> np.ndarray | None:
        """The difference that could be made of it, beyond the limit too."""
        if sensitivity is None:
            return None
        margin = _MARGIN if self.unit < _HALF else 1.0 if self.primitive else _MARGIN_OF_HALVES
        return np.asarray(margin * self.unit * sensitivity)

    @property
    def limit(self) -> float:
        """The most that is allowed of anything, absolute."""
        return next(part for bound, part in _CAPS if self.unit <= bound) * self.largest

    @property
    def is_of_low_precision(self) -> bool:
        """Whether something is rounded to less than double precision."""
        return self.unit > _DOUBLE


class Conditioning:
    """How sensitive to roundings one problem is at its point, by the reference; measured when first asked for."""

    def __init__(self, reference: Engine, problem: Problem, evaluation: Evaluation) -> None:
        """`evaluation` is the reference's, of this problem."""
        self._reference, self._problem, self._evaluation = reference, problem, evaluation
        self._measured: dict[Key, np.ndarray | None] | None = None
        self._truth: dict[Key, np.ndarray | None] | None = None
        self.why_not: Fact | None = None  # why there is no estimate, if there is none

    def may_explain(self, failed: Comparison) -> bool:
        """Whether any allowance could be large enough; where none could, there is no need to ask for it."""
        got, want, mask = failed.got_array, failed.want_array, failed.mask
        if got is None or want is None or mask is None:
            return False
        error = np.abs(wide(got) - wide(want))[mask]
        return bool((error <= self.rounding.limit + (failed.atol or 0.0)).all())

    def slack(self, what: ClaimKind, step: int, tensor: str) -> np.ndarray | None:
        """For a VALUE or a GRADIENT after a step: what each element may differ by. None where it is unknown."""
        return self.rounding.allow(self.sensitivity(what, step, tensor))

    def sensitivity(self, what: ClaimKind, step: int, tensor: str) -> np.ndarray | None:
        """How sensitive each element is to relative roundings (see `sensitivity` above). None where it is unknown."""
        if self._measured is None:
            self._measured = self._measure()
        return self._measured.get((what, step, tensor))

    def truth(self, what: ClaimKind, step: int, tensor: str) -> np.ndarray | None:
        """The value or the gradient in double precision, by the reference. None where it cannot be had."""
        if self._truth is None:
            self._truth = {}
            if isinstance(self._reference, DefineByRun):
                keys = [key for key, _ in self._arrays()]
                exact = Perturbation(0.0, np.random.default_rng(0))
                evaluation = self._reference.evaluate(raise_precision(self._problem), exact)
                self._truth = dict(zip(keys, _answers(evaluation, keys), strict=True))
        return self._truth.get((what, step, tensor))

    def of_claim(self, step: int, differences: Callable[[Scope], list[np.ndarray]]) -> list[np.ndarray | None]:
        """How sensitive to roundings the `differences` are that a claim after a step is about; empty where that cannot
        be estimated."""
        if not isinstance(self._reference, DefineByRun):
            return []
        reference, raised = self._reference, raise_precision(self._problem)

        def run(perturbation: Perturbation) -> list[np.ndarray]:
            states = reference.evaluate(raised, perturbation).states
            if step >= len(states):
                raise GradcheckError(f"step {step + 1} was not reached")
            return differences(Scope(raised, states[step], PerturbingHost(PlainArrays(), perturbation)))

        try:
            with using_default_dtype(dtypes.real_of(raised.dtype)):
                moved = sensitivity(run, self._problem.seed)
        except (GradcheckError, ValueError):  # what cannot be computed is judged without an allowance
            return []
        return list(moved)

    @cached_property
    def rounding(self) -> Rounding:
        """By the coarsest relative rounding anywhere in the graph."""
        arrays = [array for _, array in self._arrays()]
        units = (epsilon(array.dtype) for array in arrays)
        unit = max(epsilon(self._problem.dtype), *_units(self._problem), *units, 0.0)
        return Rounding(unit, max((largest_finite(array) for array in arrays), default=0.0))

    def _arrays(self) -> Iterator[tuple[Key, np.ndarray]]:
        """Every value and gradient that roundings can reach, with its key."""
        for step, state in enumerate(self._evaluation.states):
            for what, arrays in ((ClaimKind.VALUE, state.values), (ClaimKind.GRADIENT, state.gradients)):
                for name, array in arrays.items():
                    if array is not None and dtypes.is_differentiable(array.dtype):
                        yield (what, step, name), array

    def _measure(self) -> dict[Key, np.ndarray | None]:
        reference, problem = self._reference, self._problem
        keys = [key for key, _ in self._arrays()]
        if not isinstance(reference, DefineByRun):
            self.why_not = fact("no_conditioning_by", engine=reference.name)
            return {}
        raised = raise_precision(problem)
        try:
            moved = sensitivity(lambda d: _answers(reference.evaluate(raised, d), keys), problem.seed)
        except GradcheckError as error:
            self.why_not = fact("no_conditioning", error=str(error))
            return {}
        return dict(zip(keys, moved, strict=True))


def _answers(evaluation: Evaluation, keys: Iterable[Key]) -> list[np.ndarray | None]:
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


def raise_array(array: np.ndarray) -> np.ndarray:
    """A floating or complex array in double precision; others as they are."""
    double = RAISED.get(array.dtype.name)
    return array.astype(double) if double else array


def raise_precision(problem: Problem) -> Problem:
    """The same problem in double precision."""

    def raised(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {name: raise_array(array) for name, array in arrays.items()}

    return replace(
        problem,
        inputs=raised(problem.inputs),
        constants=raised(problem.constants),
        seeds=tuple({n: None if a is None else raise_array(a) for n, a in seeds.items()} for seeds in problem.seeds),
        forwards=tuple(raised(arrays) for arrays in problem.forwards),
        dtype=dtypes.BY_NAME[RAISED.get(problem.dtype.name, problem.dtype.name)],
    )
