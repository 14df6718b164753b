"""Angles: quadrants, degrees, and the sine over its argument at zero."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from tests.autograd.ops.both import agree


def test_the_angle_of_a_point_knows_its_quadrant() -> None:
    found = ops.atan2(np.array([1.0, 1.0, -1.0, -1.0]), np.array([1.0, -1.0, -1.0, 1.0]))
    np.testing.assert_allclose(found, np.pi / 4 * np.array([1, 3, -3, -1]))


def test_sinc_at_zero_has_the_value_1_and_the_slope_0() -> None:
    x = Tensor([0.0, 0.5, 1.0], requires_grad=True)
    y = ops.sinc(x)
    y.backward(np.ones(3))
    assert x.grad is not None
    np.testing.assert_allclose(y.data, [1, 2 / np.pi, 0], atol=1e-15)
    np.testing.assert_allclose(x.grad.data, [0, -4 / np.pi, -1])


@pytest.mark.parametrize("name", ["asin", "acos", "atanh", "acosh", "asinh", "tan"])
def test_complex_numbers_beyond_the_real_domain(name: str) -> None:
    agree(f"{name}(z)", rtol=1e-11, z=np.array([2 + 1j, -0.5 - 2j]))


def test_degrees() -> None:
    np.testing.assert_allclose(ops.rad2deg(ops.deg2rad(np.array([180.0, -90.0]))), [180, -90])
