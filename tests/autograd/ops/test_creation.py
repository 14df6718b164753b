"""Creators: tensors among lists, default dtypes."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import Tensor, ops
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.errors import ArgumentError, ShapeMismatch
from tests.autograd.ops.both import refused_by_both


def test_a_tensor_is_made_of_tensors_too() -> None:
    x = Tensor([1.5, 2.5])
    made = ops.tensor([ops.sum(x), 3.0, np.float64(2.0)])
    np.testing.assert_array_equal(made, [4.0, 3.0, 2.0])


def test_a_tensor_made_of_an_array_keeps_its_dtype() -> None:
    assert ops.tensor(np.ones(2, np.float32)).dtype == np.float32


def test_numbers_take_the_default_dtype() -> None:
    with using_default_dtype(np.dtype(np.float32)):
        made = [ops.ones(2), ops.tensor([1.5]), ops.full([2], 0.5), ops.arange(0.5), ops.linspace(0, 1, 3), ops.eye(2)]
        assert {array.dtype.name for array in made} == {"float32"}
        assert ops.tensor([1 + 2j]).dtype == np.complex64
        assert ops.div(np.array([1]), 2).dtype == ops.sin(np.array([1])).dtype == np.float32
    assert ops.tensor([1, 2]).dtype == ops.arange(3).dtype == ops.full([1], 2).dtype == np.int64


def test_random_numbers_come_from_the_generator_that_is_passed() -> None:
    first, second = (ops.randn(3, generator=np.random.default_rng(7)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert ops.uniform_like(first, 2, 3, generator=np.random.default_rng(7)).min() >= 2
    with pytest.raises(ArgumentError, match="draws random values"):
        ops.randn(3)
    with pytest.raises(ArgumentError, match="leaves nothing"):
        ops.randint(3, 3, [2], generator=np.random.default_rng(7))


@pytest.mark.parametrize(
    ("name", "args", "numbers"),
    [("randint", (5, (300,)), range(5)), ("randint", (2, 5, [300]), range(2, 5)),
     ("randint", (-3, 0, [300]), range(-3, 0)),
     ("randint_like", (np.zeros(300), 4), range(4)), ("randint_like", (np.zeros(300), 2, 4), range(2, 4)),
     ("randperm", (7,), range(7))],
)  # fmt: skip
def test_whole_numbers_are_drawn_of_all_that_there_are(name: str, args: tuple[object, ...], numbers: range) -> None:
    drawn = getattr(ops, name)(*args, generator=np.random.default_rng(0))
    assert sorted(set(drawn.tolist())) == list(numbers)


@pytest.mark.parametrize(
    ("name", "args", "mean", "deviation"),
    [("rand", (20_000,), 0.5, 12**-0.5), ("rand_like", (np.zeros(20_000),), 0.5, 12**-0.5),
     ("uniform", (-1, 3, [20_000]), 1.0, 4 * 12**-0.5), ("uniform_like", (np.zeros(20_000), 2, 3), 2.5, 12**-0.5),
     ("randn", (20_000,), 0.0, 1.0), ("randn_like", (np.zeros(20_000),), 0.0, 1.0),
     ("normal", (1.5, 0.5, [20_000]), 1.5, 0.5)],
)  # fmt: skip
def test_numbers_have_the_mean_and_the_deviation_that_are_said(
    name: str, args: tuple[object, ...], mean: float, deviation: float
) -> None:
    drawn = getattr(ops, name)(*args, generator=np.random.default_rng(0))
    np.testing.assert_allclose([drawn.mean(), drawn.std()], [mean, deviation], atol=0.03 * deviation)


def test_complex_random_numbers_have_variance_1() -> None:
    drawn = ops.randn(20_000, dtype="complex128", generator=np.random.default_rng(0))
    assert np.mean(np.abs(drawn) ** 2) == np.clip(np.mean(np.abs(drawn) ** 2), 0.97, 1.03)


def test_both_parts_of_complex_random_numbers_are_in_the_interval() -> None:
    drawn = ops.uniform(2, 3, [100], dtype="complex128", generator=np.random.default_rng(0))
    assert min(drawn.real.min(), drawn.imag.min()) >= 2
    assert max(drawn.real.max(), drawn.imag.max()) < 3


def test_an_end_on_the_other_side() -> None:
    with pytest.raises(ShapeMismatch, match="other side"):
        ops.arange(3, 0)
    with pytest.raises(ArgumentError, match="step is 0"):
        ops.arange(0, 3, 0)


test_both_refuse_in_the_same_way = refused_by_both(
    ("shape_mismatch", "zeros(-1)"),
    ("shape_mismatch", "full([2, -1], 1.0)"),
    ("shape_mismatch", "tensor([[1], [1, 2]])"),
)
