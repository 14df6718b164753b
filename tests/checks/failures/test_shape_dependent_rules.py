"""A rule that raises is asked again with operands of other shapes."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck import run
from gradcheck.checks.result import CaseResult, Diagnosis
from gradcheck.engines.resolve import adapt
from gradcheck.language.loader import load_text
from tests.engines.dialects import arrays, diseases, sound

_ROW = (
    "inputs: {a: [[1, 2, 0.5], [3, 4, -1]], b: [1, 2, 3]}\ngraph: {y: a * b}\nbackward: {y: [[1, 2, 3], [4, 5, 6]]}\n"
)
_NUMBER = "inputs: {a: [1, 2, 3]}\ngraph: {y: a * 2}\nbackward: {y: [1, 0.5, -2]}\n"
_OBLONG = (
    "inputs: {a: [[1, 2, 0.5], [3, 4, -1]], b: [[0.5, -1], [2, 1.5], [1, 3]]}\ngraph: {y: a @ b}\n"
    "backward: {y: [[1, 0.5], [-1, 2]]}\n"
)


def told(kind: Any, text: str) -> tuple[CaseResult, list[Diagnosis]]:
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    found = run(cases, engines=[adapt(kind, "mine")], trials=1, oracle="none").cases[0]
    return found, [diagnosis for c in found.comparisons for diagnosis in c.diagnoses]


class InPlace(diseases.LeavesBroadcasts, arrays.Ones):
    """NumPy refuses to add a gradient of the result's shape to zeros of the operand's."""


class Asserts(diseases.LeavesBroadcasts, sound.Tensor):
    def receive(self, gradient: Any) -> None:
        assert gradient.shape == self.data.shape
        super().receive(gradient)


class Slips(sound.Tensor):
    """A name that is not there, wherever shapes differ."""

    def fit(self, gradient: Any, shape: Any) -> Any:
        if gradient.shape != shape:
            raise NameError("name 'unbroadcast' is not defined")
        return gradient


class Dimensionless(InPlace):
    """A pass begins at a single number, which has no dimension."""

    def backward(self, gradient: Any = None) -> None:
        assert self.data.shape == ()
        super().backward()


@pytest.mark.parametrize("kind", [InPlace, Asserts, Dimensionless])
@pytest.mark.parametrize("text", [_ROW, _NUMBER], ids=["a row", "a number"])
def test_a_broadcast_that_is_not_undone_is_named_though_it_raises(kind: type, text: str) -> None:
    found, diagnoses = told(kind, text)
    assert found.status == "failed"
    assert {(one.kind, one.confidence) for one in diagnoses} == {("broadcast_not_undone", "confirmed")}


def test_what_raises_for_another_reason_is_not_named_so() -> None:
    found, diagnoses = told(Slips, _ROW)
    assert found.status == "failed"
    assert not diagnoses


def test_square_matrices_show_a_missing_transpose() -> None:
    _, diagnoses = told(type("Plain", (diseases.LeavesTranspose, sound.Tensor), {}), _OBLONG)
    assert "operand_transposed" in {one.kind for one in diagnoses}


@pytest.mark.parametrize(
    "graph", ["inputs: {a: [[1, 2], [3, 4]], v: [1, 2]}\ngraph: {y: a @ v}\n", _OBLONG.replace("1, 2, 0.5", "1, 2, 1")]
)
def test_a_product_that_is_right_for_matrices_alone_is_told_so(graph: str) -> None:
    text = graph if "backward" in graph else f"{graph}backward: {{y: [1, 0.5]}}\n"
    found, diagnoses = told(sound.Tensor, text)
    is_of_vectors = "v:" in graph
    assert found.status == ("failed" if is_of_vectors else "passed")
    assert [d.kind for d in diagnoses] == (["matrices_alone"] if is_of_vectors else [])
