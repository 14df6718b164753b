"""On small integers, where float64 rounds nothing, both engines' gradients are the exact ones bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.engines.resolve import resolve_engine
from gradcheck.errors import GradcheckError
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Literal
from gradcheck.language.expr.traverse import ops_in
from gradcheck.language.problem import Problem
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dependencies import Dependencies
from gradcheck.oracles.exact.dual_numbers import Dual, lift
from gradcheck.oracles.exact.graph_at_point import Direction, GraphAtPoint, PointSettings
from gradcheck.oracles.exact.prove import unsupported
from gradcheck.oracles.numeric.counterexample import with_small_integers
from tests.claims import shipped_cases
from tests.oracles.exact.calls import RATIONAL

#: Ops that make integers of integers.
_DIVIDE = {
    "div",
    "reciprocal",
    "mean",
    "var",
    "linalg.inv",
    "inv",
    "linalg.solve",
    "linalg.det",
    "cofactors",
    "mse_loss",
}
RING = (set(RATIONAL) | {"zeros", "ones", "eye", "sum", "ones_like", "zeros_like"}) - _DIVIDE


def is_ring(case: Case) -> bool:
    """Whether integers stay integers."""
    if case.dtype != "float64" or unsupported(case):
        return False
    exprs = [entry.expr for entry in case.graph.values()]
    literals = [node.value for expr in exprs for node in expr.walk() if isinstance(node, Literal)]
    return all(ops_in(expr).keys() <= RING for expr in exprs) and all(
        number == int(number) for number in literals if isinstance(number, float)
    )


CASES = [case for case in shipped_cases().cases if is_ring(case) and not case.implementations]


class OneElement(Direction):
    """Along one element."""

    def __init__(self, graph: GraphAtPoint, shape: tuple[int, ...], index: int) -> None:
        super().__init__(graph.point, graph.generator, shape)
        self.flat = np.zeros(int(np.prod(shape)), dtype=np.int64)
        self.flat[index] = 1

    def added_to(self, tensor: Dual) -> Dual:
        return Dual(self.point, tensor.lazy_value, self.flat.reshape(self.shape), Degree(1, 0, 1))


def exact_gradient(problem: Problem, name: str) -> np.ndarray:
    """Of integers that are small: residues next to 0 are the integers themselves."""
    graph = GraphAtPoint(Dependencies(problem), PointSettings())
    leaves = {**problem.inputs, **problem.constants}
    graph.leaves = {n: lift(graph.point, a) if a.dtype.kind == "f" else a for n, a in leaves.items()}
    graph._seed = lambda root, value, given: lift(graph.point, 1 if given is None else given)  # type: ignore
    shape = problem.inputs[name].shape
    found = []
    for index in range(problem.inputs[name].size):
        graph.directions[name] = OneElement(graph, shape, index)
        found.append(modular_arithmetic.centred(np.asarray(graph.derivative({name}).value), graph.point.prime))
    assert all(abs(value) < 2**28 for value in found), "too large to be sure"
    return np.array(found, dtype=np.float64).reshape(shape)


def test_there_are_enough() -> None:
    assert len(CASES) >= 30


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_shipped_cases(case: Case) -> None:
    try:
        problem = with_small_integers(case, None, np.random.default_rng(1), (-3, -2, -1, 1, 2, 3))
    except GradcheckError:
        return  # too many numbers
    leaves = {**problem.inputs, **problem.constants}.values()
    if any(np.any(array % 1) for array in leaves if array.dtype.kind == "f"):
        return  # a domain is stated, and has other numbers
    states = [resolve_engine(name).evaluate(problem).states[-1] for name in ("core", "torch")]
    for tensor in problem.inputs:
        want = exact_gradient(problem, tensor)
        for gradient in (state.gradients[tensor] for state in states):
            if gradient is None:
                assert not np.any(want)
            else:
                assert gradient.dtype == np.float64
                assert np.array_equal(gradient, want)
