"""Functions of JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def test_its_own_rule_is_asked_in_double_precision() -> None:
    jax: Any = pytest.importorskip("jax")
    from gradcheck.engines.implementation.jax_function import JaxFunction

    @jax.custom_vjp
    def double(x: Any) -> Any:
        return 2 * x

    double.defvjp(lambda x: (2 * x, None), lambda kept, g: (7 * g,))
    results, several, pull = JaxFunction(double)([np.ones(2) / 3], [True])
    assert not several
    assert np.array_equal(results[0], [2 / 3, 2 / 3])
    assert np.array_equal(np.asarray(pull([np.ones(2)])[0]), [7, 7])
