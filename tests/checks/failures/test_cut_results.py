"""A result that is not in the graph is the op's mistake, not the pass's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.language.loader import load_text
from tests.engines.dialects import sound

_CASES = {
    "alone": "inputs: {a: [1, -2, 0.3]}\ngraph: {y: a.tanh()}\nbackward: {y: [1, 0.5, -2]}\n",
    "in front": "inputs: {a: [1, -2, 0.3], b: [1, 2, 3]}\ngraph: {h: a.tanh(), p: h * b, y: p.sum()}\n",
    "in front of all": "inputs: {a: 0.5, w: -1.5}\ngraph: {p: a * w, h: p.tanh(), y: h * h}\n",
    "summed": "inputs: {a: [1, -2, 0.3]}\ngraph: {h: a.tanh(), q: h + h, y: q.sum()}\n",
    "behind": "inputs: {a: [1, -2, 0.3]}\ngraph: {h: a * a, y: h.tanh()}\nbackward: {y: [1, 0.5, -2]}\n",
}


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


def judged(kind: Any, text: str) -> CaseResult:
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    return run(cases, engines=[adapt(kind, "mine")], trials=1).cases[0]


@pytest.mark.parametrize("text", _CASES.values(), ids=_CASES)
@pytest.mark.parametrize("kind", [Silent, Raising])
def test_the_op_that_cuts_the_graph_is_the_only_cause(kind: Any, text: str) -> None:
    found = judged(kind, text)
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

    found = judged(Broken, _CASES["alone"])
    (shown,) = [c for c in found.comparisons if c.cause]
    assert shown.cause is not None
    assert shown.cause.fault.kind == "rule_fails"
