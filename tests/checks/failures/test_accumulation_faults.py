"""Gradients that are put together wrongly, or not cleared, are one cause of all that follows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
_CASES = {
    "alone": "inputs: {a: [1, -2, 0.3]}\ngraph: {y: a.tanh()}\nbackward: {y: [1, 0.5, -2]}\n",
    "in front": "inputs: {a: [1, -2, 0.3], b: [1, 2, 3]}\ngraph: {h: a.tanh(), p: h * b, y: p.sum()}\n",
    "in front of all": "inputs: {a: 0.5, w: -1.5}\ngraph: {p: a * w, h: p.tanh(), y: h * h}\n",
    "summed": "inputs: {a: [1, -2, 0.3]}\ngraph: {h: a.tanh(), q: h + h, y: q.sum()}\n",
    "behind": "inputs: {a: [1, -2, 0.3]}\ngraph: {h: a * a, y: h.tanh()}\nbackward: {y: [1, 0.5, -2]}\n",
}


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


class Silent(sound.Tensor):
    """Its tanh is a new tensor, which wants no gradient, as all made of it; a pass from there does nothing."""

    is_cut = False

    def new(self, data: Any, parents: Any = (), rule: Any = None) -> Any:
        made = super().new(data, parents, rule)
        made.is_cut = bool(parents) and all(parent.is_cut for parent in parents)
        return made

    def tanh(self) -> Any:
        made = Silent(np.tanh(self.data))
        made.is_cut = True
        return made

    def backward(self, gradient: Any = None) -> None:
        if not self.is_cut:
            super().backward(gradient)


class Raising(Silent):
    """A pass from there raises."""

    def tanh(self) -> Any:
        made = Raising(np.tanh(self.data))
        made.is_cut = True
        return made

    def backward(self, gradient: Any = None) -> None:
        if self.is_cut:
            raise AttributeError("no grad_fn")
        sound.Tensor.backward(self, gradient)


def judged_kind(kind: Any, text: str) -> CaseResult:
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    return run(cases, engines=[adapt(kind, "mine")], trials=1).cases[0]


@pytest.mark.parametrize("text", _CASES.values(), ids=_CASES)
@pytest.mark.parametrize("kind", [Silent, Raising])
def test_the_op_that_cuts_the_graph_is_the_only_cause(kind: Any, text: str) -> None:
    found = judged_kind(kind, text)
    (shown,) = [c for c in found.comparisons if c.cause]
    assert shown.cause is not None
    assert (shown.cause.origin["op"], shown.cause.fault.kind) == ("tanh", "its_gradient_is_wrong")
    assert [d.kind for d in shown.diagnoses] == ["detached"]
    assert [d.confidence for d in shown.diagnoses] == ["confirmed"]
    rest = [c for c in found.comparisons if c.status == "failed" and c is not shown]
    assert {c.consequence_of for c in rest} <= {shown.cause.origin}


def test_a_rule_that_raises_is_no_cut() -> None:
    class Broken(sound.Tensor):
        def tanh(self) -> Any:
            def rule(gradient: Any) -> Any:
                raise TypeError("not yet")

            return self.new(np.tanh(self.data), (self,), rule)

    found = judged_kind(Broken, _CASES["alone"])
    (shown,) = [c for c in found.comparisons if c.cause]
    assert shown.cause is not None
    assert shown.cause.fault.kind == "rule_fails"
