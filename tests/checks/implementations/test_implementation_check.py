"""Implementations as engines of their own cases: what passes, what fails, and where."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.checks.scheduling.run import run
from gradcheck.testing import check_function
from tests.engines.implementation import functions
from tests.engines.implementation.build import AFFINE, TANH, with_code


def checked(case: str, *loaded: Any, **fields: Any) -> CaseResult:
    (found,) = run(with_code(case, *loaded, **fields), allow_code=True).cases
    return found


def failed(found: CaseResult) -> list[Comparison]:
    return [c for c in found.comparisons if c.status == "failed"]


def test_code_that_may_not_run_makes_the_case_invalid() -> None:
    (found,) = run(with_code(TANH, functions.Tanh.apply)).cases
    assert found.status == "invalid"
    assert "--allow-code" in found.errors[0].hint


@pytest.mark.parametrize(
    "loaded",
    [functions.Tanh.apply, functions.OnlyOnce.apply, lambda x: x.tanh(), functions.prints],
)
def test_right_code_passes(loaded: Any) -> None:
    assert checked(TANH, loaded).status == "passed"


def test_right_pairs_pass() -> None:
    pairs = [(functions.affine_forward, functions.affine_backward), (functions.affine_forward, functions.by_name)]
    assert checked(AFFINE, *pairs, functions.affine).status == "passed"


def test_what_is_wrong_is_the_codes_own() -> None:
    found = checked(TANH, functions.Tanh.apply, functions.WrongSign.apply)
    assert {(c.engine, c.tensor) for c in failed(found)} == {("code 2", "x")}
    assert failed(found)[0].diagnoses[0].kind == "sign"
    assert failed(found)[0].code is not None


def test_a_sum_that_is_missing_is_named() -> None:
    found = checked(AFFINE, (functions.affine_forward, functions.not_summed))
    assert {c.tensor for c in failed(found)} == {"b"}
    assert failed(found)[0].diagnoses[0].kind == "broadcast_not_undone"


def test_an_exception_is_the_cases_failure_and_what_was_printed_is_kept() -> None:
    found = checked(TANH, functions.Raises.apply, functions.prints)
    assert found.status == "failed"
    assert [error.kind for error in found.errors] == ["code_raised"]
    assert "raise ValueError" in found.errors[0].details
    assert found.output["code 2"].startswith("seen (3, 2)")


def test_less_precision_than_the_dtype_has_is_a_failure() -> None:
    assert checked(TANH, functions.narrow).status == "failed"
    assert checked(TANH, functions.narrow, dtypes=("float32",)).status == "passed"


def test_every_dtype_that_is_listed_is_looked_at() -> None:
    found = checked(TANH, functions.Tanh.apply, dtypes=("float64", "float32", "bfloat16"))
    assert found.status == "passed"
    assert {c.dtype for c in found.comparisons if c.engine == "code 1"} >= {"float64", "float32", "bfloat16"}


def test_inside_the_graph_entries_that_the_code_passes_over_are_not_compared() -> None:
    case = 'inputs: {x: "randn(3)", w: "randn(3)"}\ngraph: {h: x * w, y: exp(h), loss: y.sum()}'
    assert checked(case, lambda x, w: (x * w).exp()).status == "passed"
    found = checked(case, lambda x, w: (x * w).exp() + x.detach() * 0.1)
    assert {c.tensor for c in failed(found)} >= {"y"}


def test_code_is_asked_beyond_the_cases_own_numbers() -> None:
    case = 'inputs: {x: [0.5, 1.0, -2.0]}\ngraph: {y: "F.relu6(x)"}'
    assert checked(case, lambda x: x.clamp(0, 6)).status == "passed"
    assert checked(case, lambda x: x.clamp(min=0)).status == "failed"


def test_at_a_kink_any_subgradient_will_do() -> None:
    case = "inputs: {x: [0.0, 1.0, -2.0]}\ngraph: {y: abs(x)}"

    def backward(value: float) -> Any:
        return lambda g, x: g * np.where(x == 0, value, np.sign(x))

    assert checked(case, (np.abs, backward(1.0))).status == "passed"
    assert checked(case, (np.abs, backward(3.0))).status == "failed"


def test_where_names_do_not_tell_what_it_is_called_with_its_value_does() -> None:
    case = 'inputs: {x: "randn(3)"}\ngraph: {h: x * 2, y: exp(h)}'
    assert checked(case, lambda x: x.exp()).status == "passed"  # of h
    assert checked(case, lambda x: (2 * x).exp()).status == "passed"  # of x
    assert checked(case, lambda x: (2 * x.detach()).exp()).status == "failed"


def test_code_that_exits_or_raises_no_exception_costs_its_case_alone() -> None:
    class Odd(BaseException):
        pass

    def exits(x: Any) -> Any:
        raise SystemExit(0)

    def odd(x: Any) -> Any:
        raise Odd("odd")

    found = checked(TANH, exits)
    assert (found.status, [error.kind for error in found.errors]) == ("failed", ["code_raised"])
    assert checked(TANH, odd).status == "crashed"


def test_code_prints_nothing_and_leaves_nothing_behind(capsys: Any, tmp_path: Any) -> None:
    def loud(x: Any) -> Any:
        print("loud")
        np.seterr(all="raise")
        os.chdir(tmp_path)
        return x.tanh()

    before = os.getcwd(), np.geterr()
    assert checked(TANH, loud).status == "passed"
    assert (os.getcwd(), np.geterr()) == before
    assert capsys.readouterr() == ("", "")


def test_a_class_that_cannot_be_made_is_an_invalid_case() -> None:
    class Broken(torch.nn.Module):
        def __init__(self) -> None:
            raise ValueError("no")

    found = checked(TANH, Broken)
    assert found.status == "invalid"
    assert "ValueError: no" in str(found.errors[0].message)


class Hardsigmoid(torch.autograd.Function):
    """A function whose gradient in torch has a sixth rounded to single precision."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.nn.functional.hardsigmoid(x)

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return g * ((x > -3) & (x < 3)) / 6


class Wrong(Hardsigmoid):
    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return g * ((x > -3) & (x < 3)) / 5.99


def test_code_passes_where_torch_is_wrong() -> None:
    found = check_function(Hardsigmoid.apply, x=(3, 2), spec="F.hardsigmoid(x)")
    assert found.exit_code == 0
    with pytest.raises(AssertionError):
        check_function(Wrong.apply, x=(3, 2), spec="F.hardsigmoid(x)")


class Sigmoidal(torch.autograd.Function):
    """Smooth at 0, where torch takes 0 for the derivative of `abs`, and so for its own."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        half = 0.5 * (1 + x.abs()) ** -2.0
        return torch.where(x < 0, half, 1 - half)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * (1 + x.abs()) ** -3.0


@pytest.mark.parametrize("x", [(4, 5), torch.tensor([0.0, 1.0, -2.0], dtype=torch.float64)])
def test_code_is_right_where_differences_say_so_and_torch_is_wrong(x: Any) -> None:
    half = "0.5 * (1 + abs(x)) ** -2.0"
    check_function(Sigmoidal.apply, x=x, spec=f"where(x < 0, {half}, 1 - {half})")
