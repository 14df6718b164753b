"""Complex gradients of code whose library has another convention than torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.testing import check_function

Z = np.array([1 + 2j, 0.5 - 1j])
MULTIPLIED = "multiplies by the conjugate of the derivative"


def square_of_hips(pulled: Callable[[Any, Any], Any]) -> Any:
    from autograd.extend import defvjp, primitive

    square = primitive(lambda z: z * z)
    defvjp(square, lambda result, z: lambda g: pulled(g, z))
    return square


@pytest.mark.parametrize("spec", [None, "z * z"])
def test_the_derivative_itself_is_right_and_its_conjugate_is_named(spec: str | None) -> None:
    pytest.importorskip("autograd")
    check_function(square_of_hips(lambda g, z: 2 * z * g), z=Z, spec=spec)
    with pytest.raises(AssertionError, match=MULTIPLIED):
        check_function(square_of_hips(lambda g, z: 2 * z.conj() * g), z=Z, spec=spec)


def test_a_conjugated_incoming_gradient_is_another_mistake() -> None:
    pytest.importorskip("autograd")
    with pytest.raises(AssertionError) as failure:
        check_function(square_of_hips(lambda g, z: 2 * z * g.conj()), z=Z)
    assert MULTIPLIED not in str(failure.value)


def test_a_real_number_of_complex_ones_is_diagnosed() -> None:
    """A loss is an array without dimensions, whose conjugate is no array in NumPy."""
    pytest.importorskip("autograd")
    from autograd.extend import defvjp, primitive

    def loss(pulled: Callable[[Any], Any]) -> Any:
        norm = primitive(lambda z: np.sum(np.abs(z) ** 2))
        defvjp(norm, lambda result, z: lambda g: g * pulled(z))
        return norm

    check_function(loss(lambda z: 2 * z.conj()), z=Z)
    with pytest.raises(AssertionError, match=MULTIPLIED):
        check_function(loss(lambda z: 2 * z), z=Z)
    with pytest.raises(AssertionError, match="cause: off by the constant factor 1/2"):
        check_function(loss(lambda z: z.conj()), z=Z)
