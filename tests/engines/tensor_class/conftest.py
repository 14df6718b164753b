"""Small Tensor classes made to order, and cases to try them on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gradcheck import run
from gradcheck.checks.result import CaseResult
from gradcheck.engines.resolve import adapt
from gradcheck.language.loader import load_text
from tests.paths import WRONG_ENGINES

RIGHT = WRONG_ENGINES / "right.py"


@pytest.fixture
def variant() -> Callable[..., type]:
    """The sound engine with pieces of its text replaced."""

    def make(*replacements: tuple[str, str]) -> type:
        text = RIGHT.read_text()
        for old, new in replacements:
            assert old in text, old
            text = text.replace(old, new)
        names: dict[str, Any] = {"__name__": "made_to_order"}
        exec(compile(text, "made_to_order.py", "exec"), names)
        kind: type = names["Tensor"]
        return kind

    return make


@pytest.fixture
def check() -> Callable[..., CaseResult]:
    """A case, given as YAML, run on a Tensor class."""

    def run_one(kind: Any, text: str, **options: Any) -> CaseResult:
        cases, errors = load_text(text, "case.yaml")
        assert not errors, [str(error) for error in errors]
        engine = adapt(kind, "mine")
        (found,) = run(cases, engines=[engine], **options).cases
        return found

    return run_one


CASE = """
inputs: {a: [[1, 2], [3, 4]], b: [[0.5, -1], [2, 1.5]]}
graph:
  p: a @ b
  q: p * a + 2 * b
  loss: (q * p).sum()
"""


@pytest.fixture
def passes(check: Callable[..., CaseResult]) -> Callable[[Any], bool]:
    """Whether a class gets every gradient of a small graph right."""

    def passed(kind: Any) -> bool:
        found = check(kind, CASE)
        assert found.status == "passed", [c for c in found.comparisons if c.status != "passed"] + list(found.errors)
        assert {c.tensor for c in found.comparisons if c.what == "gradient"} == {"a", "b", "p", "q", "loss"}
        return True

    return passed


class Number:
    """A number that remembers how it was made, in micrograd's manner."""

    def __init__(self, data: float, makers: tuple[Any, ...] = ()) -> None:
        assert isinstance(data, float)
        self.data, self.makers, self.grad = data, makers, 0

    def __add__(self, other: Any) -> Number:
        other = other if isinstance(other, Number) else Number(float(other))
        return Number(self.data + other.data, ((self, 1.0), (other, 1.0)))

    def __mul__(self, other: Any) -> Number:
        other = other if isinstance(other, Number) else Number(float(other))
        return Number(self.data * other.data, ((self, other.data), (other, self.data)))

    __radd__, __rmul__ = __add__, __mul__

    def backward(self) -> None:
        order: list[Number] = []
        seen = set()

        def visit(number: Number) -> None:
            if number not in seen:
                seen.add(number)
                for maker, _ in number.makers:
                    visit(maker)
                order.append(number)

        visit(self)
        self.grad = 1.0
        for number in reversed(order):
            for maker, share in number.makers:
                maker.grad += number.grad * share


@pytest.fixture
def number() -> type:
    return Number
