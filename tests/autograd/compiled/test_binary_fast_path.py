"""The short way gives what the general way gives, bit for bit, and leaves to it what it does not know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import Op, Tensor, no_grad, ops
from gradcheck.autograd.compiled.binary_fast_path import PAIRED, pull
from gradcheck.autograd.modes import silently
from gradcheck.autograd.pullback import pull_arrays
from gradcheck.errors import ShapeMismatch

PAIRS = [ops.add, ops.sub, ops.mul, ops.div]


def leaf(*shape: int, dtype: str = "float64", requires_grad: bool = True) -> Tensor:
    drawn = np.random.default_rng(shape).standard_normal(shape).astype(dtype)
    return Tensor(drawn, requires_grad=requires_grad)


def others() -> list[Any]:
    return [leaf(2, 3), leaf(3), leaf(2, 1), leaf(2, 3, requires_grad=False), 2.5, 3, 0.0, -0.0, 0, True, 1j]


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "complex128"])
@pytest.mark.parametrize("op", PAIRS, ids=lambda op: op.name)
def test_values_and_shares_are_those_of_the_general_way(op: Op, dtype: str) -> None:
    x = leaf(2, 3, dtype=dtype)
    for other in others():
        if op.numeric and other is True:  # which torch refuses
            continue
        with np.errstate(all="ignore"):
            short, general = PAIRED[op.name](x, other), op(x, other)
            seed = np.random.default_rng(1).standard_normal(short.shape).astype(short.dtype)
            found, wanted = pull(short, seed), pull_arrays(general, seed)
        np.testing.assert_array_equal(short.data, general.data, strict=True)
        assert [creator for creator, _ in found] == [creator for creator, _ in wanted]
        for (_, mine), (_, want) in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(mine, want, strict=True)


def test_pairs_of_one_plain_dtype_alone_are_kept_flat() -> None:
    x = leaf(2, 3)
    assert (x * 2.5).second is None
    assert (x + leaf(3)).second is not None
    for general in (x * leaf(2, 3, dtype="float32"), x * True, x * np.ones(3), 2.5 * x, x**2):
        assert general.plan is None


def test_the_general_way_says_what_does_not_fit() -> None:
    with pytest.raises(ShapeMismatch, match=r"mul: shapes \[2, 3\] and \[2\] do not broadcast"):
        PAIRED["mul"](leaf(2, 3), leaf(2))


def test_nothing_is_recorded_where_no_gradient_flows() -> None:
    x = leaf(2, requires_grad=False)
    assert (x * 2.0).creation_op is None
    with no_grad():
        assert (leaf(2) * 2.0).creation_op is None


def test_where_another_thread_computes_the_same_way_the_general_way_gives_the_same() -> None:
    x = leaf(2, 3)
    found = silently(lambda: (x * 2.5 / x).data)  # which is as if it were another
    np.testing.assert_array_equal(found, (x * 2.5 / x).data, strict=True)


def test_what_was_asked_last_is_told_apart_from_what_is_asked_now() -> None:
    """By shapes, dtypes, numbers and their types and signs."""
    x, y, z = leaf(2, 3), leaf(3), leaf(2, 3, dtype="float32")
    for one, other in [(x, 2.0), (x, 2), (y, 2.0), (x, 0.0), (x, -0.0), (z, -0.0), (x, y), (x, x), (y, x), (z, z)]:
        for _ in range(2):
            found, wanted = PAIRED["div"](one, other), ops.div(one, other)
            assert found.dtype == wanted.dtype
            assert found.data.tobytes() == wanted.data.tobytes()
            for mine, want in zip(found.arguments, wanted.arguments, strict=False):
                assert mine is want or (type(mine), str(mine)) == (type(want), str(want))


def test_a_result_of_no_dimensions_is_an_array() -> None:
    x = Tensor(2.0, requires_grad=True)
    assert type((x * x).data) is np.ndarray


def test_a_gradient_of_another_dtype_goes_the_general_way() -> None:
    x = leaf(2)
    ((_, share),) = pull(x * 2.0, np.ones(2, np.float32))
    assert (share.dtype, share.tolist()) == (np.float64, [2, 2])


def test_what_is_known_of_a_pair_is_known_for_other_leaves() -> None:
    def pair() -> Any:
        result = Tensor([1.5, 2.5], requires_grad=True) * Tensor([3.0, 4.0], requires_grad=True)
        return result.plan, (Tensor([1.5, 2.5], requires_grad=True) * 0.25).plan

    assert all(one is another for one, another in zip(pair(), pair(), strict=True))
