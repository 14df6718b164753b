"""One direction: complex steps where they are right, differences elsewhere, long double where it pays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.oracles.numeric import directional_derivative
from gradcheck.oracles.numeric.directional_derivative import DirectionalDerivative
from gradcheck.oracles.numeric.objective import OpObjective


def of(name: str, x: Any, call: Callable[[Any], Any] | None = None) -> DirectionalDerivative:
    point = np.asarray(x, dtype=np.complex128 if np.iscomplexobj(x) else np.float64)
    return DirectionalDerivative(OpObjective(point, call or (lambda v: TABLE[name](v)), [np.ones(())]), 0)


def test_a_complex_step_is_exact_to_rounding() -> None:
    x, direction = np.array([0.5, 1.5]), np.array([1.0, -2.0])
    found = of("exp", x).complex_step(direction)
    right = float(np.exp(x) @ direction)
    assert abs(found.value - right) <= found.error <= 1e-13 * abs(right)


def test_a_complex_step_refuses_what_it_cannot_do() -> None:
    with pytest.raises(Unsupported, match="complex itself"):
        of("exp", [1 + 1j]).complex_step(np.ones(1))
    with pytest.raises(Unsupported, match="not analytic"):
        of("abs", [1.0]).complex_step(np.ones(1))
    with pytest.raises(Unsupported, match="leaves the finite numbers"), np.errstate(all="ignore"):
        of("", [1e-250], lambda v: v * 1e200 * 1e200).complex_step(np.ones(1))

    def strays(v: Any) -> Any:
        return TABLE["exp"](v) + (1.0 if np.iscomplexobj(v.data) else 0.0)

    with pytest.raises(Unsupported, match="another function for complex numbers"):
        of("", [1.0], strays).complex_step(np.ones(1))


@pytest.mark.parametrize(("x", "factor"), [(1e-300, 1.0), (1e-160, 1.0), (1.0, 1e-310)])
def test_a_complex_step_that_underflows_says_so(x: float, factor: float) -> None:
    found = of("", [x], lambda v: v * v * factor).complex_step(np.ones(1))
    assert abs(found.value - 2 * x * factor) <= found.error


@pytest.mark.parametrize("x", [1e-9, 0.3, 1e7])
def test_differences_choose_their_steps(x: float) -> None:
    found = of("log", [x]).differences(np.ones(1))
    assert abs(found.value - 1 / x) <= found.error <= 1e-9 / x


def test_a_small_element_may_drown_in_what_it_is_added_to() -> None:
    """Steps of its own size are lost beside 3; those of the tensor's size are not."""
    found = of("hardsigmoid", [1e-11, 1.0]).differences(np.array([1.0, 0.0]))
    assert not found.kinked
    assert abs(found.value - 1 / 6) <= found.error <= 1e-10


def test_a_complex_direction_of_a_complex_tensor() -> None:
    """The real part of <gradient, direction>, for the real part of z * z: 2 conj(z) is the gradient."""
    z = 3 + 4j
    line = of("square", [z])
    for direction in (1.0, 1j):
        found = line.differences(np.array([direction]))
        assert found.value == pytest.approx((2 * z * direction).real)


def test_a_kink_has_the_interval_of_its_neighbours() -> None:
    """Of three that tie the middle one may take all: along it alone, either side says 1 or 0."""
    found = of("amax", np.zeros(3), lambda v: TABLE["amax"](v)).differences(np.array([1.0, 0.0, 0.0]))
    assert found.kinked
    assert found.left == pytest.approx(0, abs=1e-6)
    assert found.right == pytest.approx(1, abs=1e-6)
    absolute = of("abs", [0.0]).differences(np.ones(1))
    assert (absolute.left, absolute.right) == pytest.approx((-1, 1), abs=1e-6)


def test_outside_the_domain_there_is_no_number() -> None:
    def only_above(v: Any) -> Any:
        if np.any(v.data < 1):
            raise Unsupported("outside")
        return v * 2

    found = of("", [1.0], only_above).differences(np.ones(1))
    assert not found.error < 1


def test_long_double_is_used_where_it_is_cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.dtype] = []

    def call(v: Any) -> Any:
        seen.append(v.data.dtype)
        return TABLE["exp"](v)

    of("", [1.0], call).differences(np.ones(1))
    if np.finfo(np.longdouble).eps < 2.0**-52:
        assert seen[-1] == np.longdouble
    monkeypatch.setattr(directional_derivative, "LONG_DOUBLE_WORK", 0)
    of("", [1.0], call).differences(np.ones(1))
    assert seen[-1] == np.float64


def test_costs_depend_on_sizes_and_methods_alone() -> None:
    small, large = of("exp", np.ones(10)), of("exp", np.ones(100_000))
    assert small.cost("complex step") < small.cost("differences")
    assert large.cost("complex step") > 10 * small.cost("complex step")
    before = small.cost("differences")
    small.differences(np.ones(10))
    assert small.cost("differences") == before
    assert math.isclose(of("exp", np.zeros(10)).cost("differences"), before)
