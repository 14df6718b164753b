"""A case at its smallest sizes, with small integers for its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.errors import InvalidCase
from gradcheck.language.case import Case, Value
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.problem import Problem
from gradcheck.language.random import RANDOM, is_free
from gradcheck.language.sampling import draw
from gradcheck.language.trials import BOUNDS, symbolic_sizes

#: More numbers than this nobody checks by hand.
MOST_ELEMENTS = 200


def smallest_sizes(case: Case) -> Iterator[dict[str, int] | None]:
    """Every choice of the symbolic sizes, by their sum; None for a case that has none."""
    words = symbolic_sizes(case)
    if not words:
        yield None
        return
    limits = dict.fromkeys(words, BOUNDS)
    if case.generalize is not None:
        limits.update((word, bounds) for word, bounds in case.generalize.dims.items() if word in limits)
    room = sum(high - low for low, high in limits.values())
    for extra in range(room + 1):
        for bars in combinations(range(extra + len(words) - 1), len(words) - 1):
            edges = (-1, *bars, extra + len(words) - 1)
            shares = [b - a - 1 for a, b in pairwise(edges)]
            drawn = {word: low + share for (word, (low, _)), share in zip(limits.items(), shares, strict=True)}
            if all(drawn[word] <= high for word, (_, high) in limits.items()):
                yield drawn


def with_small_integers(
    case: Case, sizes: Mapping[str, int] | None, generator: np.random.Generator, integers: tuple[int, ...]
) -> Problem:
    """The case in float64 with integers from these: its inputs, what is drawn of its constants, its incoming gradients.

    `sizes` are those of its dims; None leaves its own. Raises GradcheckError where the sizes do not go together, and
    InvalidCase where there are more than `MOST_ELEMENTS` numbers.
    """
    problem = draw(case, trial=None if sizes is None else 0, sizes=sizes)
    if sum(a.size for a in (*problem.inputs.values(), *problem.constants.values())) > MOST_ELEMENTS:
        raise InvalidCase("too many numbers to check by hand")
    host = _SmallIntegers(generator, integers)
    names: dict[str, Any] = dict(problem.sizes)
    listed = sorted([*case.inputs.items(), *case.constants.items()], key=lambda i: (i[1].place.line, i[1].place.column))
    for name, value in listed:
        array = problem.inputs[name] if name in problem.inputs else problem.constants[name]
        names[name] = _leaf(value, array, names, host, is_input=name in problem.inputs)
    return replace(
        problem,
        inputs={name: names[name] for name in problem.inputs},
        constants={name: names[name] for name in problem.constants},
        seeds=tuple({r: s if s is None else host.like(s) for r, s in seeds.items()} for seeds in problem.seeds),
        dtype=np.dtype(np.float64),
    )


def _leaf(
    value: Value, array: np.ndarray, names: Mapping[str, Any], host: _SmallIntegers, is_input: bool
) -> np.ndarray:
    if array.dtype.kind != "f" and array.dtype not in dtypes.HALVES:
        return array
    if value.expr is not None and not is_free(value) and not free_names(value.expr).keys().isdisjoint(names):
        return np.asarray(evaluate(value.expr, names, host), dtype=np.float64)
    return host.like(array) if is_input or is_free(value) else array.astype(np.float64)


class _SmallIntegers(NumPy):
    """NumPy, with small integers for random floats."""

    def __init__(self, generator: np.random.Generator, integers: tuple[int, ...]) -> None:
        self.generator, self.integers = generator, integers

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if op.name not in RANDOM:
            return op(*args, **kwargs)
        drawn = op(*args, **kwargs, generator=self.generator)
        return self.like(drawn) if drawn.dtype.kind == "f" else drawn

    def like(self, array: np.ndarray) -> np.ndarray:
        """As many in this shape, different ones as long as there are any."""
        rows = -(-array.size // len(self.integers))
        drawn = [self.generator.permutation(self.integers) for _ in range(max(1, rows))]
        return np.concatenate(drawn)[: array.size].astype(np.float64).reshape(array.shape)
