"""Wrong maps of the incoming gradient: the Jacobian itself, a wrong sum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.implementations.linear_mistakes import _is_one_sum
from gradcheck.testing import check_function

KERNEL = np.array([0.5, 1.0, -0.3])
_X = np.array([[0.4, -1.1, 0.9], [1.7, 0.2, -0.6]])
_MASK = np.array([[True, False, True], [True, True, False]])


def filtered(x: np.ndarray) -> np.ndarray:
    return np.stack([np.convolve(row, KERNEL)[: len(row)] for row in x])


def forward(x: np.ndarray) -> Any:
    return filtered(x), x


def test_a_filter_that_is_not_reversed_is_the_jacobian_itself() -> None:
    check_function(forward, lambda g, x: filtered(g[:, ::-1])[:, ::-1], x=(3, 6))
    with pytest.raises(AssertionError, match="multiplied by the Jacobian itself"):
        check_function(forward, lambda g, x: filtered(g), x=(3, 6))


def normed(x: np.ndarray) -> Any:
    return x / np.sqrt((x * x).sum(1, keepdims=True)), x


def _backward(g: np.ndarray, x: np.ndarray, weight: Any = lambda g, x: g * x) -> np.ndarray:
    size = np.sqrt((x * x).sum(1, keepdims=True))
    return np.asarray(g / size - x * weight(g, x).sum(1, keepdims=True) / size**3)


@pytest.mark.parametrize("weight", [lambda g, x: g, lambda g, x: g * np.cos(7 * x + 1)])
def test_a_wrong_sum_is_named_with_its_dim(weight: Any) -> None:
    check_function(normed, _backward, x=(4, 3))
    with pytest.raises(AssertionError, match="a sum of the incoming gradient over dim 1 is wrong") as failed:
        check_function(normed, lambda g, x: _backward(g, x, weight), x=(4, 3))
    assert "the Jacobian" not in str(failed.value)


def _found(rule: Any) -> tuple[bool, ...]:
    incoming = np.random.default_rng(0).standard_normal((4, 5, 3))
    return tuple(_is_one_sum(np.stack([rule(incoming), incoming]), dim) for dim in (0, 1, None))


def test_elements_and_places_are_no_sum() -> None:
    scale = np.arange(1.0, 16).reshape(5, 3)
    assert _found(lambda g: g * scale) == (False, False, False)
    assert _found(lambda g: scale * g.sum(2, keepdims=True)) == (False, True, False)
    assert _found(lambda g: scale * g.sum((1, 2), keepdims=True)) == (True, True, True)
    assert _found(lambda g: scale * g[:, :, :1]) == (False, False, False)
    assert _found(lambda g: np.where(np.arange(3) == 1, g, 0)) == (False, False, False)
    assert _found(lambda g: g[:, :, [1, 2, 0]]) == (False, False, False)


def _over(divisor: Any) -> Any:
    return lambda x, mask: ((x * mask).sum() / divisor(mask), mask)


def _sum(mask: Any) -> Any:
    return mask.sum()


def _size(mask: Any) -> Any:
    return mask.size


@pytest.mark.parametrize(
    ("right", "wrong", "cause"),
    [
        (_sum, _size, r"divided by x.numel\(\) where sum\(mask\) belongs"),
        (_size, _sum, r"divided by sum\(mask\) where x.numel\(\) belongs"),
    ],
)
def test_a_size_beside_the_sum_of_a_mask_is_named(right: Any, wrong: Any, cause: str) -> None:
    with pytest.raises(AssertionError, match=f"cause: (perhaps: )?{cause}"):
        check_function(_over(right), lambda g, mask: (g * mask / wrong(mask), None), x=_X, mask=_MASK)


def test_a_plain_factor_stays_one() -> None:
    with pytest.raises(AssertionError, match=r"cause: off by the constant factor 2\.5"):
        check_function(_over(_sum), lambda g, mask: (2.5 * g * mask / mask.sum(), None), x=_X, mask=_MASK)
