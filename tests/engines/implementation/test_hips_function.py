"""Functions of HIPS autograd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def test_its_own_rule_is_asked() -> None:
    pytest.importorskip("autograd")
    from autograd.extend import defvjp, primitive

    from gradcheck.engines.implementation.hips_function import HipsFunction

    sine = primitive(np.sin)
    defvjp(sine, lambda result, x: lambda g: 7 * g)
    results, several, pull = HipsFunction(lambda x, w: sine(x) * w)([np.zeros(2), np.ones(2)], [True, False])
    assert not several
    assert np.array_equal(results[0], [0, 0])
    first, second = pull([np.ones(2)])
    assert first is not None
    assert np.array_equal(first, [7, 7])
    assert second is None


def test_several_results() -> None:
    pytest.importorskip("autograd")
    import autograd.numpy

    from gradcheck.engines.implementation.hips_function import HipsFunction

    function = HipsFunction(lambda x: (autograd.numpy.sin(x), 3 * x))
    results, several, pull = function([np.zeros(2)], [True])
    assert several
    assert len(results) == 2
    (gradient,) = pull([np.ones(2), np.ones(2)])
    assert gradient is not None
    assert np.array_equal(gradient, [4, 4])


def test_its_gradients_are_a_function_of_their_own() -> None:
    pytest.importorskip("autograd")
    import autograd.numpy

    from gradcheck.engines.implementation.hips_function import HipsFunction

    x, g = np.array([0.5, 1.0]), np.array([2.0, 3.0])
    twice = HipsFunction(lambda x: (autograd.numpy.sin(x), 3 * x)).gradients((True,))
    results, several, pull = twice([x, g, g], [True, True, False])
    assert several
    assert np.allclose(results[0], g * np.cos(x) + 3 * g)
    by_x, by_incoming, nothing = pull([np.ones(2)])
    assert by_x is not None
    assert by_incoming is not None
    assert np.allclose(by_x, -g * np.sin(x))
    assert np.allclose(by_incoming, np.cos(x))
    assert nothing is None


def test_second_order_is_checked_where_autograd_follows_the_rule() -> None:
    pytest.importorskip("autograd")
    import autograd.numpy
    from autograd.extend import defvjp, primitive
    from autograd.tracer import getval

    from gradcheck.testing import check_function

    def cube(value: Any) -> Any:
        found = primitive(lambda x: x**3)
        defvjp(found, lambda _, x: lambda g: 3 * g * value(x) ** 2)
        return lambda x: found(x) * 1.0

    def masked(x: Any) -> Any:
        """Return a rectifier whose rule leaves autograd with an array of its own numbers."""
        found = primitive(lambda x: np.maximum(x, 0))

        def rule(result: Any, x: Any) -> Any:
            def pull(g: Any) -> Any:
                out = np.array(g)
                out[x < 0] = 0
                return out

            return pull

        defvjp(found, rule)
        return found(x) * 2.0

    check_function(cube(lambda x: x), x=(4,))
    check_function(masked, x=(5,))
    check_function(lambda x: autograd.numpy.exp(x) * (np.random.rand(6) < 0.5), x=(6,))
    for spec in (None, "x ** 3"):
        with pytest.raises(AssertionError, match="second-order gradient of x"):
            check_function(cube(getval), x=(4,), spec=spec)


def test_each_argument_has_a_pass_of_its_own() -> None:
    """In a tuple, autograd adds a complex gradient to a real zero, and raises; one argument at a time it does not."""
    pytest.importorskip("autograd")
    from autograd.extend import defvjp, primitive

    from gradcheck.engines.implementation.hips_function import HipsFunction

    product = primitive(lambda x, w: x * w)
    defvjp(product, lambda result, x, w: lambda g: g * w + 0j, lambda result, x, w: lambda g: g * x + 0j)
    _, _, pull = HipsFunction(product)([np.full(2, 3.0), np.full(2, 5.0)], [True, True])
    assert [np.real(g).tolist() for g in pull([np.ones(2)]) if g is not None] == [[5, 5], [3, 3]]
