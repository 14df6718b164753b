"""Complex numbers: angles, polar form, views, what has no imaginary part."""

from __future__ import annotations

import numpy as np

from gradcheck import Tensor, ops
from tests.autograd.ops.both import agree, normal, refused_by_both

Z = normal(3) + 1j * normal(3, seed=1)


def test_a_number_is_its_length_and_angle() -> None:
    agree("polar(abs(z), angle(z))", z=Z)
    np.testing.assert_allclose(ops.polar(np.abs(Z), np.angle(Z)), Z, rtol=1e-14)


def test_the_angle_of_zero_has_the_gradient_zero_and_real_numbers_have_0_or_pi() -> None:
    zero = Tensor(np.array([0j]), requires_grad=True)
    ops.angle(zero).backward(np.ones(1))
    assert zero.grad is not None
    assert zero.grad.tolist() == [0]
    assert ops.angle(np.array([-2.0, 3.0])).tolist() == [np.pi, 0]


def test_views_come_back() -> None:
    np.testing.assert_array_equal(ops.view_as_complex(ops.view_as_real(Z)), Z)
    agree("view_as_complex(view_as_real(z) * 2)", z=Z)


test_both_refuse_in_the_same_way = refused_by_both(
    ("dtype_mismatch", "imag(randn(3))"),
    ("dtype_mismatch", "view_as_real(randn(3))"),
    ("shape_mismatch", "view_as_complex(randn(3))"),
)
