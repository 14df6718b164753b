"""The formula that an op's wrong gradient rule computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck import run
from gradcheck.engines.resolve import adapt
from gradcheck.language.loader import load_text
from gradcheck.reports.phrases import say
from tests.engines.dialects import sound


def told(graph: str, op: str, rule: Callable[..., Any]) -> str:
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
    assert told(graph, op, rule).startswith(f"computed as {said}, for y = ")


def test_no_formula_is_told_for_what_is_none() -> None:
    assert told("tanh(a)", "tanh", lambda g, x, y: g * np.sin(7 * x)).startswith("no known mistake explains it")


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
