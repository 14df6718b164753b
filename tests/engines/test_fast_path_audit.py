"""The core's two ways: where they differ, it is said, and taken for no rounding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, Tensor
from gradcheck.autograd.compiled import binary_fast_path as fast
from gradcheck.autograd.compiled import plans
from gradcheck.engines.fast_path_audit import where_ways_differ
from gradcheck.reports.phrases import say
from tests.conftest import forget_plans
from tests.from_text import problem_from

TEXT = "{inputs: {x: [[1.5, 2], [3, 4]]}, graph: {t: tanh(x), z: t * x + t, loss: z.sum()}}"


@pytest.fixture(autouse=True)
def _without_plans() -> Iterator[None]:
    forget_plans()
    yield
    forget_plans()


def test_they_do_not_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "WORTH_IT", 1)
    problem = problem_from(TEXT)
    assert [where_ways_differ(problem) for _ in range(3)] == [None] * 3
    assert TABLE["tanh"].plans


@pytest.mark.parametrize("name", ["tanh", "sum"])
def test_an_op_whose_plan_is_wrong_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "WORTH_IT", 1)
    op, problem = TABLE[name], problem_from(TEXT)
    for _ in range(3):
        where_ways_differ(problem)
    for key, found in op.plans.items():
        op.plans[key] = lambda *tensors, found=found: _more(found(*tensors))
    said = where_ways_differ(problem)
    assert said is not None
    assert said["op"] == name


def _more(made: Tensor) -> Tensor:
    made.array = made.array + 1
    return made


def test_a_pair_whose_gradient_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    true: Any = fast.PairPlan.share

    def wrong(self: Any, *args: Any) -> np.ndarray:
        share: np.ndarray = true(self, *args)
        return share * 1.1 if self.op.name == "mul" else share

    monkeypatch.setattr(fast.PairPlan, "share", wrong)
    said = where_ways_differ(problem_from(TEXT))
    assert said is not None
    assert (said["op"], said["owner"]) == ("mul", "z")
    assert "mul" in say(said)
