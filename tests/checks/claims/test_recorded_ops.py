"""Ops alone by the engines' own records: agreement is found without a second run, and nothing else is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.claims.operations import check_operations
from gradcheck.checks.claims.recorded_ops import compare_recorded
from gradcheck.checks.points.point import Point
from gradcheck.engines.core import Core
from gradcheck.engines.torch import Torch
from tests.checks.build import point_of
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
