"""What torch would not survive is refused before it sees it, in the same words by which the op itself refuses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.autograd.op import lookup
from gradcheck.engines.torch import Torch
from gradcheck.engines.torch_guards import GUARDS
from gradcheck.errors import DomainError, IndexOutOfRange, ShapeMismatch, TensorError, Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from tests.samples import drawn, samples

ATTENTION = "scaled_dot_product_attention(randn(1, 4, 2, 3), randn(1, {}, 2, 3), randn(1, 2, {}, 3), enable_gqa=True)"
REFUSED = {
    ATTENTION.format(2, 7): ShapeMismatch,
    ATTENTION.format(0, 2): ShapeMismatch,
    "scaled_dot_product_attention(randn(2, 3), randn(2, 3), randn(7, 3))": ShapeMismatch,
    "_fft_c2c(complex(randn(2, 3), randn(2, 3)), [10 ** 9], 0, True)": IndexOutOfRange,
    "_fft_r2c(randn(2, 4), [2, 1], 1, True)": IndexOutOfRange,
    "_fft_c2r(complex(randn(2, 3), randn(2, 3)), [-3], 0, 5)": IndexOutOfRange,
    "ctc_loss(log_softmax(randn(4, 2, 3), -1), tensor([[1, 3], [2, 2]]), (4, 4), (2, 1))": IndexOutOfRange,
    "ctc_loss(log_softmax(randn(5, 3), -1), tensor([1, -1]), (5,), (2,))": IndexOutOfRange,
    "ctc_loss(log_softmax(randn(5, 3), -1), tensor([1, 1]), (5,), (3,))": IndexOutOfRange,
    "ctc_loss(log_softmax(randn(4, 2, 3), -1), tensor([[1, 2], [2, 2]]), (4, 4), tensor([2, 3]))": IndexOutOfRange,
    "max_pool2d_with_indices_backward(randn(1, 2, 1, 1), randn(1, 2, 3, 3), [3, 3], [3, 3], [0, 0], [1, 1], False,"
    " tensor([[[[9]], [[8]]]]))": IndexOutOfRange,
    "segment_reduce(randn(7, 4), 'max', offsets=tensor([[0, 1, 4], [0, 2, 4]]), axis=1)": ShapeMismatch,
    "segment_reduce(randn(2, 4), 'max', offsets=tensor([[0, 5, 4], [0, 2, 4]]), axis=1)": ShapeMismatch,
    "segment_reduce(randn(4), 'mean', lengths=tensor([1, 7]), unsafe=True)": ShapeMismatch,
    "segment_reduce(randn(4), 'mean', lengths=tensor([-1, 5]), unsafe=True)": ShapeMismatch,
}
#: Some builds of LAPACK write beyond their memory here, others print.
REFUSED |= {
    text.format(matrix): DomainError
    for matrix in ("full([3, 3], inf)", "tensor([[1.0, nan], [3.0, 0.5]]).T", "full([3, 3], nan)")
    for text in (
        *("linalg.eigvals({})", "linalg.eig({})[0]", "linalg.eigh({})[0]", "linalg.eigvalsh({})", "linalg.svdvals({})"),
        *("linalg.svd({})[1]", "svd({})[1]", "linalg.pinv({})", "linalg.cond({})", "linalg.matrix_norm({}, 'nuc')"),
        *("linalg.norm({}, 2)", "norm({}, 'nuc')", "linalg.norm({0}.unsqueeze(0), -2, dim=(1, 2))"),
        "linalg.lstsq({0}, {0})[0]",
    )
}
REFUSED["native_group_norm(randn(2, 4), None, None, 10**6, 4, 1, 2, 0.1)[0]"] = ShapeMismatch
REFUSED["linalg.lstsq(eye(3), full([3, 1], nan))[0]"] = DomainError
UNSUPPORTED = (
    "pdist(randn(0, 2), inf)",
    "pdist(randn(0, 3))",
    "native_batch_norm(randn(0, 3), randn(3), None, detach(randn(3)), detach(rand(3)), False, 0.1, 1e-5)",
    "grid_sample(randn(1, 1, 3, 4), full([1, 2, 2, 2], nan), 'bilinear', 'border', True)",
    "grid_sampler(randn(1, 1, 3, 4), full([1, 2, 2, 2], inf), 0, 2, False)",
    "grid_sampler_2d(randn(1, 1, 3, 4), full([1, 2, 2, 2], -inf), 0, 2, True)",
    "_native_batch_norm_legit(randn(4, 0), randn(0), None, detach(randn(0)), detach(rand(0)), False, 0.1, 1e-5)",
)


def by_torch(text: str) -> Any:
    expr, arrays = drawn(text)
    engine = Torch()
    with engine.session(np.dtype(np.float64)):
        return evaluate(expr, {name: torch.from_numpy(array) for name, array in arrays.items()}, engine.host)


@pytest.mark.parametrize(("text", "kind"), REFUSED.items())
def test_it_is_refused_as_by_the_op_itself(text: str, kind: type[TensorError]) -> None:
    with pytest.raises(kind) as refused:
        by_torch(text)
    assert "torch:" not in refused.value.message
    expr, arrays = drawn(text)
    with pytest.raises(TensorError):
        evaluate(expr, arrays)


@pytest.mark.parametrize("text", UNSUPPORTED)
def test_what_torch_alone_cannot_do_is_unsupported(text: str) -> None:
    with pytest.raises(Unsupported, match="torch cannot"):
        by_torch(text)


@pytest.mark.parametrize("name", GUARDS)
def test_what_fits_is_not_refused(name: str) -> None:
    op = lookup(name)
    assert op is not None
    for text in samples(op):
        found = by_torch(text)
        parts = found if isinstance(found, tuple) else (found,)
        assert all(np.isfinite(part.detach().numpy()).all() for part in parts)


def test_what_stands_beyond_a_target_s_length_is_no_label() -> None:
    assert by_torch("ctc_loss(log_softmax(randn(4, 2, 3), -1), tensor([[1, 2], [2, 99]]), (4, 4), (2, 1))") > 0
