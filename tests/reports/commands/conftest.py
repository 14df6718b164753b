"""Cases whose backward passes are traced."""

from __future__ import annotations

import pytest

from gradcheck.engines.traced_case import TracedCase
from tests.from_text import traced_from

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
def twice() -> TracedCase:
    """Two tensors that are used twice."""
    return traced_from(TWICE)


@pytest.fixture
def long() -> TracedCase:
    """A hundred products in a row."""
    return traced_from(LONG)
