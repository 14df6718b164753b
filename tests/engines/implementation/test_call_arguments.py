"""Arguments of Python calls are taken apart and put together again."""

from __future__ import annotations

import random
from collections import OrderedDict, namedtuple
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.engines.implementation.call_arguments import (
    Operand,
    generator_states,
    leaves_of,
    operands_in,
    put_together,
    restored_generators,
    take_apart,
)

Pair = namedtuple("Pair", "first second")


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


@pytest.mark.parametrize(
    "value",
    [
        [torch.ones(1), 2.0, None],
        (torch.ones(1), [torch.ones(2), "sum"]),
        Pair(torch.ones(1), 3),
        OrderedDict(a=torch.ones(1), b={"c": (torch.ones(1),)}),
    ],
)
def test_structures_come_back_with_other_tensors(value: Any) -> None:
    template, operands = take_apart("p", value, _is_tensor, set())
    assert list(operands) == operands_in(template)
    others = {name: tensor + 1 for name, tensor in operands.items()}
    made = put_together(template, others)
    assert type(made) is type(value)
    pairs = list(zip(leaves_of(value), leaves_of(made), strict=True))
    assert all(torch.equal(new, old + 1) if _is_tensor(old) else new is old for old, new in pairs)
    assert put_together(template, operands) is not value


def test_elements_are_named_after_the_argument() -> None:
    value = {"w": torch.ones(1), "a b": [torch.ones(1)]}
    template, operands = take_apart("p", value, _is_tensor, {"p_w"})
    assert list(operands) == ["p_w_", "p_1_0"]
    assert template == {"w": Operand("p_w_"), "a b": [Operand("p_1_0")]}


def test_an_argument_without_operands_is_handed_on_itself() -> None:
    value = [1, {"a": None}, torch.nn.Tanh()]
    template, operands = take_apart("p", value, _is_tensor, set())
    assert template is value
    assert not operands
    assert put_together(template, {}) is value


@pytest.mark.parametrize(
    ("generator", "draw"),
    [
        (torch.Generator(), lambda one: torch.rand(3, generator=one).tolist()),
        (np.random.default_rng(1), lambda one: one.standard_normal(3).tolist()),
        (np.random.RandomState(1), lambda one: one.standard_normal(3).tolist()),
        (random.Random(1), lambda one: one.random()),
    ],
)
def test_generators_start_each_call_in_the_same_state(generator: Any, draw: Any) -> None:
    def inner() -> Any:
        return draw(generator)

    given = {
        "argument": (draw, [{"rng": generator}]),
        "partial": (partial(draw, generator), []),
        "closure": (inner, []),
    }
    for function, objects in given.values():
        states = generator_states(function, objects)
        found = []
        for _ in range(2):
            with restored_generators(states):
                found.append(draw(generator))
        assert len(states) == 1
        assert found[0] == found[1]
