"""Functions of HIPS autograd."""

from __future__ import annotations

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


def test_each_argument_has_a_pass_of_its_own() -> None:
    """In a tuple, autograd adds a complex gradient to a real zero, and raises; one argument at a time it does not."""
    pytest.importorskip("autograd")
    from autograd.extend import defvjp, primitive

    from gradcheck.engines.implementation.hips_function import HipsFunction

    product = primitive(lambda x, w: x * w)
    defvjp(product, lambda result, x, w: lambda g: g * w + 0j, lambda result, x, w: lambda g: g * x + 0j)
    _, _, pull = HipsFunction(product)([np.full(2, 3.0), np.full(2, 5.0)], [True, True])
    assert [np.real(g).tolist() for g in pull([np.ones(2)]) if g is not None] == [[5, 5], [3, 3]]
