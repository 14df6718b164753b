"""Small graphs, each asked in one way: what comes of them says whether the way is understood."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gradcheck.engines.resolve import adapt
from gradcheck.engines.tensor_class.api_discovery import api_of
from gradcheck.engines.tensor_class.capabilities import UNKNOWN
from gradcheck.engines.tensor_class.hypotheses import (
    GRADIENT_PROBES,
    factor_of,
    has_right_complex_gradients,
    hypotheses,
    is_right,
    run_probe,
)

Variant = Callable[..., type]
ADD, MUL = GRADIENT_PROBES[0], GRADIENT_PROBES[2]
TENSORS = replace(UNKNOWN, seed="tensor")


def test_the_likeliest_way_comes_first(variant: Variant, number: type) -> None:
    ways = [one.seed for one in hypotheses(api_of(variant(), "Tensor"), UNKNOWN)]
    assert ways == ["array", "tensor", "assigned array", "assigned tensor", "none", "none", "none"]
    assert next(hypotheses(api_of(number, "Number"), UNKNOWN)).seed == "none"


def test_parameters_that_are_no_gradients_are_not_tried(variant: Variant) -> None:
    kind = variant(("def backward(self, gradient=None):", "def backward(self, retain_grad=False, grad=None):"))
    ways = [(one.seed, one.keyword) for one in hypotheses(api_of(kind, "Tensor"), UNKNOWN)]
    assert ("array", "grad") in ways


@pytest.mark.parametrize("lesson", GRADIENT_PROBES, ids=lambda lesson: lesson.op)
def test_a_sound_class_is_right_in_every_lesson_that_it_has(variant: Variant, lesson: object) -> None:
    taught = run_probe(adapt(variant(), "mine"), UNKNOWN, lesson)  # type: ignore[arg-type]
    assert taught is None or factor_of(taught) == 1


def test_a_way_that_is_not_taken_is_not_right(variant: Variant) -> None:
    engine = adapt(variant(("else np.asarray(gradient)", "else gradient.data")), "mine")
    assert is_right(engine, TENSORS, MUL)
    assert not is_right(adapt(variant(), "mine"), TENSORS, MUL)


def test_a_factor_is_one_number_or_none(variant: Variant) -> None:
    keep = "tensor.grad = whole if tensor.grad is None else tensor.grad + whole"
    doubled, bent = (adapt(variant((keep, f"tensor.grad = {new}")), "mine") for new in ("2 * whole", "whole ** 2"))
    taught = run_probe(doubled, UNKNOWN, ADD)
    assert taught is not None
    assert factor_of(taught) == 2
    taught = run_probe(bent, UNKNOWN, ADD)
    assert taught is not None
    assert factor_of(taught) == float("inf")


def test_complex_numbers_are_understood_where_factors_are_conjugated(variant: Variant) -> None:
    assert has_right_complex_gradients(adapt(variant(), "mine"))
    unconjugated = variant(("np.conj(other.data)", "other.data"), ("np.conj(self.data)", "self.data"))
    assert not has_right_complex_gradients(adapt(unconjugated, "mine"))
