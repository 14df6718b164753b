"""A rule that raises is asked again with operands of other shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck import run
from gradcheck.checks.result import CaseResult, Diagnosis
from gradcheck.engines.resolve import adapt
from gradcheck.language.loader import load_text
from gradcheck.reports.phrases import say
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


def formula_of(graph: str, op: str, rule: Callable[..., Any]) -> str:
    """What is said of a class whose op passes on what `rule` gives of g, x and y."""

    def apply(self: Any, *_: Any) -> Any:
        y = self.data**3 if op == "__pow__" else getattr(np, op)(self.data)
        return self.new(y, (self,), lambda g: (rule(g, self.data, y),))

    kind = type("Tensor", (sound.Tensor,), {op: apply})
    text = f"{{inputs: {{a: [[0.5, 1.2], [0.3, 2.0]]}}, graph: {{b: {graph}}}, backward: {{b: [[1, 2], [-1, 0.5]]}}}}"
    (found,) = run(load_text(text, "case.yaml")[0], engines=[adapt(kind, "mine")]).cases
    (cause,) = [c for c in found.comparisons if c.cause is not None]
    return say(cause.diagnoses[0].message)


@pytest.mark.parametrize(
    ("graph", "op", "rule", "said"),
    [
        ("tanh(a)", "tanh", lambda g, x, y: g * (1 - y), "y where y ** 2 belongs, in grad(y) * (1 - y)"),
        ("a ** 3", "__pow__", lambda g, x, y: g * 3 * y, "x ** 3 where x ** 2 belongs, in 3 * grad(y) * x ** 3"),
        ("sqrt(a)", "sqrt", lambda g, x, y: g * 0.5 * y, "0.5 * grad(y) * y where 0.5 * grad(y) / y belongs"),
    ],
)
def test_the_slip_is_told_with_the_op(graph: str, op: str, rule: Callable[..., Any], said: str) -> None:
    assert formula_of(graph, op, rule).startswith(f"computed as {said}, for y = ")


def test_no_formula_is_told_for_what_is_none() -> None:
    assert formula_of("tanh(a)", "tanh", lambda g, x, y: g * np.sin(7 * x)).startswith("no known mistake explains it")


def test_an_op_that_is_no_case_of_its_own_has_no_formula() -> None:
    """Of an array of indices, an input makes numbers, which are no indices."""

    class Ones(sound.Tensor):
        def __getitem__(self, key: Any) -> Any:
            def rule(gradient: Any) -> Any:
                found = np.ones(self.data.shape)
                found[key] = gradient
                return (found,)

            return self.new(self.data[key], (self,), rule)

    text = "{inputs: {a: [1, 5, 0.3]}, constants: {i: [0, 0, 2]}, graph: {y: 'a[i]'}, backward: {y: [1, 0.5, 3]}}"
    (found,) = run(load_text(text, "case.yaml")[0], engines=[adapt(Ones, "mine")]).cases
    assert (found.status, found.incomplete) == ("failed", ())
    assert [c.cause.origin["op"] for c in found.comparisons if c.cause is not None] == ["getitem"]
