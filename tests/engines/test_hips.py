"""HIPS autograd's own functions and derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from tests.from_text import problem_from

pytest.importorskip("autograd")


def test_derivatives_are_hips_autograds() -> None:
    from gradcheck.engines.hips import Hips

    engine = Hips()
    add_up, exp = engine.library.function("sum"), engine.library.function("exp")
    x, y = np.array([0.0, 1.0]), np.array([2.0, 3.0])
    found = engine.derivatives(lambda a, b: add_up(exp(a) * b), [x, y])
    np.testing.assert_allclose(found, [np.exp(x) * y, np.exp(x)], rtol=1e-15)


def test_a_case() -> None:
    from gradcheck.engines.hips import Hips

    (state,) = Hips().evaluate(problem_from("{inputs: {x: [[1, 2], [3, 4]]}, graph: {y: (x @ x.T).sum()}}")).states
    assert state.gradients["x"].tolist() == [[8, 12], [8, 12]]
