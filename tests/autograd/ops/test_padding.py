"""Padding: modes, negative sizes, errors."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import ops
from tests.autograd.ops.both import agree_on_call, is_too_large, normal, refused_as_by_torch


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize("around", [(2, 1), (0, 3), (3, 0, 1, 2)])
def test_the_tensor_itself_is_put_around(mode: str, around: tuple[int, ...]) -> None:
    agree_on_call("pad", normal(1, 2, 4, 5) if len(around) > 2 else normal(1, 2, 4), around, mode=mode)


def test_negative_sizes_cut_off() -> None:
    np.testing.assert_array_equal(ops.constant_pad_nd(np.arange(6.0).reshape(2, 3), (-1, 0, 1, -1)), [[0, 0], [1, 2]])


test_what_torch_refuses_is_refused_for_the_same_reason = refused_as_by_torch(
    "pad(x, [1])", "pad(x, [-5, 0])", "pad(x, [3, 1], mode='reflect')", "pad(X, [5, 0], mode='circular')"
)


def test_nothing_grows_beyond_bounds() -> None:
    assert is_too_large("pad(x, (0, 100000000))")
