"""An op that an engine makes of others is not blamed for them."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.resolve import adapt
from gradcheck.facts import fact
from gradcheck.language.loader import load_text
from tests.engines.dialects import arrays, diseases, figures, sound
from tests.from_text import case_of
from tests.paths import WRONG_ENGINES

MSE = "{inputs: {a: 'randn(3, 2)', b: 'randn(3, 2)'}, graph: {loss: 'F.mse_loss(a, b)'}}"
_CASES = {
    "numbers": "inputs: {a: 1.5, b: -2.0}\ngraph: {c: a * b, d: c * a, e: d + c, f: d * e}\nbackward: f\n",
    "arrays": "inputs: {a: [[1], [3]], b: [[1, 2, 4]]}\ngraph: {y: a * b, z: y - b}\n"
    "backward: {z: [[1, 2, 3], [4, 5, 6]]}\n",
}


def checked(text: str, *replaced: tuple[str, str]) -> CaseResult:
    """A case on the sound engine with pieces of its text replaced."""
    code = (WRONG_ENGINES / "right.py").read_text(encoding="utf-8")
    for old, new in replaced:
        assert old in code
        code = code.replace(old, new)
    names: dict[str, Any] = {"__name__": "made_to_order"}
    exec(compile(code, "made_to_order.py", "exec"), names)
    (case,) = run([case_of(text)], engines=[adapt(names["Tensor"], "mine")]).cases
    return case


def causes(case: CaseResult) -> list[Comparison]:
    return [c for c in case.comparisons if c.cause is not None]


def test_mse_loss_is_wrong_because_sub_is() -> None:
    case = checked(MSE, ("return self + -self._tensor(other)", "return self + self._tensor(other) * -2"))
    assert case.status == "failed"
    wrong = [c for c in case.comparisons if c.what == "value"]
    assert wrong  # its value is wrong, too, which says it all
    case = checked(MSE, ("return self + -self._tensor(other)", SUB))
    (cause,) = causes(case)
    assert cause.cause is not None
    assert cause.cause.origin == fact("op_inside", op="sub", entry="loss", outer="mse_loss")
    assert {c.consequence_of for c in case.comparisons if c.status == "failed" and c.cause is None} == {
        cause.cause.origin
    }


SUB = "o = self._tensor(other); return type(self)(self.data - o.data, [(self, lambda g: g), (o, lambda g: g)])"


def test_of_several_parts_each_that_is_wrong_is_named() -> None:
    """`mse_loss` squares by a product of one tensor with itself; that product is wrong on tensors of their own."""
    case = checked(
        MSE, ("unbroadcast(g * np.conj(self.data), o", "unbroadcast(-g * np.conj(self.data), o"), (SUM, TWICE)
    )
    told = {c.cause.origin["op"]: c.diagnoses[0].kind for c in causes(case) if c.cause is not None}
    assert told == {"mul": "sign", "sum": "factor"}
    assert all(c.part is not None and c.part.text == "F.mse_loss(a, b)" for c in causes(case))


SUM, TWICE = "np.broadcast_to(g, self.data.shape)", "3.5 * np.broadcast_to(g, self.data.shape)"


def test_where_two_arguments_are_one_tensor() -> None:
    """The second use replaces the first."""
    old = "arrived[maker] + share(whole) if maker in arrived else share(whole)"
    case = checked("{inputs: {x: 'randn(3)'}, graph: {y: x.square(), loss: y.sum()}}", (old, "share(whole)"))
    (cause,) = causes(case)
    assert cause.cause is not None
    assert cause.cause.what["what"].kind == "shared_argument"


def test_an_op_of_its_own_is_blamed_itself() -> None:
    tanh = "[(self, lambda g: g * np.conj(1 - result**2))]"
    text = "{inputs: {x: 'randn(3)'}, graph: {y: tanh(x), loss: y.sum()}}"
    (cause,) = causes(checked(text, (tanh, "[(self, lambda g: -g * np.conj(1 - result**2))]")))
    assert cause.cause is not None
    assert cause.cause.origin == fact("op_at", op="tanh", entry="y")
    assert cause.code is not None
    assert cause.code.file == "made_to_order.py"


def test_what_a_method_calls_is_known() -> None:
    """A minus is a product in this class: of a run in which both are wrong, they are one."""
    text = "{inputs: {x: 'randn(3)'}, graph: {z: -x, loss: z.sum()}}"
    wrong = ("unbroadcast(g * np.conj(other.data), s", "unbroadcast(2 * g * np.conj(other.data), s")
    (cause,) = causes(checked(text, wrong))
    assert cause.cause is not None
    assert cause.cause.origin == fact("op_at", op="neg", entry="z")
    assert "mul" in cause.cause.what["made_of"]


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
