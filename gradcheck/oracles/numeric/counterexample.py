"""Counterexamples to check by hand: smallest sizes, small integers.

The true gradient comes from the forward alone, by the numeric oracle; on small integers it is mostly a small number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import Op
from gradcheck.errors import GradcheckError, InvalidCase
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.expr.traverse import free_names, ops_in
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import RANDOM_OPS, is_one_random_creator, stream
from gradcheck.language.sampling import draw, graph_values, leaves_in_file_order
from gradcheck.language.trial_draws import (
    BOUNDS,
    graph_sizes,
    is_fixed_incoming,
    mentions_root_gradient,
    size_bounds,
    symbolic_sizes,
)
from gradcheck.oracles.numeric.numeric_gradient import numeric_gradient
from gradcheck.oracles.numeric.work_budget import WorkBudget

#: Creators with a domain, and the index of its bounds, which are by default 0 and 1.
_BOUNDED = {"uniform": 0, "uniform_like": 1, "rand": 0, "rand_like": 0}
_UNIT = (("low", 0.0), ("high", 1.0))
#: How many integers from the lower bound on are tried if the usual ones are outside.
_FEW = 4
#: The most numbers of a case to check by hand.
MOST_ELEMENTS = 200


def smallest_sizes(case: Case) -> Iterator[dict[str, int] | None]:
    """Yield every choice of the symbolic sizes, by their sum; None for none."""
    words = symbolic_sizes(case)
    if not words:
        yield None
        return
    limits = dict.fromkeys(words, BOUNDS)
    limits.update((word, bounds) for word, bounds in size_bounds(case).items() if word in limits)
    room = sum(high - low for low, high in limits.values())
    for extra in range(room + 1):
        for bars in combinations(range(extra + len(words) - 1), len(words) - 1):
            edges = (-1, *bars, extra + len(words) - 1)
            shares = [b - a - 1 for a, b in pairwise(edges)]
            drawn = {word: low + share for (word, (low, _)), share in zip(limits.items(), shares, strict=True)}
            if all(drawn[word] <= high for word, (_, high) in limits.items()):
                yield drawn


def with_small_integers(
    case: Case,
    sizes: Mapping[str, int] | None,
    generator: np.random.Generator,
    integers: tuple[int, ...],
    varies_incoming: bool = True,
) -> Problem:
    """Return the case in float64 with small integers for its numbers.

    These are inputs, drawn constants, and incoming gradients; unless these vary, only the free ones. Stated domains are
    kept. `sizes` are those of its dims; None leaves its own. Raises GradcheckError if the sizes do not match, and
    InvalidCase for more than `MAX_ELEMENTS` numbers.
    """
    problem = draw(case, trial=None if sizes is None else 0, sizes=sizes)
    if sum(a.size for a in (*problem.inputs.values(), *problem.constants.values())) > MOST_ELEMENTS:
        raise InvalidCase("too many numbers to check by hand")
    host = _SmallIntegers(generator, integers)
    names: dict[str, Any] = dict(problem.sizes)
    for name, value in leaves_in_file_order(case):
        array = problem.inputs[name] if name in problem.inputs else problem.constants[name]
        names[name] = _leaf(value, array, names, host, is_input=name in problem.inputs)

    def incoming(step: Step, root: str, seed: np.ndarray | None) -> np.ndarray | None:
        stays = seed is None or (not varies_incoming and is_fixed_incoming(case, step.roots.get(root)))
        return seed if stays or seed is None else host.like(seed)

    return replace(
        problem,
        inputs={name: names[name] for name in problem.inputs},
        constants={name: names[name] for name in problem.constants},
        seeds=tuple(
            {root: incoming(step, root, seed) for root, seed in seeds.items()}
            for step, seeds in zip(case.steps, problem.seeds, strict=True)
        ),
        dtype=np.dtype(np.float64),
    )


def _leaf(
    value: Value, array: np.ndarray, names: Mapping[str, Any], host: _SmallIntegers, is_input: bool
) -> np.ndarray:
    if array.dtype.kind != "f" and array.dtype not in dtypes.HALVES:
        return array
    has_domain = value.expr is not None and any(op in _BOUNDED for op in ops_in(value.expr))
    is_made = (
        not is_one_random_creator(value)
        and value.expr is not None
        and not free_names(value.expr).keys().isdisjoint(names)
    )
    if value.expr is not None and (has_domain or is_made):
        return np.asarray(evaluate(value.expr, names, host), dtype=np.float64)
    return host.like(array) if is_input or is_one_random_creator(value) else array.astype(np.float64)


class _SmallIntegers(NumPy):
    def __init__(self, generator: np.random.Generator, integers: tuple[int, ...]) -> None:
        self.generator, self.integers = generator, integers

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.name not in RANDOM_OPS:
            return op(*args, **kwargs)
        drawn = op(*args, **kwargs, generator=self.generator)
        if drawn.dtype.kind != "f":
            return drawn
        if op.name not in _BOUNDED:
            return self.like(drawn)
        bounds = dict(zip(("low", "high"), args[_BOUNDED[op.name] :], strict=False)) if "uniform" in op.name else {}
        return self.like(drawn, self._within(*(float({**bounds, **kwargs}.get(b, d)) for b, d in _UNIT)))

    def _within(self, low: float, high: float) -> tuple[float, ...]:
        """Return the integers in an interval, else others, else fractions of it."""
        few = range(math.ceil(low), math.ceil(low) + _FEW)
        for chosen in (self.integers, few):
            inside = tuple(float(k) for k in chosen if low <= k < high)
            if len(inside) > 1:
                return inside
        return tuple(float(f"{low + part * (high - low):.3g}") for part in (0.25, 0.5, 0.75))

    def like(self, array: np.ndarray, numbers: Sequence[float] = ()) -> np.ndarray:
        """Return an array of this shape; its numbers differ as far as possible."""
        chosen = numbers or self.integers
        rows = -(-array.size // len(chosen))
        drawn = [self.generator.permutation(chosen) for _ in range(max(1, rows))]
        return np.concatenate(drawn)[: array.size].astype(np.float64).reshape(array.shape)


#: The integers that are tried: positive ones, both signs, and those that saturate no function.
_CHOICES = ((1, 2, 3), (-3, -2, -1, 1, 2, 3), (-1, 1), (-2, -1, 0, 1, 2))
#: The most numbers, and the denominators, of an example that can be checked by hand.
MOST_BY_HAND, _DENOMINATORS = 24, (1, 2, 3, 4, 5, 6, 8, 9)
#: The candidates that are tried after the first example that cannot be checked by hand.
_FURTHER = 12
#: A smaller difference may be rounding.
_TOLERANCE = 1e-7
#: How often the numbers are drawn: a tie or another kink decides nothing.
_DRAWINGS = 3
#: The work for one formula, and for drawing its inputs once.
WORK, _DRAWING = 200_000_000, 1_000_000


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Sizes and inputs at which a formula claims `claimed`, not `true`."""

    sizes: Mapping[str, int]
    inputs: Mapping[str, np.ndarray]
    constants: Mapping[str, np.ndarray]
    seeds: Mapping[str, np.ndarray]  # the incoming gradients that are not 1
    index: tuple[int, ...] | None
    claimed: Any
    true: Any
    #: The sizes that no tensor's shape shows.
    sizes_in_no_shape: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_hand_checkable(self) -> bool:
        """True if there are few numbers, and both sides are simple, or shapes."""
        arrays = (*self.inputs.values(), *self.constants.values(), *self.seeds.values())
        few = sum(array.size for array in arrays) <= MOST_BY_HAND
        return few and (self.index is None or (_is_simple(self.claimed) and _is_simple(self.true)))


#: Gradients by name, computed in another way; None if they cannot be.
FastGradients = Callable[[Problem], Mapping[str, np.ndarray | None]]


def counterexample(
    case: Case,
    name: str,
    claim: Claim,
    budget: WorkBudget | None = None,
    *,
    of_shape: bool = True,
    quick: FastGradients | None = None,
) -> Counterexample | None:
    """Return the first hand-checkable counterexample, smallest sizes first.

    If none follows soon after the first of any kind, return that; None if the budget is spent without one. Without
    `of_shape`, counterexamples of a wrong shape are left out: a formula with literals may have it at other sizes. If
    the gradients of `quick` satisfy the formula, or yield one that is not simple after the first, the oracle is not
    used.

    Complex cases have none, nor have formulas of complex gradients.
    """
    if case.dtype.startswith("complex"):
        return None
    budget = budget or WorkBudget(WORK)
    # else the claim is about the incoming gradient in the file
    varies = mentions_root_gradient(case, claim.expr)
    first: Counterexample | None = None
    further = 0  # tries after the first
    for sizes, integers, generator in _candidates(case):
        further += first is not None
        if budget.is_spent or further > _FURTHER:
            break
        budget.spend(_DRAWING)
        try:
            problem = with_small_integers(case, sizes, generator, integers, varies)
            known = {} if quick is None else quick(problem)
            worth = _may_be_refuted(problem, name, claim, known, only_simple=first is not None)
            found = _counterexample_at(problem, name, claim, budget) if worth else None
        except GradcheckError:  # sizes that do not match, or numbers outside a domain
            continue
        if found is not None and found.index is None and not of_shape:
            continue
        if found is not None and found.is_hand_checkable:
            return found
        first = first or found
    return first


def _is_simple(value: float) -> bool:
    return any(abs(value * part - round(value * part)) < 1e-9 for part in _DENOMINATORS) and abs(value) < 1e4


def _candidates(case: Case) -> Iterator[tuple[dict[str, int] | None, tuple[int, ...], np.random.Generator]]:
    """Yield sizes, integers and a generator, smallest sizes first, repeatedly."""
    for drawing in range(_DRAWINGS):
        for sizes in smallest_sizes(case):
            for choice, integers in enumerate(_CHOICES):
                yield sizes, integers, stream(drawing, "small integers", choice)


def _counterexample_at(problem: Problem, name: str, claim: Claim, budget: WorkBudget) -> Counterexample | None:
    with using_default_dtype(np.dtype(np.float64)), np.errstate(all="ignore"):
        gradients = _Gradients(problem, budget)
        claimed = _claimed(problem, claim, gradients)
        return _largest_difference(problem, claimed, gradients[name], gradients.errors[name])


def _largest_difference(
    problem: Problem, claimed: np.ndarray, true: np.ndarray, error: np.ndarray | float = 0.0
) -> Counterexample | None:
    """Return where the claim differs most, beyond the error, or None."""
    if np.iscomplexobj(claimed):  # made of complex gradients
        return None
    if claimed.shape != true.shape:
        return _example(problem, None, claimed.shape, true.shape)
    gap = np.abs(claimed - true)
    scale = _TOLERANCE * np.maximum(np.abs(true), 1)
    wrong = np.isfinite(gap) & np.isfinite(error) & (gap > 4 * error + scale)
    if not np.any(wrong):
        return None
    place = np.unravel_index(int(np.argmax(np.where(wrong, gap, -1))), true.shape)
    index = tuple(int(i) for i in place)
    return _example(problem, index, _rounded_to_integer(float(claimed[index]), 0.0), float(true[index]))


def _may_be_refuted(
    problem: Problem, name: str, claim: Claim, known: Mapping[str, np.ndarray | None], *, only_simple: bool
) -> bool:
    """Return whether `known` gradients refute the claim, or lack one of it."""
    gradients = {one: array for one, array in known.items() if array is not None}
    if name not in gradients:
        return True
    with using_default_dtype(np.dtype(np.float64)), np.errstate(all="ignore"):
        try:
            found = _largest_difference(problem, _claimed(problem, claim, gradients), gradients[name])
        except GradcheckError:
            return True
    return found is not None and (found.is_hand_checkable or not only_simple)


def _claimed(problem: Problem, claim: Claim, gradients: Mapping[str, np.ndarray]) -> np.ndarray:
    scope = graph_values(problem.case, problem.environment())
    for step in problem.case.let_steps_of(claim.expr):
        scope[step] = evaluate(problem.case.let[step].expr, scope, gradients=gradients)
    return np.asarray(evaluate(claim.expr, scope, gradients=gradients))


class _Gradients(dict[str, np.ndarray]):
    """`grad(p)` by the numeric oracle, on demand. Raises InvalidCase at kinks."""

    def __init__(self, problem: Problem, budget: WorkBudget) -> None:
        super().__init__()
        self.problem, self.budget = problem, budget
        self.errors: dict[str, np.ndarray] = {}

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> np.ndarray:
        gradient = numeric_gradient(self.problem, name, len(self.problem.case.steps) - 1)
        size = int(np.prod(gradient.shape))
        found = gradient.partials(range(size), self.budget)
        if len(found.value) < size or np.any(found.kinked):
            raise InvalidCase(f"the gradient of {name} is not known")
        if np.iscomplexobj(found.value):
            raise InvalidCase(f"the gradient of {name} is complex")
        values = [_rounded_to_integer(v, e) for v, e in zip(found.value, found.error, strict=True)]
        self[name] = np.array(values, dtype=np.float64).reshape(gradient.shape)
        self.errors[name] = found.error.reshape(gradient.shape)
        return self[name]


def _rounded_to_integer(value: float, error: float) -> float:
    """Return the integer that it is up to rounding, or else the value."""
    nearest = float(np.rint(value)) + 0.0
    return nearest if abs(value - nearest) <= max(4 * error, 1e-12 * abs(value)) < 1e-3 else float(value)


def _example(problem: Problem, index: tuple[int, ...] | None, claimed: Any, true: Any) -> Counterexample:
    words = set(symbolic_sizes(problem.case))
    return Counterexample(
        sizes={name: size for name, size in problem.sizes.items() if name in words},
        inputs=problem.inputs,
        constants=problem.constants,
        seeds={root: seed for seeds in problem.seeds for root, seed in seeds.items() if seed is not None},
        index=index,
        claimed=claimed,
        true=true,
        sizes_in_no_shape={name: problem.sizes[name] for name in graph_sizes(problem.case)},
    )
