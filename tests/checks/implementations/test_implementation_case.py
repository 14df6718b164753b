"""The case of one implementation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.checks.implementations.implementation_case import (
    implementation_case,
    relevant_names,
    second_order_case,
)
from gradcheck.engines.implementation.binding import Binding
from gradcheck.language.case import Case, Claim, Implementation
from gradcheck.language.expr.parser import parse
from gradcheck.language.implied_cotangents import with_implied_cotangents
from gradcheck.language.sampling import draw
from tests.from_text import case_of

CASE = """
dims: {n: 3}
inputs: {x: randn(n), w: randn(n)}
graph: {h: x * w, z: h + 1, y: exp(z), loss: y.sum()}
formulas: {x: y * w}
"""


def bound(*names: str) -> Binding:
    return Binding(tuple(Claim(name, parse(name)) for name in names))


def test_it_is_the_entry_under_a_random_incoming_gradient() -> None:
    values = {"y": np.zeros(3), "h": np.zeros(3)}
    found = implementation_case(case_of(CASE), Implementation("y", "f"), bound("z"), values)
    assert found is not None
    assert list(found.graph) == ["h", "z", "y"]
    assert not found.formulas
    assert found.generalize is not None
    assert found.generalize.thorough
    (step,) = found.steps
    assert list(step.roots) == ["y"]
    assert relevant_names(found) == {"y", "z", "h", "x", "w"}


def test_entries_that_the_code_passes_over_are_written_into_it() -> None:
    found = implementation_case(case_of(CASE), Implementation("y", "f"), bound("x", "w"), {"y": np.zeros(3)})
    assert found is not None
    assert list(found.graph) == ["y"]
    assert found.graph["y"].text == "exp(x * w + 1)"


def test_an_entry_without_gradients_has_none() -> None:
    assert implementation_case(case_of(CASE), Implementation("y", "f"), bound("z"), {"y": np.zeros(3, int)}) is None


def test_torch_is_approximate_where_it_is() -> None:
    case = case_of('inputs: {x: "randn(3)"}\ngraph: {y: "F.softplus(x)"}')
    found = implementation_case(case, Implementation("y", "f"), bound("x"), {"y": np.zeros(3)})
    assert found is not None
    assert found.engine_tolerance is not None


def naming_code(text: str) -> Case:
    return replace(case_of(text), implementations=(Implementation("y", "f"),))


def test_in_second_order_what_comes_in_is_an_input() -> None:
    case = with_implied_cotangents(naming_code('inputs: {x: "randn(2, 3)"}\ngraph: {y: "x * 2"}'), None)
    found = second_order_case(case, draw(case))
    assert list(found.inputs) == ["x", "incoming_gradient"]
    assert list(found.steps[0].roots) == ["total_"]
