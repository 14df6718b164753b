"""Cases on their way together: what is done for a few at once comes to the same as for each."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.autograd import TABLE
from gradcheck.checks import in_steps
from gradcheck.checks.ahead import begun_together
from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.in_turn import in_turn
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.runner import finish_one
from gradcheck.engines.core import Core
from gradcheck.engines.define_by_run import DefineByRun
from gradcheck.engines.torch import Torch
from gradcheck.errors import TooLarge
from gradcheck.language.sampling import draw
from tests.checks.test_ahead import RIGHT, exchange
from tests.from_text import case_of


def test_those_that_agree_and_claim_nothing_are_finished() -> None:
    claims = ("", "expected: {loss: 1}\n", "expected: {x: [1, 1]}\n", "formulas: {x: w}\n", "xfail: nothing is wrong\n")
    work = [case_of(f"name: c{number}\n{RIGHT}{claim}") for number, claim in enumerate(claims)]
    options = Options()
    found = list(begun_together(work, options, engines_of(options), finish_one))
    statuses = [one.result.status if one is not None and one.result is not None else None for _, one in found]
    assert statuses == ["passed", "passed", None, None, "xpassed"]


def test_one_pass_is_taken_for_several(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[int] = []
    known = Torch._sweep

    def sweep(self: Torch, roots: list[torch.Tensor], gradients: list[torch.Tensor | None]) -> None:
        taken.append(len(roots))
        known(self, roots, gradients)

    monkeypatch.setattr(Torch, "_sweep", sweep)
    work = [case_of(f"name: c{n}\n{RIGHT}") for n in range(in_steps.AT_ONCE + 1)]
    two = case_of(
        f"name: two\n{RIGHT}steps: [{{backward: loss}}, {{backward: y}}]\n".replace("y: x * w + x, ", "y: x.sum(), ")
    )
    assert {one.status for one in in_turn([*work, two], Options(), engines_of(Options()))} == {"passed"}
    assert sorted(taken) == [1, 1, 1, in_steps.AT_ONCE]


@pytest.mark.parametrize("warned", [False, True])
def test_where_a_pass_over_several_fails_each_takes_its_own(monkeypatch: pytest.MonkeyPatch, warned: bool) -> None:
    """With what it has left behind forgotten, and warnings where they belong."""
    known = Torch._sweep

    def sweep(self: Torch, roots: Sequence[Any], gradients: Any) -> None:
        known(self, list(roots), gradients)
        if warned and any(tuple(one.shape) == (7,) for root in roots for one in _leaves(root)):
            warnings.warn("seven", UserWarning, stacklevel=1)
        elif not warned and len(roots) > 1:
            raise RuntimeError("too many")

    monkeypatch.setattr(Torch, "_sweep", sweep)
    work = [case_of(f"name: c{n}\ninputs: {{x: randn({n})}}\ngraph: {{y: (x * x).sum()}}\n") for n in (6, 7, 8)]
    found = list(in_turn(work, Options(), engines_of(Options())))
    assert [one.status for one in found] == ["passed"] * 3
    assert [len(one.warnings) for one in found] == ([0, 1, 0] if warned else [0, 0, 0])


def _leaves(root: torch.Tensor) -> list[Any]:
    found: list[Any] = []
    stack: list[Any] = [root.grad_fn]
    while stack:
        for node, _ in stack.pop().next_functions:
            if hasattr(node, "variable"):
                found.append(node.variable)
            elif node is not None:
                stack.append(node)
    return found


def test_what_differs_is_found_among_many_that_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value, and a rule that is wrong only alone: of one case among those that are compared at once."""
    exchange(monkeypatch, "expm1", lambda array: np.expm1(array) * (1 + 1e-9 * (array.size == 3)))
    work = [case_of(f"name: c{n}\ninputs: {{x: randn({n})}}\ngraph: {{y: expm1(x).sum()}}\n") for n in (2, 3, 4)]
    assert [one.status for one in in_turn(work, Options(), engines_of(Options()))] == ["passed", "failed", "passed"]


def test_a_rule_that_is_wrong_alone_is_found_among_many_that_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A gradient of ones hides that it is flipped."""
    known = TABLE["erf"].rules[0]
    assert known is not None
    flipped = lambda grad, result, x: known(TABLE["flip"](grad, 0) if grad.shape == (3,) else grad, result, x)  # noqa: E731
    monkeypatch.setitem(TABLE, "erf", replace(TABLE["erf"], rules=(flipped,)))
    work = [case_of(f"name: c{n}\ninputs: {{x: randn({n})}}\ngraph: {{y: erf(x).sum()}}\n") for n in (2, 3, 4)]
    found = list(in_turn(work, Options(), engines_of(Options())))
    assert [one.status for one in found] == ["passed", "failed", "passed"]
    assert {c.what for c in found[1].comparisons if c.status == "failed"} == {ClaimKind.NODE}


@pytest.mark.parametrize("engine", [Core(), Torch()])
def test_only_the_same_numbers_are_not_measured_again(engine: DefineByRun) -> None:
    problem = draw(case_of("inputs: {x: 'randn(3)'}\ngraph: {y: '(x.reshape(-1, 1) * x.reshape(1, -1)).sum()'}\n"))
    run = engine.begin(problem, None, measured=True)
    with pytest.raises(TooLarge):
        run.forward({"x": np.ones(20_000)})


def test_what_is_too_large_is_so_for_each_engine() -> None:
    text = "name: c{}\ninputs: {{x: 'randn({})'}}\ngraph: {{y: '(x.reshape(-1, 1) * x.reshape(1, -1)).sum()'}}\n"
    work = [case_of(text.format(number, number)) for number in (2, 20_000)]
    found = list(in_turn(work, Options(), engines_of(Options())))
    assert [one.status for one in found] == ["passed", "failed"]
    assert {error.kind for error in found[1].errors} == {"too_large"}
