"""Both engines on one tape: copies, settings restored, long graphs, torch's errors in the contract's words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gradcheck.engines.base import Engine
from gradcheck.engines.resolve import engine
from gradcheck.engines.torch import Torch
from tests.from_text import problem_from

NAMES = ("core", "torch")


@pytest.fixture(params=NAMES)
def either(request: pytest.FixtureRequest) -> Engine:
    return engine(request.param)


def test_values_and_gradients_have_names(either: Engine) -> None:
    found = either.evaluate(
        problem_from("{inputs: {x: [[1, 5], [7, 3]]}, graph: {m: 'max(x, 1)', loss: 'm[0].sum()'}}")
    )
    (state,) = found.states
    assert state.values["m[0]"].tolist() == [5, 7]
    assert state.values["m[1]"].tolist() == [1, 0]
    gradient = state.gradients["x"]
    assert gradient is not None
    assert gradient.tolist() == [[0, 1], [1, 0]]
    assert state.gradients["m[1]"] is None


def test_each_engine_has_its_own_copies(either: Engine) -> None:
    one = problem_from("{inputs: {x: [1, 2]}, graph: {y: x * 2, loss: y.sum()}}")
    found = either.evaluate(one)
    for state in found.states:
        gradient = state.gradients["x"]
        assert gradient is not None
        gradient += 100
    assert one.inputs["x"].tolist() == [1, 2]
    assert not np.shares_memory(found.states[0].values["y"], one.inputs["x"])


def test_a_gradient_after_one_step_is_not_changed_by_the_next(either: Engine) -> None:
    text = "{inputs: {x: [1, 2]}, graph: {loss: x.sum()}, steps: [backward: loss, backward: loss, backward: loss]}"
    states = either.evaluate(problem_from(text)).states
    assert [state.gradients["x"].tolist() for state in states] == [[1, 1], [2, 2], [3, 3]]  # type: ignore[union-attr]


def test_numbers_take_the_cases_dtype(either: Engine) -> None:
    graph = "{{h: 'full([2], 0.5)', i: 'ones(2)', loss: (x * h * i).sum().abs()}}"
    text = f"{{{{dtype: {{}}, inputs: {{{{x: [1, 2]}}}}, graph: {graph}}}}}"
    for dtype, inner in (("float16", "float16"), ("float32", "float32"), ("complex64", "float32")):
        (state,) = either.evaluate(problem_from(text.format(dtype))).states
        assert (state.values["h"].dtype.name, state.values["i"].dtype.name) == (inner, inner)


def test_torch_is_left_as_it_was() -> None:
    one = problem_from("{dtype: float64, inputs: {x: [1, 2]}, graph: {loss: x.sum()}}")
    known = torch.get_default_dtype(), torch.get_num_threads()
    with torch.no_grad():
        (state,) = Torch(threads=1).evaluate(one).states
        assert state.gradients["x"] is not None
        assert not torch.is_grad_enabled()
    assert (torch.get_default_dtype(), torch.get_num_threads()) == known
    assert torch.get_default_dtype() == torch.float32


def test_bfloat16_goes_to_torch_and_back() -> None:
    one = problem_from("{dtype: bfloat16, inputs: {x: [1.5, 2]}, graph: {loss: (x * x).sum()}}")
    (state,) = engine("torch").evaluate(one).states
    gradient = state.gradients["x"]
    assert gradient is not None
    assert (gradient.dtype.name, gradient.astype(float).tolist()) == ("bfloat16", [3, 4])


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
    one = problem_from(
        f"""
        inputs: {{x: [[1, 2, 3], [4, 5, 6]], y: [1, 2]}}
        constants: {{i: [1, 2, 3]}}
        graph:
          z: {expression}
          loss: z.sum()
        """,
    )
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


def test_a_long_graph(either: Engine) -> None:
    length = 5_000
    lines = "\n".join(f"  h{i + 1}: h{i} * 0.5 + x" for i in range(length))
    one = problem_from(f"inputs:\n  x: [1.0, 2.0]\ngraph:\n  h0: x + 1\n{lines}\n  loss: h{length}.sum()\n")
    (state,) = either.evaluate(one).states
    gradient = state.gradients["x"]
    assert gradient is not None
    np.testing.assert_allclose(gradient, [2, 2], rtol=1e-12)
    assert len(state.gradients) == length + 3
