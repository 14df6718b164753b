"""What fails is repeated on the bare graph, and only what is wrong there is the class's own."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.language.loader import load_text
from gradcheck.reports.phrases import say
from tests.engines.dialects import arrays, diseases, sound

_PRODUCTS = "inputs: {a: [1, 2], b: [3, -1]}\ngraph: {c: a * b, d: c * a}\nbackward: {d: [0.5, 2]}\n"
_MINUS = "inputs: {a: [1, 2]}\ngraph: {y: -a}\nbackward: {y: [0.5, 2]}\n"


def judged(kind: Any, text: str) -> CaseResult:
    cases, errors = load_text(text, "case.yaml")
    assert not errors
    return run(cases, engines=[adapt(kind, "mine")], trials=1, oracle="none").cases[0]


class SpoiltByKeeping(sound.Tensor):
    """Right, unless it is told to keep gradients: then what comes next is doubled."""

    kept = 1

    def retain_grad(self) -> None:
        self.kept = 2

    def receive(self, gradient: Any) -> None:
        super().receive(gradient * max((parent.kept for parent in getattr(self, "children", ())), default=1))

    def new(self, data: Any, parents: Any = (), rule: Any = None) -> Any:
        made = super().new(data, parents, rule)
        for parent in parents:
            parent.children = [*getattr(parent, "children", ()), made]
        return made


class OnlyDouble(sound.Tensor):
    """Without a minus of its own. A product that was made of a number is wrong where it is in another's place."""

    __neg__ = None  # type: ignore[assignment]


class WrongTotals(arrays.TotalsOnly):
    def sum(self) -> Any:
        return self.new(self.data.sum(), (self,), lambda g: (g / 2 + 0 * self.data,))


def test_what_only_an_adapter_does_is_no_mistake_of_the_class() -> None:
    found = judged(SpoiltByKeeping, _PRODUCTS)
    assert found.status == "unsupported"
    assert any("leaves alone" in say(c.mismatch) for c in found.comparisons if c.mismatch)


def test_what_no_incoming_gradient_can_be_given_to_is_not_judged() -> None:
    assert judged(WrongTotals, _PRODUCTS).status == "unsupported"
    assert judged(WrongTotals, "inputs: {a: [1, 2]}\ngraph: {y: a.sum()}\n").status == "failed"


def test_an_op_made_of_others_that_are_right_is_not_blamed() -> None:
    assert judged(OnlyDouble, _MINUS).status == "passed"

    class OnlyOneLevel(OnlyDouble):
        """Numbers beside a tensor come out with the gradient of something else, unless both are tensors."""

        def __mul__(self, other: Any) -> Any:
            if isinstance(other, float):
                return self.new(self.data * other, (self,), lambda g: (g * (other + 1),))
            return super().__mul__(other)

    found = judged(OnlyOneLevel, _MINUS)
    (told,) = [c for c in found.comparisons if c.operation is not None and c.cause is not None]
    assert told.operation is not None
    assert (told.operation.application.op.name, told.operation.inside) == ("mul", "neg")


@pytest.mark.parametrize("host", [sound.Tensor, arrays.TotalsOnly, arrays.SetOrdered], ids=lambda kind: kind.__name__)
def test_what_is_the_classes_own_stays(host: type) -> None:
    assert judged(type("Sick", (diseases.Overwrites, host), {}), _PRODUCTS).status == "failed"
