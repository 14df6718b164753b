"""Jacobians and Hessians by an engine's own gradients, a pass a row.

A row is the gradient that torch leaves for an incoming gradient of 1 at one element, for complex tensors too. What the
tensor is made of is held, as for every gradient.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.graph_run import GraphRun
from gradcheck.errors import GradcheckError, NonScalarBackward, TooLarge
from gradcheck.language.evaluation.result_size import MAX_ELEMENTS
from gradcheck.language.expr.nodes import Derivative
from gradcheck.language.problem import Problem


def derivative(engine: DefineByRun, problem: Problem, term: Derivative) -> np.ndarray:
    """Return a Jacobian or a Hessian, of the first shape, then the second.

    Raises GradcheckError, TooLarge before a result of more than `MAX_ELEMENTS` elements is computed.
    """
    of, *by = term.tensors
    with engine.fresh_session(problem.dtype):
        run = engine.new_run(problem)
        run.run_graph()
        if term.kind == "jacobian":
            return _jacobian(engine, run.tensor(of), _leaf(run, by[0]), is_identity=of == by[0])
        first = _leaf(run, by[0])
        gradient = _gradient(engine, of, run.tensor(of), first)
        if gradient is None:
            gradient = engine.leaf(np.zeros_like(engine.array(first)), False)
        return _jacobian(engine, gradient, _leaf(run, by[-1]))


def _leaf(run: GraphRun, name: str) -> Any:
    tensor = run.tensor(name)
    if not getattr(tensor, "requires_grad", False):
        raise GradcheckError(f"{name} requires no gradient, so nothing is differentiated by it")
    return tensor


def _gradient(engine: DefineByRun, name: str, root: Any, by: Any) -> Any:
    array = engine.array(root)
    if array.size != 1 or array.dtype.kind == "c":
        raise NonScalarBackward(f"a Hessian of {name}, of shape {list(array.shape)}, which is not one real number")
    if not root.requires_grad:
        return None
    return engine.differentiate([root], [by], [np.ones_like(array)])[0]


def _jacobian(engine: DefineByRun, of: Any, by: Any, *, is_identity: bool = False) -> np.ndarray:
    rows, columns = engine.array(of), engine.array(by)
    if rows.size * columns.size > MAX_ELEMENTS:
        raise TooLarge(f"{rows.size:,} times {columns.size:,} elements are more than {MAX_ELEMENTS:,}")
    found = np.zeros((rows.size, columns.size), columns.dtype)
    if is_identity:
        found[...] = np.eye(rows.size)
    elif getattr(of, "requires_grad", False):
        unit = np.zeros(rows.size, rows.dtype)
        for row in range(rows.size):
            unit[row] = 1
            gradient = engine.differentiate([of], [by], [unit.reshape(rows.shape)])[0]
            unit[row] = 0
            if gradient is None:  # no row has one
                break
            found[row] = engine.array(gradient).ravel()
    return found.reshape(rows.shape + columns.shape)
