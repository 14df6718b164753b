"""A graph and its steps, in both engines: names, copies, what accumulates, what a step that raises leaves behind."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.engines.base import Engine
from gradcheck.engines.core import Core, CoreHost
from gradcheck.engines.graph_run import GraphRun
from gradcheck.engines.recording import Recorder
from gradcheck.errors import GradcheckError
from tests.from_text import problem_from


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


def test_a_long_graph(either: Engine) -> None:
    length = 5_000
    lines = "\n".join(f"  h{i + 1}: h{i} * 0.5 + x" for i in range(length))
    one = problem_from(f"inputs:\n  x: [1.0, 2.0]\ngraph:\n  h0: x + 1\n{lines}\n  loss: h{length}.sum()\n")
    (state,) = either.evaluate(one).states
    gradient = state.gradients["x"]
    assert gradient is not None
    np.testing.assert_allclose(gradient, [2, 2], rtol=1e-12)
    assert len(state.gradients) == length + 3


def test_a_new_forward_keeps_what_leaves_have_accumulated(either: Engine) -> None:
    text = """
        inputs: {x: [1, 2], y: [1, 2]}
        graph: {loss: (x * x).sum() + y.sum()}
        steps: [backward: loss, forward: {x: [5, 5], y: [1, 2, 3]}, backward: loss]
    """
    first, second, third = either.evaluate(problem_from(text)).states
    assert (first.gradients["x"].tolist(), first.gradients["loss"].tolist()) == ([2, 4], 1)
    assert second.gradients["x"].tolist() == [2, 4]
    assert second.gradients["y"] is None  # another shape
    assert second.gradients["loss"] is None  # a new tensor
    assert third.gradients["x"].tolist() == [12, 14]


def test_zero_grad_forgets_all_or_those_named_and_parts_with_them() -> None:
    one = problem_from("{inputs: {x: [[1, 5]]}, graph: {m: 'max(x, 1)', z: x * 2, loss: 'm[0].sum() + z.sum()'}}")
    run = GraphRun(Core(), one)
    run.run_graph()
    (step,) = one.case.steps
    for names, left in (((), set()), (("m",), {"x", "z", "loss"}), (("x", "loss"), {"m[0]", "z"})):
        assert run.run_step(0, step) is None
        run.run_step(0, type(step)("zero_grad", names=names))
        assert {name for name, tensor in run.tensors.items() if tensor.grad is not None} == left
        run.run_step(0, type(step)("zero_grad"))


def test_a_step_that_raises_leaves_everything_as_it_was(either: Engine) -> None:
    text = """
        inputs: {x: [1, 2]}
        constants: {c: [[1.0], [2.0]]}
        graph: {y: (x @ c).sum()}
        steps: [backward: y, {forward: {x: [1, 2, 3]}, raises: shape_mismatch}, backward: y]
    """
    states = either.evaluate(problem_from(text)).states
    assert states[1].error is not None
    assert states[1].values["x"].tolist() == [1, 2]
    assert states[2].gradients["x"].tolist() == [2, 4]


def test_an_unexpected_error_is_the_last_state(either: Engine) -> None:
    found = either.evaluate(problem_from("{inputs: {x: [1, 2]}, graph: {y: x * 2}, steps: [backward: y, backward: y]}"))
    assert len(found.states) == 1
    assert found.error is found.states[0].error is not None


def test_a_graph_that_breaks_says_where(either: Engine) -> None:
    found = either.evaluate(
        problem_from("{inputs: {x: [1, 2]}, graph: {y: x * 2, z: 'y @ ones(3, 3)', loss: z.sum()}}")
    )
    assert (found.states, found.failed_at) == ((), "z")
    assert found.error is not None


def test_a_name_stands_for_a_tensor() -> None:
    text = "{inputs: {x: [[1, 5]]}, constants: {c: 2}, graph: {m: 'max(x, 1)', n: 'x.shape[1]', y: x.sum() * n * c}}"
    run = GraphRun(Core(), problem_from(text))
    run.run_graph()
    assert run.tensor("n").data.tolist() == 2
    assert not run.tensor("c").requires_grad
    assert run.tensor("m[0]").data.tolist() == [5]
    with pytest.raises(GradcheckError, match=r"'m' is several tensors"):
        run.tensor("m")


def test_what_is_no_tensor_cannot_be_an_entry() -> None:
    found = Core().evaluate(problem_from("{inputs: {x: [1, 2]}, graph: {s: x.dtype, y: x.sum()}, backward: y}"))
    assert found.error is not None
    assert (found.error.kind, found.failed_at) == ("bad_argument", "s")


def test_a_recorder_sees_the_first_graph_alone() -> None:
    text = "{inputs: {x: [1, 2]}, graph: {y: exp(x).sum()}, steps: [backward: y, forward: {x: [3, 4]}, backward: y]}"
    recorder = Recorder(CoreHost())
    GraphRun(Core(), problem_from(text), recorder=recorder).evaluation()
    assert [(one.op.name, one.owner) for one in recorder.applications()] == [("exp", "y"), ("sum", "y")]
