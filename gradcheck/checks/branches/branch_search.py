"""The other side of a branch: numbers at which a comparison comes out as it has not yet.

From numbers where the graph is defined, whatever was drawn at random follows the gradient of the comparison's margin,
and so do literal inputs and incoming gradients, until some elements are a little beyond the threshold and others far
beyond: Gauss-Newton steps with Polyak's length ("Introduction to Optimization", 1987, section 5.3). What states its
bounds, as `uniform(low, high)` does, stays within them; constants that are written out stay, and what is made of other
leaves is made again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.backward import backward
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.modes import quiet
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.branches.branch_sites import Margin
from gradcheck.checks.branches.line_search import Path, search_paths
from gradcheck.checks.branches.margin_recording import in_double_precision, margins, named_claims
from gradcheck.checks.branches.search_targets import Goal, SearchTargets, are_goals_met
from gradcheck.checks.branches.search_variables import BOUNDED_CREATORS, SearchVariable, VariableHost, is_incoming_free
from gradcheck.engines.double_precision import double_precision_array
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.traverse import free_names, ops_in
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import is_one_random_creator, stream
from gradcheck.language.sampling import leaves_in_file_order, random_parts
from gradcheck.language.trial_draws import Variation, is_fixed_incoming

#: Steps of one search, and how many of them may bring it no nearer; how far beyond a threshold elements are pushed, in
#: turn, as a share of what is compared; where that leads nowhere, just beyond it.
_STEPS = 16
_PATIENCE = 2
#: So many times further off than before is back to half of a step.
_TOO_FAR = 4.0
_OFFSETS = ((0.05, 3.0, 0.002), (0.05,), (1e-6,))
#: How far apart gathered numbers are, as a part of what they were.
_GATHERED = 0.01
#: A case of more numbers is not searched.
_MOST = 100_000
#: A grid on which sums are exact.
_GRID = 2.0**16


#: In place of what a later forward draws.
_NUMBERS = Value()


class BranchSearch:
    """Looks for numbers from those of one problem. `gradients` are what claims may speak of; they are held fixed, but
    for the incoming ones."""

    def __init__(self, problem: Problem, gradients: Mapping[str, Any]) -> None:
        self._own, self.problem, self.gradients = problem, *in_double_precision(problem.with_latest_inputs(), gradients)
        problem = self.problem
        self._later_forward = {name: i for i, arrays in enumerate(problem.forwards) for name in arrays}
        self._values = {
            n: v if n not in self._later_forward else _NUMBERS for n, v in leaves_in_file_order(problem.case)
        }
        leaves = {**problem.inputs, **problem.constants}
        self._fixed = {name: leaves[name] for name in self._values}
        self._bounds: dict[SearchVariable, tuple[float, float]] = {}
        self._start = {**self._drawn_variables(), **self._incoming_variables()}
        self._half = 0
        self._moving = {part for part, array in self._start.items() if array.dtype.kind in "fc"}
        self._reduced: dict[frozenset[str], Problem] = {}

    def _drawn_variables(self) -> dict[SearchVariable, np.ndarray]:
        found: dict[SearchVariable, np.ndarray] = {}
        for name, value in self._values.items():
            if value.expr is not None:
                parts = random_parts(self._own, name)
                found |= {
                    SearchVariable(name, number): _match_precision(array, self._fixed[name])
                    for number, array in enumerate(parts)
                }
            elif name in self.problem.case.inputs and self._may_move(name):
                found[SearchVariable(name)] = self._fixed[name]
        return found

    def _may_move(self, name: str) -> bool:
        """Whether it is written out, or drawn by a later forward without bounds."""
        value = (
            self.problem.case.steps[self._later_forward[name]].inputs[name] if name in self._later_forward else _NUMBERS
        )
        return value.expr is None or (is_one_random_creator(value) and BOUNDED_CREATORS.isdisjoint(ops_in(value.expr)))

    def _incoming_variables(self) -> dict[SearchVariable, np.ndarray]:
        """Those of a single pass that are random, or that a claim which speaks of them must hold for all of."""
        case = self.problem.case
        if any(step.action != "backward" for step in case.steps):
            return {}
        times = Counter(root for step in case.steps for root in step.roots)
        return {
            SearchVariable(root, is_incoming=True): np.asarray(self.gradients[root])
            for step in case.steps
            for root, value in step.roots.items()
            if times[root] == 1 and root in self.gradients and is_incoming_free(case, value)
        }

    def find(self, *goals: Goal, half: int = 0) -> Problem | None:
        """The problem with other numbers, some element of the comparison's margin being on this side of 0; of several
        comparisons of the same shape the same element of all. For a `half` of 1 or 2, one half of the numbers or the
        other stays."""
        self._half = half
        if not self._moving or sum(array.size for array in self._start.values()) > _MOST:
            return None
        is_beyond = any(site.sign_of(side) for site, side in goals)  # where all are to be 0, that is one aim
        aims = _OFFSETS if is_beyond else _OFFSETS[:1]
        found = next((found for beyond in aims if (found := self._descend(goals, beyond)) is not None), None)
        return found if found is not None or not is_beyond else self._search_incoming(goals)

    def find_on_paths(self, *goals: Goal) -> Problem | None:
        """The same without slopes: on paths on which all numbers grow, or some of them move."""
        if not self._moving or sum(array.size for array in self._start.values()) > _MOST:
            return None
        found = search_paths(
            goals, self._paths(), lambda arrays: self._leaves_and_margins(goals, _fixed_tensors(arrays))[1]
        )
        return (
            None
            if found is None
            else self._problem_with(self._leaves_and_margins(goals, _fixed_tensors(found))[0], found)
        )

    def _paths(self) -> Iterator[Path]:
        """All leaves grow; each second number moves; all are near to one number; incoming gradients grow."""

        def move(array: np.ndarray, place: float) -> np.ndarray:
            return np.asarray(array + place * (np.arange(array.size) % 2 == 0).reshape(array.shape))

        def gather(array: np.ndarray, place: float) -> np.ndarray:
            return np.asarray(place + _GATHERED * array)

        for is_incoming, change in ((False, np.multiply), (False, move), (False, gather), (True, np.multiply)):
            yield partial(self._arrays_on_path, is_incoming=is_incoming, change=change)

    def _arrays_on_path(
        self, place: float, grid: int, is_incoming: bool, change: Callable[[np.ndarray, float], np.ndarray]
    ) -> dict[SearchVariable, np.ndarray]:
        """The numbers, what moves of the leaves, or of the incoming gradients, being changed, and rounded if asked."""

        def changed(part: SearchVariable, array: np.ndarray) -> np.ndarray:
            if part not in self._moving or part.is_incoming != is_incoming:
                return array
            moved = change(array, place)
            return self._clip_to_bounds(part, np.rint(moved * grid) / grid if grid else moved).astype(array.dtype)

        return {part: changed(part, array) for part, array in self._start.items()}

    def _search_incoming(self, goals: Sequence[Goal]) -> Problem | None:
        """The same where incoming gradients alone move: claims are linear in them."""
        moving = self._moving
        self._moving = {part for part in moving if part.is_incoming}
        try:
            return self._descend(goals, _OFFSETS[1]) if self._moving and self._moving != moving else None
        finally:
            self._moving = moving

    def _descend(self, goals: Sequence[Goal], beyond: Sequence[float]) -> Problem | None:
        arrays, aims = dict(self._start), SearchTargets(self.problem.seed, goals, beyond)
        found: Problem | None = None
        stuck, before, last = 0, np.inf, arrays
        for _ in range(_STEPS):
            tensors = {part: _leaf(array, part in self._moving) for part, array in arrays.items()}
            leaves, met = self._leaves_and_margins(goals, tensors)
            if not met:
                break
            residuals = aims.residuals(met)
            if are_goals_met(goals, met):
                found = self._problem_with(leaves, arrays)
            left = float(np.sqrt(sum(np.sum(residual**2) for residual in residuals)))
            if arrays is not last and (left > _TOO_FAR * before or not (left or _are_finite(met))):
                arrays = {part: _halfway(last[part], array) for part, array in arrays.items()}
                continue
            stuck, before, last = stuck + (left > 0.9 * before), left, arrays
            moving = [(m.difference, r) for m, r in zip(met, residuals, strict=True) if _has_slope(m.difference)]
            if (found is not None and aims.are_reached(residuals)) or not left or stuck == _PATIENCE or not moving:
                break
            arrays = self._take_step(tensors, moving)
        return found or self._search_exact_zero(goals, arrays)

    def _search_exact_zero(self, goals: Sequence[Goal], arrays: Mapping[SearchVariable, np.ndarray]) -> Problem | None:
        """The same where a single number is to be 0: on a grid on which sums are exact, one element then moved by what
        is left."""
        if len(goals) > 1 or goals[0][0].sign_of(goals[0][1]):
            return None
        arrays = {
            p: self._clip_to_bounds(p, np.rint(a * _GRID) / _GRID) if p in self._moving else a
            for p, a in arrays.items()
        }
        for _ in range(2):
            tensors = {part: _leaf(array, part in self._moving) for part, array in arrays.items()}
            leaves, met = self._leaves_and_margins(goals, tensors)
            if not met or met[0].numbers.size != 1 or not _has_slope(met[0].difference):
                return None
            if are_goals_met(goals, met):
                return self._problem_with(leaves, arrays)
            with quiet():
                backward([met[0].difference], [np.ones(met[0].numbers.shape)])
            slopes = {part: _finite_gradient(tensors[part].grad) for part in self._moving}
            part = max(slopes, key=lambda p: float(np.abs(s).max()) if (s := slopes[p]) is not None and s.size else 0.0)
            slope = slopes[part]
            if slope is None or not np.any(slope):
                return None
            at = int(np.argmax(np.abs(slope)))
            moved = arrays[part].copy()
            moved.flat[at] -= met[0].numbers.item() * slope.flat[at] / abs(slope.flat[at]) ** 2
            arrays = {**arrays, part: self._clip_to_bounds(part, moved)}
        return None

    def _leaves_and_margins(
        self, goals: Sequence[Goal], tensors: Mapping[SearchVariable, Tensor]
    ) -> tuple[dict[str, Tensor], list[Margin]]:
        """The leaves that are made of these, and the margins there; none where one of them has none."""
        incoming = {part.name: tensor for part, tensor in tensors.items() if part.is_incoming}
        try:
            leaves = self._leaves(tensors)
            owners = frozenset(site.owner for site, _ in goals)
            found = margins(self._reduced_problem(owners), leaves, {**self.gradients, **incoming}, owners)
        except GradcheckError:
            return {}, []
        met = [found[site] for site, _ in goals if site in found]
        return leaves, met if len(met) == len(goals) else []

    def _reduced_problem(self, owners: frozenset[str]) -> Problem:
        """The problem with no more of the graph, and of a derivation, than these are made of."""
        if owners not in self._reduced:
            case = self.problem.case
            claims, needed = dict(named_claims(case)), set(owners)
            for owner in owners & claims.keys():
                needed.update(free_names(claims[owner].expr))
            for name, claim in reversed([*case.graph.items(), *case.let.items()]):
                if name in needed:
                    needed.update(free_names(claim.expr))
            graph, let = ({n: c for n, c in held.items() if n in needed} for held in (case.graph, case.let))
            self._reduced[owners] = replace(self.problem, case=replace(case, graph=graph, let=let))
        return self._reduced[owners]

    def _leaves(self, tensors: Mapping[SearchVariable, Tensor]) -> dict[str, Tensor]:
        found: dict[str, Any] = dict(self.problem.sizes)
        for name, value in self._values.items():
            if SearchVariable(name) in tensors:
                made = tensors[SearchVariable(name)]
                if value.expr is not None:
                    made = evaluate(value.expr, found, VariableHost(name, tensors, self._bounds))
                found[name] = made if made.dtype == self._fixed[name].dtype else self._fixed[name]
            elif value.expr is not None and self._fixed[name].dtype.kind in "fc":
                found[name] = evaluate(value.expr, found)
            else:
                found[name] = self._fixed[name]
        return {name: _as_tensor(found[name]) for name in self._values}

    def _take_step(
        self, tensors: Mapping[SearchVariable, Tensor], moving: Sequence[tuple[Tensor, np.ndarray]]
    ) -> dict[SearchVariable, np.ndarray]:
        with quiet():
            backward([margin for margin, _ in moving], [residual.astype(margin.dtype) for margin, residual in moving])
        slopes = {part: self._mask_half(part, _finite_gradient(tensor.grad)) for part, tensor in tensors.items()}
        square = sum(float(np.sum(np.abs(wide(slope)) ** 2)) for slope in slopes.values() if slope is not None)
        length = sum(float(np.sum(residual**2)) for _, residual in moving) / square if square > 0 else 0.0
        return {part: self._move(part, tensor.data, slopes[part], length) for part, tensor in tensors.items()}

    def _mask_half(self, part: SearchVariable, slope: np.ndarray | None) -> np.ndarray | None:
        """The slope, 0 for what stays."""
        if slope is None or not self._half or not slope.ndim:
            return slope
        first = stream(self.problem.seed, "half", part.name, part.number).random(slope.shape) < 0.5
        return np.where(first if self._half == 1 else ~first, slope, 0)

    def _move(self, part: SearchVariable, array: np.ndarray, slope: np.ndarray | None, length: float) -> np.ndarray:
        if slope is None:
            return array
        return self._clip_to_bounds(part, array - length * slope).astype(array.dtype)

    def _seed(self, root: str, given: np.ndarray | None, arriving: np.ndarray) -> np.ndarray:
        """What must come in at a root for this to arrive in it, others passing on what they do."""
        others = wide(self.gradients[root]) - (np.ones(arriving.shape) if given is None else wide(given))
        on_grid = np.rint(others * _GRID) / _GRID
        others = np.where(np.isclose(others, on_grid, rtol=0, atol=1e-12), on_grid, others)
        return np.asarray(arriving - others).astype(arriving.dtype if given is None else given.dtype)

    def _clip_to_bounds(self, part: SearchVariable, array: np.ndarray) -> np.ndarray:
        """The numbers, none of them beyond the bounds that their creator states."""
        return np.asarray(np.clip(array, *self._bounds[part]) if part in self._bounds else array)

    def _problem_with(self, leaves: Mapping[str, Tensor], arrays: Mapping[SearchVariable, np.ndarray]) -> Problem:
        """The problem with these numbers; it says so where an incoming gradient that the file writes out is another."""
        problem, case = self._own, self.problem.case
        incoming = {part.name: array for part, array in arrays.items() if part.is_incoming}
        changed = {root for root, array in incoming.items() if not np.array_equal(array, self.gradients[root])}
        seeds = tuple(
            {r: self._seed(r, s, incoming[r]) if r in changed else s for r, s in of_step.items()}
            for of_step in problem.seeds
        )
        drawn = problem.draw_settings
        if any(
            is_fixed_incoming(case, step.roots[root]) for step in case.steps for root in changed & step.roots.keys()
        ):
            drawn = replace(drawn, variation=Variation(drawn.variation.literals, incoming=True))

        def of(arrays: Mapping[str, np.ndarray], pass_: int | None = None) -> dict[str, np.ndarray]:
            mine = {n: leaves[n].data.astype(a.dtype) for n, a in arrays.items() if self._later_forward.get(n) == pass_}
            return {**arrays, **mine}

        forwards = tuple(of(arrays, i) for i, arrays in enumerate(problem.forwards))
        return replace(
            problem,
            inputs=of(problem.inputs),
            constants=of(problem.constants),
            seeds=seeds,
            forwards=forwards,
            draw_settings=drawn,
        )


def _halfway(last: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Back from where a step has led too far: of what curves, as `exp(x)` does, its slope says little there."""
    return array if array.dtype.kind not in "fc" else np.asarray(last + 0.5 * (array - last), array.dtype)


def _are_finite(met: Sequence[Margin]) -> bool:
    return all(bool(np.isfinite(margin.numbers).all()) for margin in met)


def _has_slope(difference: Any) -> bool:
    return isinstance(difference, Tensor) and difference.requires_grad


def _match_precision(array: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    """In double precision, if the leaf is."""
    return double_precision_array(array) if array.dtype in dtypes.HALVES and leaf.dtype not in dtypes.HALVES else array


def _leaf(array: np.ndarray, moves: bool) -> Tensor:
    tensor = Tensor.wrap(array)
    tensor.requires_grad = moves
    return tensor


def _fixed_tensors(arrays: Mapping[SearchVariable, np.ndarray]) -> dict[SearchVariable, Tensor]:
    return {part: Tensor.wrap(array) for part, array in arrays.items()}


def _as_tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor.wrap(np.asarray(value))


def _finite_gradient(gradient: Tensor | None) -> np.ndarray | None:
    if gradient is None:
        return None
    return np.asarray(np.where(np.isfinite(gradient.data), gradient.data, 0))
