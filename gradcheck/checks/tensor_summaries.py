"""Shape, range and norm of a case's values and gradients, for pictures.

No verdict depends on them. Values that cannot be computed, or are very large, are left out.
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

#: Larger graphs, and graphs with more elements in their leaves, are not evaluated.
MAX_GRAPH_NODES, MAX_ELEMENTS = 20_000, 1_000_000


@dataclass(frozen=True, slots=True)
class TensorSummary:
    """A tensor at the end of a case's steps, with its gradient if any."""

    value: ArraySummary
    gradient: ArraySummary | None = None


def tensor_summaries(case: Case, seed: int | None = None) -> Mapping[str, TensorSummary]:
    """Return summaries by tensor; empty if the case is too large or fails."""
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
