"""What tensors look like, for pictures."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks import tensor_summaries as module
from gradcheck.checks.tensor_summaries import tensor_summaries
from gradcheck.language.case import Case
from gradcheck.language.loader import load_text


def case_of(text: str) -> Case:
    (case,), errors = load_text(text, "a.yaml")
    assert not errors
    return case


CHAIN = case_of("{inputs: {x: [1, -2]}, constants: {c: [3, 4]}, graph: {y: x * c, loss: y.sum()}}")


def test_values_and_gradients_of_all_names() -> None:
    seen = tensor_summaries(CHAIN)
    assert set(seen) == {"x", "c", "y", "loss"}
    assert (seen["y"].value.low, seen["y"].value.high) == (-8, 3)
    assert seen["x"].gradient is not None
    assert np.array_equal(seen["x"].gradient.array, [3, 4])  # type: ignore[arg-type]
    assert seen["c"].gradient is None


def test_a_graph_that_raises_leaves_its_leaves() -> None:
    seen = tensor_summaries(case_of("{inputs: {x: [1, 2], y: [1, 2, 3]}, graph: {z: x + y}}"))
    assert "z" not in seen


def test_what_takes_too_much_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ELEMENTS", 3)
    assert tensor_summaries(CHAIN) == {}
    monkeypatch.setattr(module, "MAX_GRAPH_NODES", 2)
    assert tensor_summaries(CHAIN) == {}
