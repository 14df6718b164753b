"""Cases with small integers for their numbers, and their smallest sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.errors import InvalidCase
from gradcheck.language.case import Case, Step, Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.expr.traverse import free_names, ops_in
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import RANDOM_OPS, is_one_random_creator
from gradcheck.language.sampling import draw, leaves_in_file_order
from gradcheck.language.trial_draws import BOUNDS, is_fixed_incoming, size_bounds, symbolic_sizes

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
