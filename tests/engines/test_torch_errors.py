"""torch's errors in the contract's kinds, and the core's beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.autograd.op import lookup
from gradcheck.engines.base import Engine
from gradcheck.engines.torch import Torch
from gradcheck.engines.torch_errors import GUARDS, translate
from gradcheck.errors import DomainError, IndexOutOfRange, ShapeMismatch, TensorError, Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from tests.from_text import problem_from
from tests.samples import drawn, samples

ERRORS = [
    ("x @ x", "shape_mismatch"),
    ("x + y", "shape_mismatch"),
    ("x.reshape(5)", "shape_mismatch"),
    ("mm(x, y)", "shape_mismatch"),
    ("cat([x, y])", "shape_mismatch"),
    ("x.expand(4, 3)", "shape_mismatch"),
    ("x.sum(dim=2)", "index_out_of_range"),
    ("x[5]", "index_out_of_range"),
    ("x[0, 0, 0]", "index_out_of_range"),
    ("x.transpose(0, 7)", "index_out_of_range"),
    ("gather(x, 1, tensor([[9]]))", "index_out_of_range"),
    ("x.index_select(0, tensor([4]))", "index_out_of_range"),
    ("linalg.inv(x)", "shape_mismatch"),
    ("linalg.inv(zeros(2, 2)) @ x", "domain_error"),
    ("linalg.cholesky(-eye(2)) @ x", "domain_error"),
    ("mean(i) * x", "dtype_mismatch"),
    ("x @ ones(3, 2, dtype=float32)", "dtype_mismatch"),
    ("softmax(i, dim=0).sum() * x", "dtype_mismatch"),
]


@pytest.mark.parametrize(("expression", "kind"), ERRORS)
def test_errors_have_the_contracts_kinds(either: Engine, expression: str, kind: str) -> None:
    one = problem_from(f"""
        inputs: {{x: [[1, 2, 3], [4, 5, 6]], y: [1, 2]}}
        constants: {{i: [1, 2, 3]}}
        graph:
          z: {expression}
          loss: z.sum()
        """)
    found = either.evaluate(one)
    assert found.error is not None
    assert (found.error.kind, found.failed_at) == (kind, "z"), str(found.error)
    assert "\n" not in found.error.message


@pytest.mark.parametrize(
    ("backward", "graph", "kind"),
    [
        ("y", "x * 2", "non_scalar_backward"),
        ("{y: [1, 1]}", "x.detach()", "no_grad_required"),
        ("y", "x.detach().sum()", "no_grad_required"),
    ],
)
def test_errors_of_the_backward_pass(either: Engine, backward: str, graph: str, kind: str) -> None:
    one = problem_from(f"{{inputs: {{x: [1.0, 2.0]}}, graph: {{y: {graph}}}, backward: {backward}}}")
    (state,) = either.evaluate(one).states
    assert state.error is not None
    assert state.error.kind == kind


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (IndexError("whatever"), "index_out_of_range", "torch: whatever"),
        (ZeroDivisionError("whatever"), "domain_error", "torch: whatever"),
        (torch.linalg.LinAlgError("whatever"), "domain_error", "torch: whatever"),
        (NotImplementedError("no kernel"), "dtype_mismatch", "torch: no kernel"),
        (RuntimeError("Singular matrix of shape [2, 2]"), "domain_error", "torch: Singular matrix of shape [2, 2]"),
        (RuntimeError("so it is ill-defined."), "unsupported", "torch: so it is ill-defined."),
        (TypeError("unheard of"), "bad_argument", "torch: unheard of"),
        (RuntimeError("unheard of\nException raised from C++"), "error", "torch: unheard of"),
        (RuntimeError(), "error", "torch: RuntimeError"),
    ],
)
def test_what_decides(error: Exception, kind: str, message: str) -> None:
    found = translate(error)
    assert (found.kind, found.message) == (kind, message)


def test_a_derivative_that_torch_lacks_is_no_failure() -> None:
    found = translate(NotImplementedError("the derivative for 'f' is not implemented."))
    assert (found.kind, found.lacks, found.hint) == ("unsupported", "a derivative", "detach what has no gradient here")


def test_lack_of_memory_is_no_error_of_the_case() -> None:
    with pytest.raises(MemoryError):
        translate(RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 1 TB"))


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
