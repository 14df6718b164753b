"""Points: what engines make of a problem is computed once, and records belong to their engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.points.point import is_informative, rejection_reason
from gradcheck.engines.base import Evaluation
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError
from gradcheck.facts import fact
from gradcheck.language.problem import Problem
from gradcheck.reports.located_messages import remark_messages
from gradcheck.testing import check_function
from tests.checks.build import GENERAL, point_of
from tests.from_text import case_of


def test_a_point_evaluates_once() -> None:
    point = point_of(GENERAL)
    assert point.want is point.want
    assert set(point.evaluations()) == {"torch", "core"}
    assert point.conditioning is point.conditioning
    assert [application.op.name for application in point.applications] == ["mul"]


def test_the_core_notes_which_ops_it_applies_while_it_runs() -> None:
    point = point_of(GENERAL)
    point.evaluation(point.engines.tested[0])
    assert point.applications[0].owner == "y"


def test_a_core_that_records_nothing_leaves_the_ops_to_the_right_one() -> None:
    class Silent(Core):
        name = "silent"

        def evaluate(self, problem: Problem, *args: Any, **kwargs: Any) -> Evaluation:
            return Core().evaluate(problem)

    point = point_of(GENERAL, engines=(Silent(),))
    point.evaluation(point.engines.tested[0])
    assert [application.op.name for application in point.applications] == ["mul"]


def test_a_point_with_other_claims_is_not_evaluated_again() -> None:
    point = point_of(GENERAL)
    other = point.with_claims(case_of(GENERAL.replace("2 * x", "3 * x")))
    assert other.want is point.want
    assert [claim.text for claim in other.problem.case.formulas["x"]] == ["3 * x * grad(y)"]
    assert other.trial == point.trial


def test_what_rounding_explains_is_measured_once_for_claims_of_the_same_steps() -> None:
    point = point_of(GENERAL)
    other = point.with_claims(case_of(GENERAL.replace("2 * x", "3 * x")))
    assert other.conditioning is point.conditioning
    assert other.scope(0) is point.scope(0)
    with_a_step = case_of(GENERAL.replace("formulas:", "let: {s: 2 * x}\n    formulas:"))
    assert with_a_step.let
    assert point.with_claims(with_a_step).conditioning is not point.conditioning
    assert "s" in point.with_claims(with_a_step).scope(0)


SQUARES = "{inputs: {x: 'randn(3)'}, graph: {y: (x * x).sum()}, formulas: {x: 2 * x}}"


def test_where_the_graph_is_not_defined_a_point_is_unusable() -> None:
    assert rejection_reason(point_of(SQUARES)) is None
    broken = rejection_reason(point_of("{inputs: {x: [1, 2]}, graph: {y: 'x.reshape(3, 1)', z: y.sum()}}"))
    assert broken is not None
    assert broken.kind == "said"
    asked = "{inputs: {x: [1, 2]}, graph: {y: x * x}, steps: [{backward: {y: [1, 1]}, raises: backward_twice}]}"
    assert rejection_reason(point_of(asked)) == fact("not_raised_here", error="backward_twice")


def test_gradients_that_are_all_zero_tell_nothing() -> None:
    assert is_informative(point_of(SQUARES))
    assert not is_informative(point_of(SQUARES.replace("x * x", "x.relu() * 0").replace("2 * x", "0 * x")))


class _Scaled(torch.autograd.Function):
    """Only for positive scales."""

    @staticmethod
    def forward(ctx: Any, w: Any, a: Any) -> Any:
        if not a > 0:
            raise ValueError("the scale must be positive")
        ctx.save_for_backward(w, a)
        return w * a

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        w, a = ctx.saved_tensors
        return g * a, (g * w).sum().reshape(a.shape)


class _MeanScaled(_Scaled):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        w, a = ctx.saved_tensors
        return g * a, (g * w).mean().reshape(a.shape)


class _Blocks(torch.autograd.Function):
    """Only for sizes that are multiples of 16; the backward raises for one row."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        if x.shape[-1] % 16:
            raise ValueError("a multiple of 16")
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        if len(x) == 1:
            raise ValueError("more than one row")
        return g * x.cos()


class _WrongBlocks(_Blocks):
    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.saved_tensors[0].sin()


SPECS = pytest.mark.parametrize("has_spec", [False, True])
SCALES = pytest.mark.parametrize("a", [np.array([0.5]), "uniform(0.2, 1, [1])"])


@SPECS
@SCALES
def test_code_with_a_precondition_passes(has_spec: bool, a: Any) -> None:
    check_function(_Scaled.apply, w=np.linspace(-1, 2, 6), a=a, spec="w * a" if has_spec else None)
    with pytest.raises(AssertionError, match="gradient of a"):
        check_function(_MeanScaled.apply, w=np.linspace(-1, 2, 6), a=a, spec="w * a" if has_spec else None)


@SPECS
def test_a_domain_that_a_creator_states_is_kept(has_spec: bool) -> None:
    seen: list[float] = []

    def scaled(w: Any, a: Any) -> Any:
        seen.append(float(a.detach().min()))
        return torch.where(a > 0.5, w * a, w * a)  # a constant that may be a threshold

    check_function(scaled, w=(3, 2), a="uniform(0.2, 1, [1])", spec="w * a" if has_spec else None)
    assert min(seen) > 0


@SPECS
def test_sizes_that_the_code_refuses_are_told(has_spec: bool) -> None:
    (found,) = check_function(_Blocks.apply, x=(4, 32), spec="sin(x)" if has_spec else None).cases
    (text,) = (remark.message for remark in remark_messages(found))
    assert "and is not checked there: _Blocks.apply raised ValueError: a multiple of 16" in text
    assert "n32 = " in text
    with pytest.raises(AssertionError, match="gradient of x"):
        check_function(_WrongBlocks.apply, x=(4, 32), spec="sin(x)" if has_spec else None)


@SPECS
def test_code_that_raises_for_what_is_given_fails(has_spec: bool) -> None:
    with pytest.raises((AssertionError, GradcheckError)) as raised:
        check_function(_Blocks.apply, x=(4, 31), spec="sin(x)" if has_spec else None)
    assert "a multiple of 16" in str(raised.value)


_SCALE = np.array([0.5, 2.0, -1.0])


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_a_size_that_the_code_keeps_is_not_drawn(factor: float) -> None:
    """An argument with one column is broadcast against three scales, which the code itself has."""
    pair = (lambda x: x * _SCALE, lambda g: factor * g * _SCALE)
    if factor != 1:
        with pytest.raises(AssertionError, match="off by the constant factor 2"):
            check_function(*pair, x=(5, 3))
        return
    (found,) = check_function(*pair, x=(5, 3)).cases
    (text,) = (remark.message for remark in remark_messages(found) if "not checked there" in remark.message)
    assert "not checked there: <lambda> raised ValueError" in text


def test_a_kept_size_is_told_where_nothing_raises() -> None:
    (found,) = check_function(
        lambda x: x * _SCALE, lambda g: g * _SCALE, x=(5, 3), choices={"sizes": {3: [1, 3]}}
    ).cases
    (text,) = (remark.message for remark in remark_messages(found) if "not checked there" in remark.message)
    assert "keeps the given size of x at" in text
