"""The op that is wrong is found in the text of its graph entry."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.autograd import ops
from tests.checks.conftest import Check


@pytest.mark.parametrize(
    ("entry", "part"),
    [
        ("tanh(x)", "tanh(x)"),
        ("(x * 2).tanh() + x", "(x * 2).tanh()"),
        ("x * 2 + F.tanh(x @ x) @ x", "F.tanh(x @ x)"),
    ],
)
def test_the_op_is_underlined(check: Check, with_rules: Any, entry: str, part: str) -> None:
    with_rules("tanh", lambda g, y, x: -g * (1 - y * y))
    case = check(f"{{inputs: {{x: 'randn(2, 2)'}}, graph: {{y: '{entry}', loss: y.sum()}}}}")
    (found,) = [c.part for c in case.comparisons if c.cause is not None]
    assert found is not None
    assert (found.text, found.text[found.start : found.end]) == (entry, part)


def test_of_several_the_one_that_is_meant(check: Check, with_rules: Any) -> None:
    """A backward pass meets the last one first."""
    with_rules("tanh", lambda g, y, x: ops.mul(g, 2))
    case = check("{inputs: {x: 'randn(2, 2)'}, graph: {y: 'tanh(x) + tanh(tanh(x * 3))', loss: y.sum()}}")
    (found,) = [c.part for c in case.comparisons if c.cause is not None]
    assert found is not None
    assert found.text[found.start : found.end] == "tanh(tanh(x * 3))"
