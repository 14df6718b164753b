"""Exceptions of somebody's code."""

from __future__ import annotations

from gradcheck.engines.implementation.code_error import as_code_error
from tests.engines.implementation import functions


def test_the_traceback_is_their_own() -> None:
    try:
        functions.Raises.backward(None, None)
    except ValueError as error:
        found = as_code_error("mine", error)
    assert found.message.startswith("mine raised ValueError: no such thing (functions.py:")
    assert 'raise ValueError("no such thing")' in found.trace
    assert "torch/autograd" not in found.trace
    assert found.kind == "code_raised"


def test_what_torch_says_of_what_was_handed_over_has_none() -> None:
    assert as_code_error("mine", RuntimeError("torch says so")).message == "mine raised RuntimeError: torch says so"
