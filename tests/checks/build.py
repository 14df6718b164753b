"""Contexts and points from text, for tests of one module at a time."""

from __future__ import annotations

from typing import Any

from gradcheck.checks.context import Context
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.points.point import Point
from tests.from_text import case_of

GENERAL = """
    dims: {n: 3}
    inputs: {x: "randn(n)"}
    graph: {y: x * x}
    backward: {y: "randn(n)"}
    formulas: {x: 2 * x * grad(y)}
"""


def context_of(text: str, **options: Any) -> Context:
    """The context of a case before any stage has run."""
    chosen = Options(**options)
    return Context.of(case_of(text), chosen, engines_of(chosen))


def point_of(text: str, **options: Any) -> Point:
    """The case's own numbers, and the engines' evaluations of them."""
    return context_of(text, **options).points.own
