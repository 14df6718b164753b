"""Generated functions for large arrays: equal bits, nothing overwritten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import Tensor, ops
from gradcheck.autograd.compiled.buffer_release import LARGE
from gradcheck.autograd.compiled.calls import WORTH_IT
from gradcheck.autograd.compiled.generated_code import define, nodes_in, places_of
from tests.autograd.compiled.kit import GeneralTensor, compile_at_once, leaf, same

_LARGE_ONES: list[Callable[[Tensor, Tensor], Any]] = [
    lambda x, w: ops.relu(x) * w,
    lambda x, w: ops.clamp(x * w, -0.5, 0.5),
    lambda x, w: ops.where(w > 0, 0.0, x) - ops.where(w > 1, x, -0.0),
    lambda x, w: ops.sigmoid(x) * x / w,
    lambda x, w: ops.exp(x * 0.5) + x * x,
    lambda x, w: ops.mul(ops.reshape(x, (2, -1)).T, 3.0).T.reshape(x.shape) * w,
]


@pytest.mark.parametrize(("call", "dtype"), [*((call, "float64") for call in _LARGE_ONES), (_LARGE_ONES[0], "float32")])
def test_large_arrays_give_the_same_bits(call: Any, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gradients held by the sweep alone are overwritten; `where` uses bits."""
    compile_at_once(monkeypatch)
    stream = np.random.default_rng(3)
    x, w, seed = (stream.standard_normal(LARGE).astype(dtype) for _ in range(3))
    x[:6] = w[6:12] = seed[12:18] = [0.0, -0.0, np.nan, np.inf, -np.inf, 1.0]

    def gradients(kind: type[Tensor]) -> list[np.ndarray]:
        one, other = kind(x, requires_grad=True), kind(w)
        made = call(one, other)
        made.backward(seed)
        assert one.grad is not None
        return [made.data, one.grad.data]

    found = [gradients(Tensor) for _ in range(3)][-1]
    assert same(found, gradients(GeneralTensor))


def test_a_large_gradient_that_somebody_holds_is_not_written_over() -> None:
    """The seed, retained gradients, pending sums, arrays behind views."""
    x, seed = Tensor(np.full(LARGE, 2.0), requires_grad=True), np.full(LARGE, 3.0)
    for _ in range(2 * WORTH_IT):
        x.grad = None
        y = x * 1.5
        z = y * 2.5
        z.retain_grad()
        y.retain_grad()
        made = (z * 0.5 + ops.exp(y * 0.0) * z).reshape(2, -1).T
        made.backward(seed.reshape(2, -1).T)
    assert z.grad is not None
    assert y.grad is not None
    assert x.grad is not None
    assert (seed == 3).all()
    assert set(z.grad.data) == {4.5}
    assert set(y.grad.data) == {4.5 * 2.5}
    assert set(x.grad.data) == {4.5 * 2.5 * 1.5}


def test_creators_are_found_in_their_order() -> None:
    x, y = leaf(2), leaf(2)
    assert places_of(ops.where, (x, 1.0, y)) == [(0,), (2,)]
    assert places_of(ops.cat, ([x, y, x], 0)) == [(0, 0), (0, 1), (0, 2)]
    assert nodes_in((x, [y, 2], (x,))) == [x, y, x]


def test_functions_of_one_code_have_their_own_names() -> None:
    one, other = (define("add", "x", ["return x + c"], {"c": c}) for c in (1, 2))
    assert (one(1), other(1)) == (2, 3)
    assert one.__code__ is not other.__code__
