"""Differences far beyond rounding, or far within, which two runs show where `conditioning` takes a dozen to measure.

Most of what is wrong is off by many times more than rounding could explain. Where two runs with large roundings leave
an element all but still that two answers are far apart in, what they say of it is that it is neither hopeless nor close
to a jump; no measurement would allow for the difference. And most of what is right is off by less than these two runs
move it, in units of their roundings, of which a measurement would allow several times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.random_rounding import Roundings
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.result import Comparison
from gradcheck.checks.scope import Scope
from gradcheck.engines.base import State
from gradcheck.engines.core import Core
from gradcheck.engines.rounding_core import RoundingCore
from gradcheck.errors import GradcheckError
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import stream

#: So many runs with that are so many times as large as those of the dtype.
_RUNS, _LARGER = 2, 64.0
#: So many times as far as it was moved by these an element would have to be allowed to be off. Twice six draws allow
#: for a few times what the largest of them has moved it, in units of such roundings.
_FAR = 2.0**13
#: So much of an element rounding may take away, so many times over, before it is looked at closely.
_LEFT = 0.1
#: So many times as far as two draws have moved it an element may be off: as a measurement allows, which has twelve to
#: find the farthest of, and so allows more as a rule.
_SURELY = 8.0
#: What is moved by less than this part of the most that is ever allowed has no jump that counts.
_STILL = 1e-6
#: Beside a tolerance, so small a part of it is nothing.
_NOTHING = 2.0**-3

Noise = np.ndarray | None
Differences = Callable[[Scope], Sequence[np.ndarray]]


def rough_noise(run: Callable[[Core], Sequence[Noise]], seed: int) -> list[Noise]:
    """How far a few runs with large roundings take each element of the arrays that `run` computes, absolute; None for
    those that are not always of one shape. Empty where a run raises something."""
    try:
        return [_largest_moves(list(several)) for several in zip(*(run(core) for core in _cores(seed)), strict=True)]
    except (GradcheckError, ValueError):
        return []


def is_beyond_rounding(failed: Comparison, noise: Noise) -> bool:
    """Whether some element is off by far more than rounding explains, if it moves it by no more than the `noise` of a
    few runs, and most of the tensor hardly."""
    got, want, mask = failed.got_array, failed.want_array, failed.mask
    if noise is None or mask is None:
        return False
    if got is None or want is None:  # nothing arrived, which is no rounding
        return True
    if noise.shape != want.shape:
        return False
    with np.errstate(all="ignore"):
        size, gap = np.abs(wide(want)), np.abs(wide(got) - wide(want))
        explained = _FAR * noise
        steady = explained <= _LEFT * size
        room = Tolerance(failed.rtol or 0.0, failed.atol or 0.0).allowed(size, explained)
        told = (noise > 0) | ((got != 0) & (want != 0))  # one side's zero may be what is left of the other's digits
        far = mask & steady & told & (gap > room) & np.isfinite(gap)
    return bool(far.any()) and 2 * np.count_nonzero(steady) >= steady.size


def sure_allowance(noise: np.ndarray, limit: float) -> np.ndarray:
    """What any measurement allows, by the noise of a few runs and the most that is ever allowed, absolute; 0 where an
    element may jump."""
    return np.where(noise <= _STILL * limit, _SURELY * noise / _LARGER, 0.0)


class _RoughRun(NamedTuple):
    core: Core
    problem: Problem
    states: Sequence[State]


class RoughRounding:
    """A few runs of one problem in double precision with large roundings; nothing is known without one."""

    def __init__(self, problem: Problem | None, of_graph: RoughRounding | None = None) -> None:
        """`of_graph` is of the same graph and numbers, whose runs these are, too."""
        self._problem, self._of_graph = problem, of_graph

    def moves_claim(self, failed: Comparison, differences: Differences) -> bool | None:
        """Whether rounding moves such a claim wherever it is off, if by far less than that; None where it is not known
        to be plainly beyond rounding."""
        noise = self.noise_of_claim(failed.step, differences)
        if noise is None or failed.mask is None or not is_beyond_rounding(failed, noise):
            return None
        return bool((noise[failed.mask] > 0).all())

    def is_negligible(self, c: Comparison) -> bool:
        """Whether rounding moves the gradient that a comparison is about, where that is in dispute, by nothing that
        counts beside its tolerance."""
        noise, want = self.noise(ClaimKind.GRADIENT, c.step, c.tensor), c.want_array
        if noise is None or want is None or c.mask is None or noise.shape != want.shape:
            return False
        room = Tolerance(c.rtol or 0.0, c.atol or 0.0).allowed(np.abs(wide(want)))
        return bool(np.all((noise <= _NOTHING * room)[c.mask]))

    @cached_property
    def _runs(self) -> list[_RoughRun]:
        """None of them, if one cannot be."""
        problem = self._problem
        if problem is None:
            return []
        if self._of_graph is not None:
            return [run._replace(problem=problem) for run in self._of_graph._runs]
        try:
            return [_RoughRun(core, problem, core.evaluate(problem).states) for core in _cores(problem.seed)]
        except GradcheckError:
            return []

    def noise(self, what: ClaimKind, step: int, tensor: str) -> Noise:
        """How far they move each element of a VALUE or a GRADIENT after a step; None where that is unknown."""
        if any(step >= len(run.states) for run in self._runs):
            return None
        return _largest_moves([_arrays_of(run.states[step], what).get(tensor) for run in self._runs])

    def noise_of_claim(self, step: int, differences: Differences) -> Noise:
        """The same of a claim about a gradient, where the first of the `differences` is how far it is from that."""
        found = self.noises_of_claim(step, differences)
        return found[0] if found else None

    def noises_of_claim(self, step: int, differences: Differences) -> list[Noise]:
        """How far they move each element of each of the `differences` after a step; empty where that is unknown."""
        found: list[Sequence[np.ndarray]] = []
        for run in self._runs:
            if step >= len(run.states):
                return []
            try:
                with run.core.session(run.problem.dtype):
                    found.append(differences(Scope(run.problem, run.states[step], run.core.host, waits=True)))
            except (GradcheckError, ValueError):
                return []
        return [_largest_moves(several) for several in zip(*found, strict=True)]


def _cores(seed: int) -> list[Core]:
    """One without roundings, and those with."""
    generator = stream(seed, "roughly")
    return [Core(), *(RoundingCore(Roundings(generator, _LARGER)) for _ in range(_RUNS))]


def _arrays_of(state: State, what: ClaimKind) -> dict[str, Noise]:
    return dict(state.values if what is ClaimKind.VALUE else state.gradients)


def _largest_moves(runs: Sequence[Noise]) -> Noise:
    """How far each element is moved at most from what it is without roundings; NaN where it becomes no number."""
    if not runs or any(run is None or runs[0] is None or run.shape != runs[0].shape for run in runs):
        return None
    still, *moved = [run for run in runs if run is not None]
    found = np.zeros(still.shape)
    for one in moved:
        with np.errstate(all="ignore"):
            found = np.maximum(found, np.where(one == still, 0.0, np.abs(wide(one) - wide(still))))
    return found
