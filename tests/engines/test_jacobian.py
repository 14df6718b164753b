"""Jacobians and Hessians by an engine's own gradients."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.engines import jacobian
from gradcheck.engines.core import Core
from gradcheck.engines.jacobian import derivative
from gradcheck.engines.torch import Torch
from gradcheck.errors import GradcheckError, TooLarge
from gradcheck.language.expr.nodes import Derivative
from tests.from_text import problem_from

TEXT = """
    inputs: {x: [1.0, 2.0, 3.0], w: 2.0}
    constants: {c: [1.0, 1.0]}
    graph: {y: "(x[:2] ** 2) * w", d: c * 2, f: "(y ** 2).sum()", i: detach(x)}
"""


@pytest.mark.parametrize("engine", [Core(), Torch()])
def test_rows_are_of_the_first_and_columns_of_the_second(engine: Core | Torch) -> None:
    def of(kind: str, *tensors: str) -> object:
        return derivative(engine, problem_from(TEXT), Derivative.of(kind, *tensors)).tolist()

    assert of("jacobian", "y", "x") == [[4, 0, 0], [0, 8, 0]]
    assert of("jacobian", "y", "w") == [1, 4]
    assert of("jacobian", "x", "x") == np.eye(3).tolist()
    assert of("jacobian", "i", "x") == np.zeros((3, 3)).tolist()
    assert of("jacobian", "w", "y") == [0, 0]
    assert of("hessian", "f", "y") == [[2, 0], [0, 2]]
    assert of("hessian", "f", "x", "w") == [16, 128, 0]
    assert of("hessian", "f", "w", "x") == [16, 128, 0]
    assert of("hessian", "w", "x") == np.zeros((3, 3)).tolist()


def test_nothing_is_differentiated_by_a_tensor_of_constants() -> None:
    with pytest.raises(GradcheckError, match="d requires no gradient"):
        derivative(Core(), problem_from(TEXT), Derivative.of("jacobian", "y", "d"))


def test_what_is_too_large_is_said_before_it_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jacobian, "MAX_ELEMENTS", 5)
    monkeypatch.setattr(Core, "differentiate", None)
    with pytest.raises(TooLarge, match="2 times 3 elements"):
        derivative(Core(), problem_from(TEXT), Derivative.of("jacobian", "y", "x"))
