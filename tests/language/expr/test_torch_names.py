"""Words that are not a case's own mean what they mean in torch, and near misses are found."""

import math

import pytest

from gradcheck.language.expr.nodes import Dtype, Literal
from gradcheck.language.expr.torch_names import NAMESPACES, constant, find_op, is_usable, namespace_constant


@pytest.mark.parametrize("name", ["x", "y", "on", "no", "θ", "sum", "grad", "_", "match", "float64"])
def test_identifiers_are_usable(name):
    assert is_usable(name)


@pytest.mark.parametrize("name", ["", "1e3", "a b", "a-b", "a.b", "lambda", "None", "in", "ﬁ", "x[0]", "x\0"])
def test_names_that_no_expression_can_use(name):
    assert not is_usable(name)


def test_constants():
    assert constant("pi") == Literal(math.pi)
    assert constant("inf") == Literal(math.inf)
    assert constant("float64") == Dtype("float64")
    assert constant("double") == Dtype("float64")
    assert constant("bool") == Dtype("bool")
    assert constant("x") is None


def test_a_bare_float_is_python_s_and_torch_float_is_torch_s():
    assert constant("float") == Dtype("float64")
    assert namespace_constant("torch", "float") == Dtype("float32")
    assert namespace_constant("math", "float") is None


@pytest.mark.parametrize(
    "namespace",
    sorted(set(NAMESPACES) - {f"{at}{name}" for at in ("", "torch.") for name in ("linalg", "fft", "masked")}),
)
def test_elementwise_ops_are_found_in_every_namespace_but_linalg(namespace):
    assert find_op(namespace, "exp") is find_op("", "exp")


def test_linalg_has_its_own_norm_and_math_only_elementwise_ops():
    assert find_op("linalg", "norm") is not find_op("", "norm")
    assert find_op("linalg", "exp") is None
    assert find_op("math", "sum") is None
