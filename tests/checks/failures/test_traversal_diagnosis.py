"""Wrong ways through a graph are told by the inputs' gradients alone."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.language.loader import load_text
from tests.engines.dialects import arrays, diseases, figures, sound

_LAYER = (
    "inputs: {x: [[1, 2], [3, 4]], w: [[0.5, -1], [2, 1.5]], b: [0.1, 0.2]}\n"
    "graph: {z: x @ w, h: z + b, l: h * h, loss: l.sum()}\n"
)
_REUSE = "inputs: {a: 1.5, b: -2.0}\ngraph: {c: a * b, d: c * a, e: d + c, f: d * e}\nbackward: f\n"
_PLAIN = "inputs: {a: [1, 2]}\ngraph: {y: a * a}\nbackward: {y: [1, 2]}\n"


def judged(kind: Any, text: str) -> CaseResult:
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    return run(cases, engines=[adapt(kind, "mine")], trials=1, oracle="none").cases[0]


def kinds(found: CaseResult) -> list[str]:
    return [diagnosis.kind for c in found.comparisons for diagnosis in c.diagnoses]


class AfterAdding(figures.Value):
    """Recursion: a value is passed on again on each arrival, with all that has come by then."""

    def backward(self, first: bool = True) -> None:
        if first:
            self.grad = 1.0
        self.step()
        for child in self.previous:
            child.backward(first=False)


@pytest.mark.parametrize("text", [_REUSE, _LAYER], ids=["reuse", "layer"])
def test_one_disease_has_one_name_and_one_cause(text: str) -> None:
    found = judged(AfterAdding, text)
    assert found.status == "failed"
    assert kinds(found) == ["passed_on_early"]
    assert len([c for c in found.comparisons if c.cause]) == 1


class Stacked(figures.Value):
    """A stack of values and what arrives at them: inputs keep what arrives last."""

    def backward(self) -> None:
        waiting = [(self, 1.0)]
        while waiting:
            value, gradient = waiting.pop()
            value.grad = gradient
            value.step_alone(waiting)

    def step_alone(self, waiting: list[Any]) -> None:
        before = [child.grad for child in self.previous]
        for child in self.previous:
            child.grad = 0.0
        self.step()
        waiting += [(child, child.grad) for child in dict.fromkeys(self.previous)]
        for child, gradient in zip(self.previous, before, strict=True):
            child.grad = gradient


def test_inputs_that_keep_what_arrives_last_along_each_path_are_overwritten() -> None:
    assert kinds(judged(Stacked, _REUSE)) == ["overwritten"]


@pytest.mark.parametrize("disease", ["Overwrites", "PassesOnEarly", "CountsTwice"])
def test_classes_that_keep_no_gradients_of_intermediates_show_as_much(disease: str) -> None:
    kind = type(disease, (getattr(diseases, disease), arrays.LeavesOnly), {})
    assert set(kinds(judged(kind, _REUSE))) == {"overwritten" if disease == "Overwrites" else "passed_on_early"}


def test_what_is_wrong_at_a_single_tensor_is_no_way_through_the_graph() -> None:
    class Doubles(sound.Tensor):
        def receive(self, gradient: Any) -> None:
            super().receive(gradient * (1 if self.parents else 3))

    found = judged(Doubles, _PLAIN)
    assert found.status == "failed"
    assert not {"passed_on_early", "mutated", "stale"} & set(kinds(found))


def test_left_over_gradients_of_numbers_that_no_name_has_are_told_by_a_small_graph() -> None:
    class Stale(figures.Value):
        pass

    steps = "steps: [{backward: s}, {backward: s}, {backward: s}]\n"
    found = judged(Stale, f"inputs: {{x: [1, 2, 3], y: [4, 5, 6]}}\ngraph: {{s: (x + y).sum()}}\n{steps}")
    assert (found.status, kinds(found)) == ("failed", ["stale"])
