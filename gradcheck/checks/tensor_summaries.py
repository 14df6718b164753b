"""What a case's tensors look like: of each value and gradient its shape, range and norm, as the core computes them.

For pictures alone: nothing is judged by it, and what cannot be computed, or is very large, is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.autograd.trace import ArraySummary, summarize
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.sampling import draw

#: Parts of the graph, elements of its leaves: of more nothing is computed again for a picture.
MAX_GRAPH_NODES, MAX_ELEMENTS = 20_000, 1_000_000


@dataclass(frozen=True, slots=True)
class TensorSummary:
    """A tensor at the end of a case's steps; its gradient where it has one."""

    value: ArraySummary
    gradient: ArraySummary | None = None


def tensor_summaries(case: Case, seed: int | None = None) -> Mapping[str, TensorSummary]:
    """By the names of inputs, constants and entries; empty where that takes too much, or cannot be."""
    if sum(1 for claim in case.graph.values() for _ in claim.expr.walk()) > MAX_GRAPH_NODES:
        return {}
    try:
        with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), quiet():
            problem = draw(case, seed)
            leaves = {**problem.inputs, **problem.constants}
            if sum(array.size for array in leaves.values()) > MAX_ELEMENTS:
                return {}
            found = Core().evaluate(problem)
            constants = {name: TensorSummary(summarize(array)) for name, array in problem.constants.items()}
            if not found.states:
                return {
                    **{name: TensorSummary(summarize(array)) for name, array in problem.inputs.items()},
                    **constants,
                }
            last = found.states[-1]
            return constants | {
                name: TensorSummary(summarize(value), None if (g := last.gradients.get(name)) is None else summarize(g))
                for name, value in last.values.items()
            }
    except (GradcheckError, MemoryError):
        return {}
