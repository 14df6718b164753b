"""Gradients that are put together wrongly, or not cleared, are one cause of all that follows."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.facts import fact
from gradcheck.language.loader import load_text
from tests.engines.dialects import diseases, sound

_AGAIN = (
    "inputs: {a: [1, 2], b: [3, 4]}\ngraph: {p: a * b, q: p * a}\n"
    "steps: [{backward: {q: [1, 2]}}, {zero_grad: all}, {backward: {q: [1, 2]}}]\n"
)


def judged(disease: str, text: str) -> CaseResult:
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    kind: Any = type("Sick", (getattr(diseases, disease), sound.Tensor), {})
    return run(cases, engines=[adapt(kind, "mine")], trials=1, oracle="none").cases[0]


def test_what_is_not_cleared_is_one_cause_of_all_that_comes_later() -> None:
    found = judged("ClearsNothing", _AGAIN)
    (cause,) = [c for c in found.comparisons if c.cause]
    assert cause.cause is not None
    assert (cause.cause.origin, cause.cause.what.kind) == (fact("outcome_of_step", number=2), "not_cleared")
    assert [d.kind for d in cause.diagnoses] == ["stale"]
    rest = [c for c in found.comparisons if c.status == "failed" and c is not cause]
    assert {c.step for c in rest} == {1, 2}
    assert {c.consequence_of for c in rest} == {cause.cause.origin}


class Copies(sound.Tensor):
    """Operands are copies that nobody sees, and whose gradients nobody clears; gradients begin as zeros."""

    def __init__(self, data: Any, parents: Any = (), rule: Any = None) -> None:
        super().__init__(data, parents, rule)
        self.grad: Any = np.zeros(self.data.shape)

    def copied(self) -> Any:
        return self.new(self.data, (self,), lambda g: (g,))

    def __mul__(self, other: Any) -> Any:
        one, two = self.copied(), self.lifted(other).copied()
        return self.new(one.data * two.data, (one, two), lambda g: (g * two.data, g * one.data))

    def __add__(self, other: Any) -> Any:
        one, two = self.copied(), self.lifted(other).copied()
        return self.new(one.data + two.data, (one, two), lambda g: (g, g))

    def backward(self, gradient: Any = None) -> None:
        self.grad = np.ones(self.data.shape) if gradient is None else gradient
        for tensor in self.order():
            for parent, part in zip(tensor.parents, tensor.rule(tensor.grad) if tensor.parents else (), strict=True):
                parent.receive(part)


def test_what_cannot_be_cleared_is_there_again_in_a_later_pass() -> None:
    text = (
        "inputs: {a: [1, 2], b: [3, 4]}\ngraph: {p: a * b}\n"
        "steps: [{backward: {p: [1, 1]}}, {zero_grad: all}, {backward: {p: [1, 2]}}]\n"
    )
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    found = run(cases, engines=[adapt(Copies, "mine")], trials=1, oracle="none").cases[0]
    assert {d.kind for c in found.comparisons for d in c.diagnoses} == {"stale"}
