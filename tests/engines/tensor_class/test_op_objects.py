"""Ops that are classes, by their names and by how they are used."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.engines.tensor_class.call_forms import Library, MissingName
from gradcheck.engines.tensor_class.op_objects import classes_in, object_forms
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor


class TensorAdd: ...


class MulOp: ...


class Power: ...


class Softmax: ...


class PowerError(ValueError): ...


def library(*kinds: type) -> Library:
    return Library((SimpleNamespace(**{kind.__name__: kind for kind in kinds}),))


def wrapped() -> WrappedTensor:
    return WrappedTensor(None, object(), np.ones(2))  # type: ignore[arg-type]


def test_classes_go_by_an_ops_name_and_what_surrounds_it() -> None:
    found = classes_in(library(TensorAdd, MulOp, Power, PowerError))
    assert (found["add"], found["mul"], found["power"], found["tensoradd"]) == (
        *(["TensorAdd"], ["MulOp"], ["Power"], ["TensorAdd"]),
    )
    assert "powererror" not in found


def test_settings_make_it_and_tensors_are_given() -> None:
    classes = classes_in(library(Power, Softmax))
    power = list(object_forms(TABLE["pow"], TABLE["pow"].bind((wrapped(), 3.0), {}), classes))
    assert {(form.name, form.usage) for form in power} >= {("Power", "call"), ("Power", "apply"), ("Power", "list")}
    assert [([a.index for a in form.positional], [a.index for a in form.constructor_arguments]) for form in power][
        :1
    ] == [([0], [1])]
    softmax = next(object_forms(TABLE["softmax"], TABLE["softmax"].bind((wrapped(), 1), {}), classes))
    assert [a.index for a in softmax.constructor_arguments] == [1]
    assert not list(object_forms(TABLE["reshape"], TABLE["reshape"].bind((wrapped(), (2, 1)), {}), classes))


class Scaled:
    """Every way of use, each of which leaves a mark of its own."""

    def __init__(self, *settings: Any) -> None:
        self.settings = settings

    def __call__(self, *tensors: Any) -> Any:
        return ("call", tensors, self.settings)

    def forward(self, *tensors: Any) -> Any:
        return ("forward", tensors, self.settings)

    @classmethod
    def apply(cls, *given: Any) -> Any:
        return ("apply", given)


@pytest.mark.parametrize(
    ("manner", "made"),
    [
        ("apply", ("apply", ("x", 3.0))),
        ("call", ("call", ("x",), (3.0,))),
        ("list", ("call", (["x"],), (3.0,))),
        ("forward", ("forward", ("x",), (3.0,))),
    ],
)
def test_manners(manner: str, made: Any) -> None:
    forms = object_forms(TABLE["pow"], TABLE["pow"].bind((wrapped(), 3.0), {}), {"power": ["Scaled"]})
    form = next(form for form in forms if form.usage == manner)
    assert form.call(library(Scaled), ["x", 3.0], ()) == made
    assert form.label.startswith("Scaled")


def test_a_node_that_is_a_tensor_is_made_and_one_without_apply_has_none() -> None:
    forms = list(object_forms(TABLE["pow"], TABLE["pow"].bind((wrapped(), 3.0), {}), {"power": ["Scaled"]}))
    made = next(form for form in forms if form.usage == "make").call(library(Scaled), ["x", 3.0], ())
    assert made.settings == ("x", 3.0)
    with pytest.raises(MissingName):
        next(form for form in forms if form.usage == "apply").call(
            Library((SimpleNamespace(Scaled=Power),)), ["x", 3.0], ()
        )
