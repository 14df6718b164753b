"""A problem on the bare graph: its ops, its leaves, and nothing else.

Failures are repeated on it. Tensors do not retain gradients, so some are unread, and no op is tried beside the graph,
since all are known by then. If an incoming gradient takes a total of products with roots, that total is tried on
leaves of its own: if the class is wrong there already, nothing else is reported. Nor is a second pass from such a
total reported, if only the root lies in between: in a pass of the class's own, which starts there, the root's first
gradient would be overwritten.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.engines.base import Evaluation, as_tensor_error
from gradcheck.engines.tensor_class.backward_engine import BackwardEngine
from gradcheck.errors import GradcheckError, TensorError, Unsupported
from gradcheck.language.problem import Problem


def evaluate_on_bare_graph(engine: BackwardEngine, problem: Problem) -> Evaluation:
    """Return the problem's evaluation without retained gradients.

    It has no states, and Unsupported, if incoming gradients cannot be given."""
    found = engine.evaluate(problem)
    with engine.fresh_session(problem.dtype):
        error = _seed_error(engine, problem, found)
    return found if error is None else Evaluation(engine.name, (), error)


def _seed_error(engine: BackwardEngine, problem: Problem, found: Evaluation) -> TensorError | None:
    passes = 0  # over this graph so far
    for step, seeds, state in zip(problem.case.steps, problem.seeds, found.states, strict=False):
        passes = 0 if step.action == "forward" else passes + (step.action == "backward")
        roots = [state.values[root] for root in step.roots]
        given = [seeds[root] for root in step.roots]
        if roots and not accepts_seeds(engine, roots, given):
            message = f"{engine.name} takes no incoming gradient, and is wrong in a root times one already"
            return as_tensor_error(Unsupported(message, lacks="incoming gradients"))
        if passes > 1 and problem.case.graph.keys() <= step.roots.keys() and not _starts_at_roots(engine, roots, given):
            message = f"{engine.name} begins no pass at tensors of several numbers"
            return as_tensor_error(Unsupported(message, lacks="second passes from these"))
    return None


def _starts_at_roots(engine: BackwardEngine, roots: Sequence[np.ndarray], seeds: Sequence[np.ndarray | None]) -> bool:
    """Return whether passes start at these roots, and at no total of them."""
    engine.new_graph()
    leaves = [engine.leaf(np.asarray(root), True) for root in roots]
    starts, _ = engine.starts(leaves, list(seeds))
    return all(any(start is leaf for leaf in leaves) for start in starts)


def accepts_seeds(engine: BackwardEngine, roots: Sequence[np.ndarray], seeds: Sequence[np.ndarray | None]) -> bool:
    """Return whether passes give leaves like the roots these gradients.

    It is True without a test if the class's own pass takes them. A product comes before the one with an incoming
    gradient: a pass may stop there."""
    wanted = list(seeds)
    try:
        if _starts_at_roots(engine, roots, wanted):
            return True
        engine.new_graph()
        leaves = [engine.leaf(np.asarray(root), True) for root in roots]
        ones = [seed is None or bool(np.all(seed == 1)) for seed in seeds]  # else the total has a product
        deeper = [
            one if plain else one * engine.leaf(np.ones_like(one.array), False)
            for one, plain in zip(leaves, ones, strict=True)
        ]
        engine.backward(deeper, wanted, True)
        found = [leaf.grad for leaf in leaves]
    except GradcheckError:
        return False
    rtol = 1e-9 if engine.capabilities.dtype == "float64" else 1e-2
    pairs = zip(leaves, found, wanted, strict=True)
    return all(
        got is not None and got.shape == leaf.shape and np.allclose(got, 1.0 if seed is None else seed, rtol, rtol)
        for leaf, got, seed in pairs
    )
