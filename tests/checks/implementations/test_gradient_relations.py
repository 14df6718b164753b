"""How wrong numbers relate to the right ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.implementations.gradient_relations import _is_one_sum
from gradcheck.checks.scheduling.run import run
from gradcheck.testing import check_function
from tests.engines.implementation.build import with_code

CASE = 'dims: {n: 5, d: 4}\ninputs: {x: "randn(n, d)", s: "uniform(0.5, 2, [d])"}\ngraph: {y: sin(x) * s + relu(x)}'
KERNEL = np.array([0.5, 1.0, -0.3])
_X = np.array([[0.4, -1.1, 0.9], [1.7, 0.2, -0.6]])
_MASK = np.array([[True, False, True], [True, True, False]])


def forward(x: Any, s: Any) -> Any:
    return np.sin(x) * s + np.maximum(x, 0), (x, s)


def right(g: Any, c: Any) -> Any:
    x, s = c
    return g * (np.cos(x) * s + (x > 0))


def kinds_of(wrong: Any) -> set[str]:
    code = (forward, lambda g, c: (wrong(g, c), (g * np.sin(c[0])).sum(0)))
    (found,) = run(with_code(CASE, code), allow_code=True).cases
    return {d.kind for c in found.comparisons if c.tensor == "x" for d in c.diagnoses}


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (lambda g, c: right(g, c)[:, [1, 0, 3, 2]] if g.shape[1] == 4 else right(g, c)[:, ::-1], "reshaped"),
        (lambda g, c: right(g, c).ravel()[np.argsort(np.sin(np.arange(g.size)))].reshape(g.shape), "reshaped"),
        (lambda g, c: np.where(np.arange(g.shape[0])[:, None] % 2, right(g, c), 0), "use_dropped"),
        (lambda g, c: np.where(c[0] > 0, right(g, c), 0.25 * right(g, c)), "branch"),
        (lambda g, c: np.abs(right(g, c)), "sign"),
        (lambda g, c: right(g, c) * c[1] ** 2, "factor_of_tensor"),
        (lambda g, c: right(g, c) * (1 - np.tanh(c[0]) ** 2), "factor_of_tensor"),
        (lambda g, c: np.pad(right(g, c), ((0, 0), (1, 1))), "reshaped"),
    ],
)
def test_they_are_named(wrong: Any, kind: str) -> None:
    assert kind in kinds_of(wrong)


@pytest.mark.parametrize(
    ("rows", "told"),
    [((0, -1), "right inside, and wrong at the border along dim 0"), ((1, 2), "right but in the slices 1 to 2")],
)
def test_wrong_slices_are_named(rows: tuple[int, ...], told: str) -> None:
    def wrong(g: Any, c: Any) -> Any:
        found = right(g, c)
        found[list(rows)] = (g * np.sin(3 * c[0]))[list(rows)]
        return found, (g * np.sin(c[0])).sum(0)

    generator = np.random.default_rng(0)
    with pytest.raises(AssertionError) as failed:
        check_function(forward, wrong, x=generator.normal(size=(5, 4)), s=generator.uniform(0.5, 2, 4))
    assert told in str(failed.value)


def test_what_holds_at_one_point_alone_is_not_told() -> None:
    def chance(g: Any, c: Any) -> Any:
        return right(g, c) * (1.5 + np.sin(1e4 * np.abs(c[0]).sum()))

    assert kinds_of(chance) == {"unknown"}


class Float32Inside(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * torch.tanh(torch.nn.functional.softplus(x))

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        t = torch.nn.functional.softplus(x.float()).tanh().to(x.dtype)
        return g * (t + x * torch.sigmoid(x) * (1 - t * t))


def test_rounding_is_no_factor() -> None:
    with pytest.raises(AssertionError, match="cause: computed in float32"):
        check_function(Float32Inside.apply, x=(4, 5), spec="x * tanh(softplus(x))")


class Step(torch.autograd.Function):
    """A step, with the derivative of a sigmoid."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return (x > 0).to(x.dtype)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return g * x.sigmoid() * (1 - x.sigmoid())


def test_a_gradient_where_none_belongs_is_no_reversed_mask() -> None:
    with pytest.raises(AssertionError) as told:
        check_function(Step.apply, x=(4, 3))
    assert "mask" not in str(told.value)


def filtered(x: np.ndarray) -> np.ndarray:
    return np.stack([np.convolve(row, KERNEL)[: len(row)] for row in x])


def forward_of(x: np.ndarray) -> Any:
    return filtered(x), x


class _NotConjugated(torch.autograd.Function):
    """Multiplies by a complex matrix, in its backward, too."""

    @staticmethod
    def forward(ctx: Any, z: torch.Tensor) -> torch.Tensor:
        return _COMPLEX @ z

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        return _COMPLEX @ g


_COMPLEX = torch.tensor([[1 + 2j, 0.5], [-1j, 2 - 0.5j]], dtype=torch.complex128)


def test_a_complex_jacobian_itself_is_named() -> None:
    z = torch.tensor([1 - 2j, 0.5j], dtype=torch.complex128, requires_grad=True)
    with pytest.raises(AssertionError) as told:
        check_function(_NotConjugated.apply, z=z)
    assert "the Jacobian itself, where its conjugate transpose belongs" in " ".join(str(told.value).split())


def test_a_filter_that_is_not_reversed_is_the_jacobian_itself() -> None:
    check_function(forward_of, lambda g, x: filtered(g[:, ::-1])[:, ::-1], x=(3, 6))
    with pytest.raises(AssertionError, match="multiplied by the Jacobian itself"):
        check_function(forward_of, lambda g, x: filtered(g), x=(3, 6))


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
