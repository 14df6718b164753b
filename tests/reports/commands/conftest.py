"""Cases whose backward passes are traced."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent

import pytest

from gradcheck.engines.trace import TracedCase, trace_case
from gradcheck.language.loader.files import load_text
from gradcheck.language.sampling import draw

TWICE = """\
name: twice
inputs: {x: [1, 2]}
graph:
  y: x + x
  z: y * y
backward: {z: [1, 10]}
"""
LONG = f"""\
name: long
inputs: {{x: [1, 2]}}
graph: {{y: (x{" * 2" * 100}).sum()}}
"""


@pytest.fixture
def traced() -> Callable[[str], TracedCase]:
    """The trace of a case, given as text."""

    def traces(text: str) -> TracedCase:
        (case,), errors = load_text(dedent(text), "case.yaml")
        assert errors == []
        return trace_case(draw(case))

    return traces


@pytest.fixture
def twice(traced: Callable[[str], TracedCase]) -> TracedCase:
    """Two tensors that are used twice."""
    return traced(TWICE)


@pytest.fixture
def long(traced: Callable[[str], TracedCase]) -> TracedCase:
    """A hundred products in a row."""
    return traced(LONG)
