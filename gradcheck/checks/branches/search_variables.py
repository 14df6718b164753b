"""Numbers that move in a branch search, and the problem that they make.

Moving are the draws of each random creator of a leaf, literal inputs and incoming gradients. Numbers with stated
bounds, as those of `uniform(low, high)`, stay within them. Literal constants stay; leaves made of other leaves are
computed again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.op import Op
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.branches.branch_sites import (
    BranchSite,
    Goal,
    Margin,
    SearchBudget,
    as_array,
    named_claims,
    select_margins,
)
from gradcheck.checks.branches.margin_recording import in_double_precision, log_margins
from gradcheck.engines.double_precision import double_precision_array
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case, Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.expr.nodes import Call
from gradcheck.language.expr.traverse import free_names, ops_in
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import RANDOM_OPS, is_one_random_creator
from gradcheck.language.sampling import leaves_in_file_order, random_parts
from gradcheck.language.trial_draws import Variation, is_fixed_incoming

#: Creators of elements between 0 and 1, and creators with stated bounds.
_UNIT, _BOUNDED = ("rand", "rand_like"), ("uniform", "uniform_like")
_BOUNDED_CREATORS = frozenset((*_UNIT, *_BOUNDED))
#: A problem of more numbers is not searched; so many cost as much as the call of an op.
_MOST, _AS_A_CALL = 100_000, 1000
#: Multiples of one over this have exact sums.
GRID = 2.0**16
#: Stands for a leaf that a later forward draws.
_NUMBERS = Value()
#: Factors of cotangents.
_FACTORS = (30.0, 1e3, 1e-3)


class SearchVariable(NamedTuple):
    """A leaf's creator by number, a literal input, or a root's cotangent."""

    name: str
    number: int = 0
    is_incoming: bool = False


class VariableHost(NumPy):
    """NumPy and the core, with given tensors for one leaf's random creators."""

    def __init__(
        self, name: str, tensors: Mapping[SearchVariable, Tensor], bounds: dict[SearchVariable, tuple[float, float]]
    ) -> None:
        self._name, self._tensors, self._bounds = name, tensors, bounds
        self._count = 0

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the op's result, or a creator's tensor, and note its bounds."""
        if op.name not in RANDOM_OPS:
            return op(*args, **kwargs)
        variable = SearchVariable(self._name, self._count)
        self._count += 1
        if op.name in _UNIT:
            self._bounds[variable] = (0.0, 1.0)
        elif op.name in _BOUNDED:
            first = int(op.name != "uniform")
            limits = [float(as_array(limit)) for limit in args[first : first + 2] if np.ndim(as_array(limit)) == 0]
            self._bounds[variable] = (limits[0], limits[1]) if len(limits) == 2 else (-np.inf, np.inf)
        return self._tensors[variable]


def is_incoming_free(case: Case, incoming: Value | None) -> bool:
    """Return whether a cotangent is drawn alone, or written and must vary."""
    if incoming is None or incoming.expr is None:
        return is_fixed_incoming(case, incoming)
    is_drawn = isinstance(incoming.expr, Call) and incoming.expr.op in RANDOM_OPS and incoming.expr.op.endswith("_like")
    return is_one_random_creator(incoming) or is_drawn or is_fixed_incoming(case, incoming)


class SearchSpace:
    """The variables of one problem: all in `start`, floating ones in `moving`.

    `gradients` are those that claims may name. All but the incoming ones are held fixed.
    """

    def __init__(self, problem: Problem, gradients: Mapping[str, Any], budget: SearchBudget | None = None) -> None:
        self._budget = budget or SearchBudget()
        self._own, self.problem, self.gradients = problem, *in_double_precision(problem.with_latest_inputs(), gradients)
        problem = self.problem
        self._later_forward = {name: i for i, arrays in enumerate(problem.forwards) for name in arrays}
        self._values = {
            n: v if n not in self._later_forward else _NUMBERS for n, v in leaves_in_file_order(problem.case)
        }
        leaves = {**problem.inputs, **problem.constants}
        self._fixed = {name: leaves[name] for name in self._values}
        self._bounds: dict[SearchVariable, tuple[float, float]] = {}
        self.start = {**self._drawn_variables(), **self._incoming_variables()}
        self.moving = {variable for variable, array in self.start.items() if array.dtype.kind in "fc"}
        self._reduced: dict[frozenset[str], tuple[Problem, int]] = {}
        self.size = sum(array.size for array in self.start.values())

    @property
    def can_be_searched(self) -> bool:
        """True if something moves, and the numbers are few enough."""
        return bool(self.moving) and self.size <= _MOST and not self._budget.is_spent

    def _drawn_variables(self) -> dict[SearchVariable, np.ndarray]:
        found: dict[SearchVariable, np.ndarray] = {}
        for name, value in self._values.items():
            if value.expr is not None:
                parts = random_parts(self._own, name)
                found |= {SearchVariable(name, i): _match_precision(a, self._fixed[name]) for i, a in enumerate(parts)}
            elif name in self.problem.case.inputs and self._may_move(name):
                found[SearchVariable(name)] = self._fixed[name]
        return found

    def _may_move(self, name: str) -> bool:
        """Return whether an input is a literal, or drawn later without bounds."""
        if name not in self._later_forward:
            return True
        value = self.problem.case.steps[self._later_forward[name]].inputs[name]
        return value.expr is None or (is_one_random_creator(value) and _BOUNDED_CREATORS.isdisjoint(ops_in(value.expr)))

    def _incoming_variables(self) -> dict[SearchVariable, np.ndarray]:
        """Return the cotangents that may move, if the case has a single pass."""
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

    def clipped(self, variable: SearchVariable, array: np.ndarray) -> np.ndarray:
        return np.asarray(np.clip(array, *self._bounds[variable]) if variable in self._bounds else array)

    # Margins ---------------------------------------------------------------------------------------

    def leaves_and_margins(
        self, goals: Sequence[Goal], tensors: Mapping[SearchVariable, Tensor]
    ) -> tuple[dict[str, Tensor], list[Margin]]:
        """Return leaves made of these tensors, and the goals' margins or []."""
        leaves, found = self.margins_of(frozenset(site.owner for site, _ in goals), tensors)
        return leaves, select_margins(goals, found)

    def margins_of(
        self, owners: frozenset[str], numbers: Mapping[SearchVariable, Any]
    ) -> tuple[dict[str, Tensor], dict[BranchSite, Margin]]:
        """Return leaves and the owners' margins; none on errors or no budget."""
        problem, ops = self._reduced_problem(owners)
        if self._budget.is_spent:
            return {}, {}
        self._budget.left -= ops * (1 + self.size / _AS_A_CALL)
        tensors = {variable: _as_tensor(array) for variable, array in numbers.items()}
        incoming = {variable.name: tensor for variable, tensor in tensors.items() if variable.is_incoming}
        try:
            leaves = self._leaves(tensors)
            return leaves, log_margins(problem, leaves, {**self.gradients, **incoming}, owners)[0].margins
        except GradcheckError:
            return {}, {}

    def _reduced_problem(self, owners: frozenset[str]) -> tuple[Problem, int]:
        """Return the problem with only what owners need, and its ops."""
        if owners not in self._reduced:
            case = self.problem.case
            claims, needed = dict(named_claims(case)), set(owners)
            for owner in owners & claims.keys():
                needed.update(free_names(claims[owner].expr))
            for name, claim in reversed([*case.graph.items(), *case.let.items()]):
                if name in needed:
                    needed.update(free_names(claim.expr))
            graph, let = ({n: c for n, c in held.items() if n in needed} for held in (case.graph, case.let))
            evaluated = {**graph, **let, **{n: c for n, c in claims.items() if n in owners}}
            ops = sum(1 for claim in evaluated.values() for _ in claim.expr.walk())
            self._reduced[owners] = replace(self.problem, case=replace(case, graph=graph, let=let)), ops
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

    # Problems --------------------------------------------------------------------------------------

    def problem_with(self, leaves: Mapping[str, Tensor], arrays: Mapping[SearchVariable, np.ndarray]) -> Problem:
        """Return the problem with other numbers, marked if a written seed changes."""
        problem, case = self._own, self.problem.case
        incoming = {variable.name: array for variable, array in arrays.items() if variable.is_incoming}
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
        found = replace(problem, inputs=of(problem.inputs), constants=of(problem.constants), forwards=forwards)
        return replace(found, seeds=seeds, draw_settings=drawn)

    def _seed(self, root: str, given: np.ndarray | None, arriving: np.ndarray) -> np.ndarray:
        """Return the seed with which a root's whole gradient is `arriving`."""
        others = wide(self.gradients[root]) - (np.ones(arriving.shape) if given is None else wide(given))
        on_grid = np.rint(others * GRID) / GRID
        others = np.where(np.isclose(others, on_grid, rtol=0, atol=1e-12), on_grid, others)
        return np.asarray(arriving - others).astype(arriving.dtype if given is None else given.dtype)


def _match_precision(array: np.ndarray, leaf: np.ndarray) -> np.ndarray:
    return double_precision_array(array) if array.dtype in dtypes.HALVES and leaf.dtype not in dtypes.HALVES else array


def _as_tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor.wrap(np.asarray(value))


def scaled_incoming(problem: Problem, factors: Sequence[float] = _FACTORS) -> Iterator[Problem]:
    """Yield the problem with all drawn cotangents multiplied, if any.

    A claim may compare gradients, which a search holds fixed; they grow with cotangents."""
    case = problem.case
    roots = [pair for step in case.steps for pair in step.roots.items()]
    drawn = {root for root, v in roots if is_incoming_free(case, v) and not is_fixed_incoming(case, v)}
    for factor in factors if drawn else ():
        seeds = tuple({r: _times(factor, s) if r in drawn else s for r, s in each.items()} for each in problem.seeds)
        yield replace(problem, seeds=seeds)


def _times(factor: float, array: np.ndarray | None) -> np.ndarray | None:
    return None if array is None else np.asarray(array * array.dtype.type(factor))
