"""Each op alone: random cotangents, and what is known of a gradient that is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.claims.operations import applies, check_operations, compare_recorded, gradient_positions
from gradcheck.checks.points.point import Point
from gradcheck.engines.core import Core
from gradcheck.engines.torch import Torch
from gradcheck.facts import fact
from tests.checks.build import context_of, point_of
from tests.conftest import WithRules

GRAPH = """
inputs: {x: 'randn(3, 3)', w: 'randn(3, 3)', b: 'randn(3)'}
graph: {y: x @ w + b, h: 'softmax(tanh(y), dim=1)', z: 'h * h / (1 + x.exp())', loss: z.sum()}
"""


def seen(point: Point) -> Any:
    (engine,) = point.engines.tested
    return compare_recorded(point, engine, None)


def test_entries_whose_ops_agree_and_nothing_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    point = point_of(GRAPH)
    point.evaluations()
    monkeypatch.setattr(Torch, "session", None)  # no engine is asked anew
    found = seen(point)
    assert found.owners == ("y", "h", "z", "loss")
    assert found.unrecorded == []


def test_all_is_told_as_where_each_op_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    point, again = point_of(GRAPH), point_of(GRAPH)
    quick = list(check_operations(point, point.engines.tested))
    monkeypatch.setattr("gradcheck.checks.claims.operations.compare_recorded", lambda *asked: None)
    assert quick == list(check_operations(again, again.engines.tested))


def test_what_torch_makes_several_functions_of_is_left_for_a_close_look() -> None:
    found = seen(point_of("{inputs: {x: [1.0, 2.0]}, graph: {y: 'trace(x * ones(2, 2))', loss: 2 / y}}"))
    assert [one.op.name for one in found.unrecorded] == ["trace", "div"]


@pytest.mark.parametrize(("name", "call"), [("tanh", "tanh(x)"), ("mul", "x * c"), ("sum", "x.sum()")])
def test_a_wrong_rule_is_found(with_rules: WithRules, name: str, call: str) -> None:
    rules = TABLE[name].rules
    with_rules(name, *[rule and (lambda *asked, rule=rule: 1.001 * rule(*asked)) for rule in rules])
    point = point_of(
        f"{{inputs: {{x: [1.0, 2.0]}}, constants: {{c: [3.0, 4.0]}}, graph: {{y: {call}}}, backward: {{y: }}}}"
    )
    assert seen(point) is None
    (found,) = check_operations(point, point.engines.tested)
    assert found.status == "failed"


def test_a_rule_of_ones_that_a_sum_would_hide_is_found(with_rules: WithRules) -> None:
    with_rules("flip", lambda g, y, x, dims: g)
    assert seen(point_of("{inputs: {x: [1.0, 2.0]}, graph: {y: 'x.flip(0)', loss: y.sum()}}")) is None


def test_at_kinks_the_numbers_are_the_same_or_the_op_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "{inputs: {x: [1.0, 2.0]}, graph: {y: relu(x), loss: y.sum()}}"
    assert seen(point_of(text)).unrecorded == []
    array = Torch.array
    monkeypatch.setattr(Torch, "array", lambda self, tensor: np.nextafter(array(self, tensor), np.inf))
    assert [one.op.name for one in seen(point_of(text)).unrecorded] == ["relu"]


def test_one_tensor_in_two_places_is_recorded_as_such(with_rules: WithRules) -> None:
    text = "{inputs: {x: [1.0, 2.0], w: [2.0, 1.0]}, graph: {y: x * x, loss: y.sum()}}"
    assert seen(point_of(text)).owners == ("y", "loss")
    with_rules("mul", lambda g, y, a, b: g if a is b else g * b, lambda g, y, a, b: g * a)
    assert seen(point_of(text)) is None
    assert seen(point_of(text.replace("x * x", "x * w"))) is not None


@pytest.mark.parametrize("options", [{"engines": ["torch"]}, {"reference": "core", "engines": ["torch"]}])
def test_other_pairs_of_engines_are_looked_at_closely(options: dict[str, Any]) -> None:
    point = point_of(GRAPH, **options)
    assert seen(point) is None
    assert [c.tensor for c in check_operations(point, point.engines.tested)] == ["y", "h", "z", "loss"]


def test_points_that_are_drawn_keep_no_record() -> None:
    point = point_of(GRAPH)
    assert compare_recorded(Point(point.problem, point.engines), Core(), None) is None


CHAIN = (
    "{inputs: {x: [[1.0, 2.0], [3.0, 4.0]], w: [[2.0, 0.0], [1.0, 1.0]]}, graph: {y: x @ w, h: tanh(y), loss: h.sum()}}"
)


def test_ops_that_agree_are_a_comparison_an_entry() -> None:
    point = point_of(CHAIN)
    found = list(check_operations(point, point.engines.tested))
    assert [(c.tensor, c.status) for c in found] == [("y", "passed"), ("h", "passed"), ("loss", "passed")]


def test_a_wrong_gradient_comes_with_the_operation(with_rules: WithRules) -> None:
    with_rules(
        "matmul", lambda g, y, a, b: TABLE["matmul"](g, b), lambda g, y, a, b: TABLE["matmul"](TABLE["mT"](a), g)
    )
    point = point_of(CHAIN)
    (wrong,) = [c for c in check_operations(point, point.engines.tested) if c.status == "failed"]
    assert wrong.tensor == "y"
    assert wrong.mismatch == fact("gradient_of_op", op="matmul", number=1, mismatch=None, ones=False)
    assert wrong.operation is not None
    assert (wrong.operation.number, wrong.operation.index, wrong.operation.application.op.name) == (0, 0, "matmul")


def test_a_rule_that_raises_fails_with_both_outcomes(with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: TABLE["reshape"](g, (7,)))
    point = point_of(CHAIN)
    (wrong,) = [c for c in check_operations(point, point.engines.tested) if c.status == "failed"]
    assert wrong.mismatch is not None
    assert (wrong.mismatch.kind, wrong.mismatch["op"]) == ("op_alone", "tanh")
    assert wrong.mismatch["what"]["want_outcome"] == fact("raised_nothing")


def test_positions_are_those_of_the_arrays_that_get_a_gradient() -> None:
    (application,) = point_of("{inputs: {x: [1.0, 2.0]}, constants: {i: [0, 1]}, graph: {y: 'x[i]'}}").applications
    assert gradient_positions(application) == [0]
    (where,) = point_of("{inputs: {x: [1.0]}, constants: {c: [true]}, graph: {y: 'where(c, 2.0, x)'}}").applications
    assert len(gradient_positions(where)) == 1


def test_nothing_is_looked_at_where_the_graph_cannot_be_evaluated() -> None:
    assert not applies(context_of("{inputs: {x: [1.0, 2.0]}, graph: {y: 'x.reshape(3)'}}"))


def test_what_is_chosen_is_asked_of_no_op_alone() -> None:
    """A random cotangent of eigenvectors depends on their phases, which torch refuses."""
    text = "{inputs: {x: [[1.0, 2.0], [3.0, 0.5]]}, graph: {y: linalg.eig(x)}, backward: {'y[0]': [1.0, 2.0]}}"
    point = point_of(text)
    assert [c.status for c in check_operations(point, point.engines.tested)] == ["passed"]
