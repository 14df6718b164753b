"""Find differences far beyond rounding, or far within, by two runs.

`conditioning` needs a dozen runs. Most errors exceed rounding by far: if two runs with large roundings hardly move an
element, it is neither undetermined nor near a jump, and no measurement would allow a large difference. And most
correct results differ by less than these runs move them, which any measurement allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.random_rounding import Roundings
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.result import Comparison
from gradcheck.checks.scope import Scope
from gradcheck.engines.base import Evaluation, State
from gradcheck.engines.core import Core
from gradcheck.engines.rounding_core import RoundingCore
from gradcheck.errors import GradcheckError
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream

#: The number of runs, and their roundings in units of the dtype's.
_RUNS, _LARGER = 2, 64.0
#: Beyond this multiple of the move, a difference is never allowed. Twelve draws allow a few times their largest move,
#: in units of such roundings.
_FAR = 2.0**13
#: The part of an element that rounding may take before it must be measured.
_LEFT = 0.1
#: Within this multiple of the move of two draws, a difference is always allowed: twelve draws find larger moves.
_SURELY = 8.0
#: Moves below this part of the largest allowance are not jumps.
_STILL = 1e-6
#: This part of a tolerance is negligible.
_NOTHING = 2.0**-3

Noise = np.ndarray | None
Differences = Callable[[Scope], Sequence[np.ndarray]]


def rough_noise(run: Callable[[Core], Sequence[Noise]], seed: int) -> list[Noise]:
    """Return how far rough runs move each array; empty if a run fails."""
    try:
        return [_largest_moves(list(several)) for several in zip(*(run(core) for core in _cores(seed)), strict=True)]
    except (GradcheckError, ValueError):
        return []


def is_beyond_rounding(failed: Comparison, noise: Noise) -> bool:
    """Return whether some element is off far beyond the `noise` of rough runs."""
    got, want, mask = failed.got_array, failed.want_array, failed.mask
    if noise is None or mask is None:
        return False
    if got is None or want is None:  # a missing gradient is not rounding
        return True
    if noise.shape != want.shape:
        return False
    with np.errstate(all="ignore"):
        size, gap = np.abs(wide(want)), np.abs(wide(got) - wide(want))
        explained = _FAR * noise
        steady = explained <= _LEFT * size
        room = Tolerance.of(failed).allowed(size, explained)
        is_known = (noise > 0) | ((got != 0) & (want != 0))  # a zero may be what is left after cancellation
        far = mask & steady & is_known & (gap > room) & np.isfinite(gap)
    return bool(far.any()) and 2 * np.count_nonzero(steady) >= steady.size


def sure_allowance(noise: np.ndarray, limit: float) -> np.ndarray:
    """Return what any measurement allows; 0 where an element may jump."""
    return np.where(noise <= _STILL * limit, _SURELY * noise / _LARGER, 0.0)


class _RoughRun(NamedTuple):
    core: Core
    problem: Problem
    states: Sequence[State]


class RoughRounding:
    """Rough runs of one problem in double precision, if there is one."""

    def __init__(self, problem: Problem | None, of_graph: RoughRounding | None = None) -> None:
        """Share the runs of `of_graph`, of the same graph and numbers."""
        self._problem, self._of_graph = problem, of_graph

    def moves_claim(self, failed: Comparison, differences: Differences) -> bool | None:
        """Return whether rounding moves a claim far beyond it; None if unknown."""
        noise = self.noise_of_claim(failed.step, differences)
        if noise is None or failed.mask is None or not is_beyond_rounding(failed, noise):
            return None
        return bool((noise[failed.mask] > 0).all())

    def is_negligible(self, c: Comparison) -> bool:
        """Return whether rounding is negligible beside a gradient's tolerance."""
        noise, want = self.noise(ClaimKind.GRADIENT, c.step, c.tensor), c.want_array
        if noise is None or want is None or c.mask is None or noise.shape != want.shape:
            return False
        room = Tolerance.of(c).allowed(np.abs(wide(want)))
        return bool(np.all((noise <= _NOTHING * room)[c.mask]))

    @cached_property
    def _runs(self) -> list[_RoughRun]:
        """The runs; none if one fails."""
        problem = self._problem
        if problem is None:
            return []
        if self._of_graph is not None:
            return [run._replace(problem=problem) for run in self._of_graph._runs]
        try:
            return [
                _RoughRun(core, problem, states_as_stated(core.evaluate(problem), problem))
                for core in _cores(problem.seed)
            ]
        except GradcheckError:
            return []

    def noise(self, what: ClaimKind, step: int, tensor: str) -> Noise:
        """Return how far a value or gradient after a step moves, or None."""
        if any(step >= len(run.states) for run in self._runs):
            return None
        states = [run.states[step] for run in self._runs]
        arrays = [state.values if what is ClaimKind.VALUE else state.gradients for state in states]
        return _largest_moves([some.get(tensor) for some in arrays])

    def noise_of_claim(self, step: int, differences: Differences) -> Noise:
        """Return how far a claim's first difference moves, or None."""
        found = self.noises_of_claim(step, differences)
        return found[0] if found else None

    def noises_of_claim(self, step: int, differences: Differences) -> list[Noise]:
        """Return how far each of a claim's differences moves; empty if unknown."""
        found: list[Sequence[np.ndarray]] = []
        for run in self._runs:
            if step >= len(run.states):
                return []
            try:
                with run.core.session(run.problem.dtype):
                    scope = Scope(run.problem, run.states[step], run.core.host, waits=True, engine=run.core)
                    found.append(differences(scope))
            except (GradcheckError, ValueError):
                return []
        return [_largest_moves(several) for several in zip(*found, strict=True)]


def states_as_stated(evaluation: Evaluation, problem: Problem) -> list[State]:
    """Return the states up to a step that raises against its claim.

    Its state holds what was before it, which is far from what comes after it without being near a rounding."""
    steps = zip(evaluation.states, problem.case.steps, strict=False)
    return [state for state, _ in takewhile(lambda one: (one[0].error is None) == (one[1].raises is None), steps)]


def _cores(seed: int) -> list[Core]:
    """Return one core without roundings, then those with."""
    generator = stream(seed, "roughly")
    return [Core(), *(RoundingCore(Roundings(generator, _LARGER)) for _ in range(_RUNS))]


def _largest_moves(runs: Sequence[Noise]) -> Noise:
    """Return the largest move of each element; NaN if it becomes one."""
    if not runs or any(run is None or runs[0] is None or run.shape != runs[0].shape for run in runs):
        return None
    still, *moved = [run for run in runs if run is not None]
    found = np.zeros(still.shape)
    for one in moved:
        with np.errstate(all="ignore"):
            found = np.maximum(found, np.where(one == still, 0.0, np.abs(wide(one) - wide(still))))
    return found
