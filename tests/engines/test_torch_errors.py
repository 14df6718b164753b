"""torch's errors in the contract's kinds, and the core's beside them."""

from __future__ import annotations

import pytest
import torch

from gradcheck.engines.base import Engine
from gradcheck.engines.torch_errors import translate
from tests.from_text import problem_from

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
