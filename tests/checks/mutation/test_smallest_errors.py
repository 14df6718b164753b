"""The smallest error that is seen is where a comparison turns."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.modes import quiet
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import Tolerance
from gradcheck.checks.mutation.smallest_errors import smallest_errors
from gradcheck.checks.result import ClaimKind, Subject
from gradcheck.language.case import StatedTolerance
from tests.checks.build import point_of

CHAIN = """
    inputs: {x: "randn(3, 3)", w: "randn(3, 3)", b: "randn(3)"}
    graph:
      y: x @ w + b
      h: tanh(y) * y
      loss: h.mean()
"""


@pytest.mark.parametrize("rtol", [None, 1e-6])
def test_the_smallest_error_is_where_a_comparison_turns(rtol: float | None) -> None:
    point = point_of(CHAIN)
    smallest = smallest_errors(point, None if rtol is None else StatedTolerance(rtol))
    assert set(smallest) == {"x", "w", "b", "y", "h", "loss"}
    for name, error in smallest.items():
        want = np.asarray(point.want.states[-1].gradients[name])
        slack = point.conditioning.slack(ClaimKind.GRADIENT, 0, name)
        index = np.unravel_index(np.argmax(np.abs(want)), want.shape)
        for factor, status in ((1.02, "failed"), (0.98, "passed")):
            wrong = want.copy()
            wrong[index] *= 1 + factor * error
            found = compare(wrong, want, Tolerance(rtol or 1e-10, 1e-10), Subject(ClaimKind.GRADIENT, name), slack)
            assert found.status == status, (name, factor)


def test_a_gradient_of_zeros_shows_any_error() -> None:
    point = point_of("{inputs: {x: [0, 0], y: [1, 2]}, graph: {loss: (x * y).sum()}}")
    assert smallest_errors(point, None)["y"] == 0.0


def test_a_gradient_without_a_finite_element_has_none() -> None:
    point = point_of("{inputs: {x: [0, 0], y: [1, 2]}, graph: {loss: log(x * 0).sum() + y.sum()}}")
    with quiet():
        assert set(smallest_errors(point, None)) == {"y", "loss"}
