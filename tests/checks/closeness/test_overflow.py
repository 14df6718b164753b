"""Numbers that leave the range of their dtype on the way, and those that are infinite or 0 for another reason."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.closeness.overflow import OverflowHost, leaves_range, overflowed_elements
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from tests.checks.build import point_of

POINT = "{inputs: {x: [800, -800, 1, 0]}, graph: {y: sigmoid(x), loss: y.sum()}, let: {s: exp(x)}}"


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("exp(x) / (1 + exp(x))", [True, True, False, False]),
        ("s / (1 + s)", [True, True, False, False]),
        ("exp(x) * exp(-x)", [True, True, False, False]),
        ("x * 1e308", [True, True, False, False]),
        ("exp(exp(-x)) + 1 / cosh(x)", [True, True, False, False]),
        ("where(x > 700, x, where(x < -700, x, exp(x) + x))", [False] * 4),
        ("x.sum() * exp(x)", [True, True, False, False]),
    ],
)
def test_what_is_made_of_them_is_marked(text: str, marked: list[bool]) -> None:
    point = point_of(POINT)
    found = overflowed_elements(point.scope(point.last_step), parse(text))
    assert (np.zeros(4, bool) if found is None or not any(marked) else found).tolist() == marked


@pytest.mark.parametrize("text", ["1 / x", "log(x)", "x - x", "0 * x", "x ** -1", "relu(x)", "sigmoid(x[2:])", "x / 3"])
def test_poles_and_zeros_are_no_overflow(text: str) -> None:
    point = point_of(POINT)
    assert overflowed_elements(point.scope(point.last_step), parse(text)) is None


def test_in_half_precision_the_range_is_smaller() -> None:
    host = OverflowHost()
    number = np.array([300.0, 2.0], dtype=np.float16)
    assert np.isnan(evaluate(parse("x * x"), {"x": number}, host)).tolist() == [True, False]
    assert host.has_marked
    assert host.dtype("float16") == np.float16


def test_what_comes_to_no_array_is_unknown() -> None:
    point = point_of(POINT)
    assert overflowed_elements(point.scope(point.last_step), parse("nobody + 1")) is None


@pytest.mark.parametrize(
    ("x", "graph", "leaves"),
    [
        ("[1.0e-200, 2.0e-200]", "x.norm()", True),
        ("[1.0e-120, 2.0e-120]", "linalg.vector_norm(x, 3)", True),
        ("[1.0e-200, 2.0e-200]", "(x * x).sum().sqrt()", True),
        ("[1.0e-200, 2.0e-200]", "x.std()", True),
        ("[1.0e-200, 2.0e-200]", "torch.dist(x, 0 * x)", True),
        ("[0.0, 0.0]", "x.norm()", False),
        ("[1.0e-100, 2.0e-100]", "x.norm()", False),
        ("[1.0e-200, 1.0]", "x.norm()", False),
        ("[1.0e-200, 1.0]", "x * x", False),
    ],
)
def test_where_gradients_start_from_nothing(x: str, graph: str, leaves: bool) -> None:
    point = point_of(f"{{inputs: {{x: {x}}}, graph: {{y: '{graph}', loss: y.sum()}}}}")
    assert leaves_range(point.problem) is leaves
