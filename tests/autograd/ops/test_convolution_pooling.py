"""Convolution and pooling, against sums over windows; bad settings."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck import ops
from tests.autograd.ops.both import is_too_large, normal, refused_as_by_torch


def test_a_convolution_is_a_sum_over_windows() -> None:
    signal, kernel = normal(1, 2, 6), normal(3, 2, 2)
    found = ops.conv1d(signal, kernel, dilation=2)
    want = [[np.sum(signal[0, :, [at, at + 2]].T * kernel[out]) for at in range(4)] for out in range(3)]
    np.testing.assert_allclose(found[0], want, rtol=1e-13)


def test_each_group_of_channels_meets_its_own_kernels() -> None:
    image, kernels = normal(1, 4, 3, 3), normal(2, 2, 3, 3)
    found = ops.conv2d(image, kernels, groups=2)[0, :, 0, 0]
    np.testing.assert_allclose(found, [np.sum(image[0, :2] * kernels[0]), np.sum(image[0, 2:] * kernels[1])])


def test_padding_is_averaged_unless_it_is_not_counted_and_never_the_largest() -> None:
    row = np.full((1, 1, 2), -4.0)
    assert ops.avg_pool1d(row, 2, 2, 1).tolist() == [[[-2, -2]]]
    assert ops.avg_pool1d(row, 2, 2, 1, count_include_pad=False).tolist() == [[[-4, -4]]]
    assert ops.max_pool1d(row, 2, 2, 1).tolist() == [[[-4, -4]]]


test_what_torch_refuses_is_refused_for_the_same_reason = refused_as_by_torch(
    "conv1d(X, x)",
    "conv1d(X, X, z)",
    "conv1d(X, X, padding=-1)",
    "conv1d(X, X, stride=0)",
    "conv1d(X, X, dilation=0)",
    "conv1d(X, X, groups=2)",
    "conv1d(X, X, groups=0)",
    "conv1d(X, X, padding='foo')",
    "conv1d(X, X, stride=2, padding='same')",
    "conv1d(X, X, stride=[1, 1])",
    "avg_pool1d(X, 5)",
    "avg_pool1d(X, 2, 0)",
    "avg_pool1d(X, 2, 1, 2)",
    "max_pool2d(X, [2, 2, 2])",
)


@pytest.mark.parametrize(
    "text",
    ["conv1d(x.T, y[:, :, None])", "conv1d(x.T, y[:1, :, None], padding=100000000)", "avg_pool1d(x.T, 50000, 1)"],
)
def test_nothing_grows_beyond_bounds(text: str) -> None:
    assert is_too_large(text)
