"""Differences as a reference for code that is not traced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.implementations import differences_engine
from gradcheck.checks.implementations.differences_engine import DifferencesEngine
from gradcheck.testing import check_function


def _cumulative(x: Any, w: Any) -> Any:
    out, total = np.zeros_like(x), np.zeros(x.shape[1])
    for t in range(len(x)):
        total = np.tanh(total * w + x[t])
        out[t] = total
    return out, (x, w, out)


def _backward(g: Any, cache: Any) -> Any:
    x, w, out = cache
    dx, dw, carried = np.zeros_like(x), np.zeros_like(w), np.zeros_like(w)
    for t in reversed(range(len(x))):
        d = (g[t] + carried) * (1 - out[t] ** 2)
        dx[t], carried = d, d * w
        dw += d * (out[t - 1] if t else 0)
    return dx, -dw


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    made: list[Any] = []

    class Kept(DifferencesEngine):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            made.append(self)

    from gradcheck.checks.implementations import self_consistency

    monkeypatch.setattr(self_consistency, "DifferencesEngine", Kept)
    return made


_X, _W = np.array([[0.4, -1.1], [0.9, 0.3], [-0.2, 0.6]]), np.array([0.7, -0.4])


def test_only_wrong_gradients_cost_calls(engines: list[Any]) -> None:
    with pytest.raises(AssertionError, match=r"(?s)gradient of w.*cause: the sign is wrong") as caught:
        check_function(_cumulative, _backward, x=_X, w=_W)
    assert "gradient of x" not in str(caught.value)
    assert 0 < engines[0].calls < 400


def test_calls_are_counted_and_end(engines: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(differences_engine, "_MOST_CALLS", 5)
    with pytest.raises(AssertionError):
        check_function(_cumulative, _backward, x=_X, w=_W)
    assert engines[0].calls < 100


def test_an_ignored_incoming_gradient_is_no_constant_factor() -> None:
    def forward(x: Any) -> Any:
        return np.array(sum(float(one) ** 3 for one in x.ravel())), x

    with pytest.raises(AssertionError, match="cause: the incoming gradient is ignored"):
        check_function(forward, lambda g, x: 3 * x**2, x=np.array([0.4, -1.1, 0.9, 0.3]))


def test_complex_gradients_of_untraced_code_have_causes() -> None:
    def forward(z: Any) -> Any:
        return np.array([one * one for one in z.tolist()]), z

    z = np.array([0.4 - 0.3j, -1.1 + 0.2j, 0.9 + 1.0j, 0.3 - 0.7j])
    check_function(forward, lambda g, z: 2 * z.conj() * g, z=z)
    with pytest.raises(AssertionError, match="cause: the sign is wrong"):
        check_function(forward, lambda g, z: -2 * z.conj() * g, z=z)
