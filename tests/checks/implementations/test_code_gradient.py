"""How results change where inputs move: each alone, and several together."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.implementations import code_gradient, self_consistency
from gradcheck.checks.implementations.code_gradient import CodeGradient, DifferencesEngine, slope_along
from gradcheck.engines.implementation.code_engine import CodeEngine
from gradcheck.testing import check_function

TIES = np.array([1.0, 0.0, -2.0, 0.0, 0.0, 0.0])


@pytest.fixture
def claims(monkeypatch: Any) -> list[CodeGradient]:
    """The gradients of a product at the given numbers."""
    kept: list[CodeGradient] = []
    known = self_consistency.compare_with_differences

    def keep(pairs: Any) -> Any:
        kept.extend(claim for claim, _ in pairs if claim.point.trial is None)
        return known(pairs)

    monkeypatch.setattr(self_consistency, "compare_with_differences", keep)
    check_function(torch.mul, a=np.array([2.0, 3.0]), b=np.array([5.0, -1.0]))
    return kept


def test_slopes_are_those_of_the_results_under_what_comes_in(claims: list[CodeGradient]) -> None:
    a, b = claims
    (seed,) = a.point.problem.seeds[0].values()
    assert seed is not None
    along_a, along_b = np.array([1.0, 2.0]), np.array([-1.0, 0.5])
    by_hand = float(np.sum(seed * (along_a * [5.0, -1.0] + along_b * [2.0, 3.0])))
    found = slope_along([(a, along_a), (b, along_b)])
    assert found is not None
    assert abs(found.value - by_hand) <= found.error + 1e-12


def test_a_scale_spares_steps(claims: list[CodeGradient], monkeypatch: Any) -> None:
    asked = []
    known = CodeEngine.values_alone
    monkeypatch.setattr(CodeEngine, "values_alone", lambda self, p: asked.append(p) or known(self, p))
    claim, _ = claims
    exact = claim.slope(np.array([1.0, 0.0]))
    asked.clear()
    near = claim.slope(np.array([1.0, 0.0]), scale=1e6)
    assert len(asked) == 4  # at rest it is known
    assert exact is not None
    assert near is not None
    assert abs(exact.value - near.value) <= 1e-5


def test_gradients_of_another_shape_have_no_values(claims: list[CodeGradient]) -> None:
    one = claims[0]
    assert CodeGradient(one.point, one.engine, "a", None, one.noise).values is not None
    assert CodeGradient(one.point, one.engine, "a", np.zeros(3), one.noise).values is None


def forward(x: Any) -> Any:
    order = np.argsort(x, kind="stable")
    return x[order], order


def backward(g: Any, order: Any) -> Any:
    found = np.empty_like(g)
    found[order] = g
    return found


def test_any_order_of_equal_elements_is_right() -> None:
    assert check_function(forward, backward, x=TIES).exit_code == 0


def test_what_no_order_gives_is_wrong() -> None:
    def wrong(g: Any, order: Any) -> Any:
        found = backward(g, order)
        found[1], found[3] = found[1] + 4, found[3] - 4  # the sum stays
        return found

    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(forward, wrong, x=TIES)


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
    monkeypatch.setattr(code_gradient, "_MOST_CALLS", 5)
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
