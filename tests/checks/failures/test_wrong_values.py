"""A value that is wrong in the forward pass: the op that is wrong is found, in a longer entry or inside of another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck import run
from gradcheck.autograd import ops
from gradcheck.checks.result import Comparison
from gradcheck.engines.resolve import adapt
from gradcheck.facts import Fact, fact
from gradcheck.language.loader import load_text
from tests.checks.conftest import Check
from tests.checks.failures.test_composed_ops import causes, checked
from tests.engines.dialects import sound

TANH = ("result = np.tanh(self.data)", "result = np.tanh(self.data) * 1.5")
IDENTITY = ("result = np.tanh(self.data)", "result = self.data + 0")
QUOTIENT = "    def __truediv__(self, other):\n        return self * self._tensor(other) ** -1.0\n\n"
RTRUEDIV = ("    def __rmul__(", f"{QUOTIENT}    __rtruediv__ = __truediv__\n\n    def __rmul__(")
POW = ("return type(self)(self.data**power,", "return type(self)(self.data**power + 1,")


def blamed(text: str, *replaced: tuple[str, str]) -> tuple[Comparison, Fact]:
    (found,) = causes(checked(text, *replaced))
    assert found.cause is not None
    assert found.cause.what == fact("value_is_wrong")
    return found, found.cause.origin


def test_the_op_in_a_longer_entry() -> None:
    found, origin = blamed("{inputs: {x: 'randn(3)'}, graph: {y: x * x + tanh(x * 2), loss: y.sum()}}", TANH)
    assert origin == fact("op_at", op="tanh", entry="y")
    assert found.part is not None
    assert found.part.text[found.part.start : found.part.end] == "tanh(x * 2)"
    assert found.code is not None


def test_the_op_inside_of_another() -> None:
    """A reciprocal is a power, in a class that has none."""
    _, origin = blamed("{inputs: {x: 'uniform(1, 2, [3])'}, graph: {y: reciprocal(x), loss: y.sum()}}", POW)
    assert origin == fact("op_inside", op="pow", entry="y", outer="reciprocal")


def test_everything_else_follows() -> None:
    case = checked("{inputs: {x: 'randn(3)'}, graph: {y: tanh(x), z: y * y, loss: z.sum()}}", TANH)
    (cause,) = causes(case)
    assert cause.cause is not None
    others = [c for c in case.comparisons if c.status == "failed" and c is not cause]
    assert others
    assert {c.consequence_of for c in others} == {cause.cause.origin}


def test_operands_in_the_wrong_order_are_named_also_where_one_is_a_number() -> None:
    """`1 / x` computed as `x / 1` is the value of `x`, but no tensor is mixed up with another."""
    case = checked("{inputs: {x: 'uniform(1, 2, [3])'}, graph: {y: 1 / x, loss: y.sum()}}", RTRUEDIV)
    (cause,) = causes(case)
    (found,) = cause.diagnoses
    assert (found.kind, found.message) == ("swapped", fact("operands_exchanged"))


def test_a_value_of_another_tensor_is_called_a_value() -> None:
    case = checked("{inputs: {x: 'randn(3)', z: 'randn(3)'}, graph: {y: tanh(x), loss: y.sum()}}", IDENTITY)
    (cause,) = causes(case)
    assert fact("value_of_another", tensor="x") in {one.message for one in cause.diagnoses}


RAISING = ("result = np.tanh(self.data)", "result = np.tanh(self.data + np.zeros(7))")


def test_an_op_that_raises_in_the_forward_pass_is_the_cause() -> None:
    case = checked("{inputs: {x: 'randn(3)'}, graph: {y: x * x + tanh(x * 2), loss: y.sum()}}", RAISING)
    (found,) = causes(case)
    assert found.cause is not None
    assert (found.cause.origin, found.cause.what) == (fact("op_at", op="tanh", entry="y"), fact("it_raises"))
    assert found.part is not None
    assert found.part.text[found.part.start : found.part.end] == "tanh(x * 2)"
    assert found.code is not None


ROWS = ("self.data @ other.data,", "(self.data @ other.data)[:, :1].repeat(3, 1),")


def test_a_wrong_value_that_the_next_op_cannot_take_is_the_cause() -> None:
    """The product has another shape than it should; what is raised by the sum is no fault of the sum's."""
    inputs = "x: 'randn(2, 2)', w: 'randn(2, 2)', b: 'randn(2)'"
    for graph in ("y: x @ w + b, loss: y.sum()", "p: x @ w, y: p + b, loss: y.sum()"):
        case = checked(f"{{inputs: {{{inputs}}}, graph: {{{graph}}}}}", ROWS)
        (found,) = causes(case)
        assert found.cause is not None
        assert found.cause.origin == fact("op_at", op="matmul", entry=graph[0])
        assert found.cause.what == fact("value_is_wrong")


def test_what_accumulates_after_a_step_that_should_raise_follows_from_that() -> None:
    text = "{inputs: {x: [1, 2]}, graph: {y: x * 2}, steps: [{backward: y, raises: non_scalar_backward}, %s]}"
    accepts = ('raise ValueError("only a tensor of one element has a gradient of 1")', "pass")
    case = checked(text % "{backward: {y: [1, 1]}}", accepts)
    (found, *others) = causes(case)
    assert not others
    assert found.cause is not None
    assert found.cause.origin == fact("outcome_of_step", number=1)


def test_an_op_that_changes_its_argument_is_shown_with_its_line() -> None:
    class InPlace(sound.Tensor):
        def relu(self) -> Any:
            return self.new(np.maximum(0, self.data, out=self.data), (self,), lambda g: (g * (self.data > 0),))

    cases, errors = load_text(
        "inputs: {a: [1, -2, 3]}\ngraph: {h: a * a, y: a.relu()}\nbackward: {y: [1, 2, 3]}\n", "c.yaml"
    )
    assert not errors
    (found,) = run(cases, engines=[adapt(InPlace, "mine")], trials=1).cases
    (shown,) = [c for c in found.comparisons if c.cause]
    assert [d.kind for d in shown.diagnoses] == ["input_mutated"]
    assert shown.code is not None
    assert shown.code.line == InPlace.relu.__code__.co_firstlineno


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
