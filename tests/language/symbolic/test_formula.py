"""Formulas and sizes: values that remember how they are written."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import ops
from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.language.expr.nodes import Name
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.formula import Formula, SymbolicInteger, to_expr


@pytest.fixture
def x() -> Formula:
    return Formula(np.arange(6.0).reshape(2, 3), Name("x"))


def text(value: Any) -> str:
    return to_text(to_expr(value))


def test_operators_and_methods_are_written_and_computed(x: Formula) -> None:
    y = (2 - x.T @ x) / x.sum(0, keepdim=True).T + abs(x[0])
    assert text(y) == "(2 - x.T @ x) / sum(x, 0, True).T + abs(x[0])"
    plain = x.data
    want = (2 - plain.T @ plain) / plain.sum(0, keepdims=True).T + abs(plain[0])
    np.testing.assert_array_equal(y.data, want)


def test_defaults_are_left_out(x: Formula) -> None:
    assert text(x.sum(keepdim=True)) == "sum(x, None, True)"
    assert text(ops.clamp(x, max=1)) == "clamp(x, max=1)"
    assert text(ops.add(x, 1)) == "x + 1"
    assert text(ops.add(x, 1, alpha=2)) == "add(x, 1, alpha=2)"


def test_sizes_say_whose_they_are(x: Formula) -> None:
    n, m = x.shape
    assert (n, m) == (2, 3)
    assert text(n) == "x.shape[0]"
    assert text(prod(x.shape)) == "x.shape[0] * x.shape[1]"
    assert text((n + 1) // 2 - -m) == "(x.shape[0] + 1) // 2 - -x.shape[1]"
    assert text(1 / (n * m - 1)) == "1 / (x.shape[0] * x.shape[1] - 1)"
    assert text(m**-0.5) == "x.shape[1] ** -0.5"
    assert text(3 % m) == "3 % x.shape[1]"
    assert (n + 1) * m == 9
    assert n < m
    assert m == 3


def test_a_whole_shape_is_written_as_one(x: Formula) -> None:
    assert text(x.shape) == text(tuple(x.shape)) == text(list(x.shape)) == "x.shape"
    assert text(x.shape[1:]) == "(x.shape[1],)"
    assert text((*x.shape, 1)) == "(x.shape[0], x.shape[1], 1)"


def test_what_is_made_of_sizes_is_a_formula(x: Formula) -> None:
    assert text(ops.arange(x.shape[0])) == "arange(x.shape[0])"
    assert text(ops.eye(x.shape[1])) == "eye(x.shape[1])"
    assert text(x * (1 / x.shape[0])) == "x * (1 / x.shape[0])"
    assert text(x.reshape(x.shape[1], -1)) == "reshape(x, (x.shape[1], -1))"


def test_an_elementwise_result_has_its_operands_shape(x: Formula) -> None:
    assert text(ops.tanh(x * 2 + 1).shape[0]) == "x.shape[0]"
    assert text((x @ x.T).shape[0]) == "(x @ x.T).shape[0]"


def test_indices_of_every_form_are_written(x: Formula) -> None:
    assert text(x[0]) == "x[0]"
    assert text(x[:, 1:]) == "x[:, 1:]"
    assert text(x[..., None, ::2]) == "x[..., None, ::2]"
    assert text(x[: x.shape[0] - 1]) == "x[:x.shape[0] - 1]"
    assert text(x[x > 2]) == "x[x > 2]"


def test_arrays_are_written_out_if_they_are_small(x: Formula) -> None:
    assert text(x + np.array([0.5, 1, 2])) == "x + tensor([0.5, 1.0, 2.0], dtype=torch.float64)"
    assert text(np.zeros((0, 3), np.int64)) == "zeros((0, 3), dtype=torch.int64)"
    with pytest.raises(Unsupported, match="no name"):
        to_expr(np.zeros(1_000))
    with pytest.raises(Unsupported, match="object"):
        to_expr(object())


def test_errors_are_those_of_the_op(x: Formula) -> None:
    with pytest.raises(ShapeMismatch):
        x @ x


def test_a_size_is_an_integer() -> None:
    size = Formula(np.zeros(4), Name("v")).shape[0]
    assert isinstance(size, SymbolicInteger)
    assert list(range(size)) == [0, 1, 2, 3]
    assert np.zeros(size).shape == (4,)
    assert [5, 6, 7, 8, 9][size] == 9
