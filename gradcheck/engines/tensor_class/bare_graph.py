"""The bare graph: a problem as a few lines of Python would run it, with the leaves alone.

What fails is repeated so before anybody is blamed. No gradient is asked to be kept, so that some are unread, and no
op is tried beside the graph, for all are known by then. Where an incoming gradient is given by a total that is made of
the roots, that total is tried on leaves of its own: where the class is wrong there already, nothing is told of the
rest. Nor is anything told of a second pass from such a total where nothing but the root lies in between: what is left
in it of the first pass would be set anew in a pass of the class's own, which begins there.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

import numpy as np

from gradcheck.engines.base import Evaluation, as_tensor_error
from gradcheck.engines.tensor_class.capabilities import Capabilities
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor
from gradcheck.errors import GradcheckError, TensorError, Unsupported
from gradcheck.language.problem import Problem

Seeds = list[np.ndarray | None]


class SeedableEngine(Protocol):
    """An engine of a Tensor class, as far as it is asked here."""

    name: str

    @property
    def capabilities(self) -> Capabilities: ...

    def evaluate(self, problem: Problem) -> Evaluation: ...

    def fresh_session(self, dtype: np.dtype) -> AbstractContextManager[None]: ...

    def new_graph(self) -> None: ...

    def leaf(self, array: np.ndarray, requires_grad: bool) -> WrappedTensor: ...

    def starts(self, roots: list[WrappedTensor], seeds: Seeds) -> tuple[list[WrappedTensor], Seeds]: ...

    def backward(self, roots: list[WrappedTensor], seeds: Seeds, retain_graph: bool) -> None: ...


def evaluate_on_bare_graph(engine: SeedableEngine, problem: Problem) -> Evaluation:
    """What comes of the problem; an evaluation without states, and Unsupported, where incoming gradients cannot be
    given."""
    found = engine.evaluate(problem)
    with engine.fresh_session(problem.dtype):
        refused = _seed_refusal(engine, problem, found)
    return found if refused is None else Evaluation(engine.name, (), refused)


def _seed_refusal(engine: SeedableEngine, problem: Problem, found: Evaluation) -> TensorError | None:
    passes = 0  # over this graph so far
    for step, seeds, state in zip(problem.case.steps, problem.seeds, found.states, strict=False):
        passes = 0 if step.action == "forward" else passes + (step.action == "backward")
        roots = [state.values[root] for root in step.roots]
        given = [seeds[root] for root in step.roots]
        if roots and not accepts_seeds(engine, roots, given):
            message = f"{engine.name} takes no incoming gradient, and is wrong in a root times one already"
            return as_tensor_error(Unsupported(message, lacks="incoming gradients"))
        if passes > 1 and problem.case.graph.keys() <= step.roots.keys() and not _begins_there(engine, roots, given):
            message = f"{engine.name} begins no pass at tensors of several numbers"
            return as_tensor_error(Unsupported(message, lacks="second passes from these"))
    return None


def _begins_there(engine: SeedableEngine, roots: Sequence[np.ndarray], seeds: Sequence[np.ndarray | None]) -> bool:
    """Whether passes begin at these roots themselves, and at no total that is made of them."""
    engine.new_graph()
    leaves = [engine.leaf(np.asarray(root), True) for root in roots]
    starts, _ = engine.starts(leaves, list(seeds))
    return all(any(start is leaf for leaf in leaves) for start in starts)


def accepts_seeds(engine: SeedableEngine, roots: Sequence[np.ndarray], seeds: Sequence[np.ndarray | None]) -> bool:
    """Whether leaves with the values of these roots get these incoming gradients, as passes from the roots are begun;
    True where no more than the class's own pass is needed for that."""
    wanted = list(seeds)
    try:
        if _begins_there(engine, roots, wanted):
            return True
        engine.new_graph()
        leaves = [engine.leaf(np.asarray(root), True) for root in roots]
        engine.backward(leaves, wanted, True)
        found = [leaf.grad for leaf in leaves]
    except GradcheckError:
        return False
    rtol = 1e-9 if engine.capabilities.dtype == "float64" else 1e-2
    pairs = zip(leaves, found, wanted, strict=True)
    return all(
        got is not None and got.shape == leaf.shape and np.allclose(got, 1.0 if seed is None else seed, rtol, rtol)
        for leaf, got, seed in pairs
    )
