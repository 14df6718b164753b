"""An op whose fast path differs from its definition is named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gradcheck.autograd import TABLE, Tensor, accelerator
from gradcheck.autograd.compiled import FAST_CALLS, calls
from gradcheck.engines.fast_path_audit import first_difference
from gradcheck.reports.phrases import say
from tests.from_text import problem_from

TEXT = "{inputs: {x: [[1.5, 2], [3, 4]]}, graph: {t: tanh(x), z: t * x + t, loss: z.sum()}}"


@pytest.fixture(autouse=True)
def _without_compiled_functions() -> Iterator[None]:
    accelerator.forget()
    yield
    accelerator.forget()


def test_they_do_not_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "WORTH_IT", 1)
    problem = problem_from(TEXT)
    assert [first_difference(problem) for _ in range(3)] == [None] * 3
    assert FAST_CALLS[Tensor].functions[TABLE["tanh"]]


@pytest.mark.parametrize("name", ["tanh", "sum"])
def test_an_op_whose_compiled_function_is_wrong_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "WORTH_IT", 1)
    problem = problem_from(TEXT)
    for _ in range(3):
        first_difference(problem)
    functions = FAST_CALLS[Tensor].functions[TABLE[name]]
    assert functions
    for key, found in functions.items():
        functions[key] = lambda *tensors, found=found: _more(found(*tensors))
    said = first_difference(problem)
    assert said is not None
    assert said["op"] == name


def _more(made: Any) -> Any:
    made.array = made.array + 1
    return made


def test_an_op_whose_plan_is_wrong_is_named(wrong_plan: Callable[[str, float], None]) -> None:
    wrong_plan("mul", 1.1)
    said = first_difference(problem_from(TEXT))
    assert said is not None
    assert (said["op"], said["owner"]) == ("mul", "z")
    assert "mul" in say(said)
