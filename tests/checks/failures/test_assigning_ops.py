"""An op that assigns a gradient is named, whatever is lost by it in which run."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.language.loader import load_text
from tests.engines.dialects import arrays, diseases, figures, sound

_CASES = {
    "numbers": "inputs: {a: 1.5, b: -2.0}\ngraph: {c: a * b, d: c * a, e: d + c, f: d * e}\nbackward: f\n",
    "arrays": "inputs: {a: [[1], [3]], b: [[1, 2, 4]]}\ngraph: {y: a * b, z: y - b}\n"
    "backward: {z: [[1, 2, 3], [4, 5, 6]]}\n",
}


class Assigns(figures.Value):
    """A product assigns to its first operand."""

    def __mul__(self, other: Any) -> Any:
        other = other if isinstance(other, figures.Value) else type(self)(other)
        out = super().__mul__(other)

        def step() -> None:
            self.grad = other.data * out.grad
            other.grad += self.data * out.grad

        out.step = step
        return out


class AssignsInAnyOrder(Assigns, figures.Shuffled):
    """Its operands come in another order each time."""


def judged(kind: Any, text: str) -> CaseResult:
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    return run(cases, engines=[adapt(kind, "mine")], trials=1, oracle="none").cases[0]


@pytest.mark.parametrize("text", _CASES.values(), ids=_CASES)
@pytest.mark.parametrize("kind", [Assigns, AssignsInAnyOrder])
def test_the_op_that_assigns_is_the_only_cause(kind: Any, text: str) -> None:
    found = judged(kind, text)
    (shown,) = [c for c in found.comparisons if c.cause]
    assert shown.cause is not None
    assert shown.cause.origin["op"] == "mul"
    assert [(d.kind, d.message.kind) for d in shown.diagnoses] == [("overwritten", "op_assigns")]
    assert shown.code is not None


class AssignsPowers(figures.Value):
    """A power of plain exponents alone, of which quotients are made."""

    def __pow__(self, other: Any) -> Any:
        assert isinstance(other, (int, float))
        out = type(self)(self.data**other, (self,))

        def step() -> None:
            self.grad = other * self.data ** (other - 1) * out.grad

        out.step = step
        return out

    def __truediv__(self, other: Any) -> Any:
        return self * other**-1


@pytest.mark.parametrize("graph", ["{c: a / b, y: c + b * a}", "{c: a ** 2, y: c * a + b}"])
def test_a_power_that_assigns_is_named_alone_or_in_a_quotient(graph: str) -> None:
    found = judged(AssignsPowers, f"inputs: {{a: 1.5, b: -2.0}}\ngraph: {graph}\nbackward: y\n")
    assert {c.cause.origin["op"] for c in found.comparisons if c.cause} == {"pow"}


def test_where_all_is_assigned_it_is_the_pass() -> None:
    sick: Any = type("Sick", (diseases.Overwrites, sound.Tensor), {})
    found = judged(sick, _CASES["numbers"])
    assert {d.message.kind for c in found.comparisons for d in c.diagnoses}.isdisjoint({"op_assigns"})


def test_a_pass_that_begins_anew_assigns_nothing() -> None:
    class Early(diseases.PassesOnEarly, arrays.Ones):
        """It is wrong for another reason."""

    found = judged(Early, _CASES["numbers"])
    assert {d.message.kind for c in found.comparisons for d in c.diagnoses}.isdisjoint({"op_assigns"})
