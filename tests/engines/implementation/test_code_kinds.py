"""What somebody's code is."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch

from gradcheck.engines.implementation.code_kinds import (
    code_of,
    differentiable_forward,
    first_gradients,
    random_incoming,
)
from gradcheck.errors import UsageError
from tests.engines.implementation import functions


def test_kinds() -> None:
    assert code_of(functions.affine, None, "f").kind == "torch"
    assert code_of(functions.Tanh.apply, None, "f").kind == "function"
    assert code_of(functions.Tanh, None, "f").kind == "function"
    assert code_of(functions.Layer, None, "f").kind == "module"
    assert code_of(functions.Layer(), None, "f").parameters == ("weight", "scale")
    assert code_of(functions.affine_forward, functions.affine_backward, "f").kind == "numpy"
    assert not code_of(functions.affine_forward, functions.affine_backward, "f").is_torch


def test_a_function_has_the_parameters_of_its_forward() -> None:
    assert list(inspect.signature(code_of(functions.Tanh.apply, None, "f").signature).parameters) == ["x"]
    assert list(inspect.signature(code_of(functions.Apart.apply, None, "f").signature).parameters) == ["a", "b"]


def test_where_it_begins() -> None:
    file, line = code_of(functions.Tanh.apply, None, "f").place
    assert file.endswith("functions.py")
    assert line > 1
    assert code_of(torch.tanh, None, "f").place == ("", 0)


def test_what_is_no_code() -> None:
    with pytest.raises(UsageError, match="int"):
        code_of(3, None, "three")
    with pytest.raises(UsageError, match="cannot be made without arguments"):
        code_of(torch.nn.Linear, None, "Linear")
    with pytest.raises(UsageError, match="are functions"):
        code_of(len, 3, "pair")


def test_the_numbers_that_code_is_written_with() -> None:
    assert 1e-5 in code_of(functions.noisy, None, "f").constants
    assert 2.0 in code_of(functions.square, functions.square_backward, "f").constants
    assert code_of(torch.tanh, None, "f").constants == ()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of autograd's oldest version, on import
def test_a_primitive_of_hips_has_the_place_of_its_function() -> None:
    from autograd.extend import primitive

    def cube(x: Any) -> Any:
        return x**3

    made = primitive(cube)
    assert code_of(made, None, "f").place == (__file__, cube.__code__.co_firstlineno)


def gradient(function: Any, *arguments: torch.Tensor) -> torch.Tensor:
    forward = differentiable_forward(code_of(function, None, "f"))
    assert forward is not None
    assert forward.call is not None
    with forward.around():
        (found,) = torch.autograd.grad(forward.call(*arguments).sum(), arguments[0])
    return found


def test_torch_differentiates_the_forward_of_a_function() -> None:
    x = torch.tensor([0.5], requires_grad=True)
    right = 1 - torch.tanh(x) ** 2
    assert torch.allclose(gradient(functions.WrongSign.apply, x), right)
    assert torch.allclose(gradient(functions.Apart.apply, x, x.detach()), x)


def test_also_inside_of_another_function() -> None:
    x = torch.tensor([0.5], requires_grad=True)
    found = gradient(lambda x: 3 * functions.WrongSign.apply(x), x)
    assert torch.allclose(found, 3 * (1 - torch.tanh(x) ** 2))
    assert torch.allclose(torch.autograd.grad(functions.WrongSign.apply(x), x)[0], torch.tanh(x) ** 2 - 1)  # restored


def test_other_libraries_have_none() -> None:
    assert differentiable_forward(code_of(functions.square, functions.square_backward, "f")) is None


def _function(x: Any, w: Any, a: float) -> Any:
    return {"y": a * x * w, "n": 3, "z": [x.sin(), None]}


def test_gradients_are_those_of_all_results() -> None:
    x, w = torch.rand(3, requires_grad=True), torch.rand(3)
    g, h = random_incoming(_function, (x, w, 2.0))
    gradients = first_gradients(_function, (x, w, 2.0), 2)
    with torch.no_grad():
        (dx,) = gradients(x.detach(), w, 2.0, g, h)
    assert torch.allclose(dx, 2 * w * g + x.cos() * h)
    assert dx.requires_grad


def test_gradients_that_do_not_arrive_are_left_out() -> None:
    x, unused = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    (g,) = random_incoming(lambda x, unused: 2 * x, (x, unused))
    (dx,) = first_gradients(lambda x, unused: 2 * x, (x, unused), 1)(x, unused, g)
    assert torch.equal(dx, 2 * g)
