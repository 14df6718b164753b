"""Operators and methods, by the names of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, Op, Tensor
from gradcheck.autograd.operators import PROPERTIES, Operators


class Named(Operators):
    """Something that notes which op it was asked for."""

    __slots__ = ()

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        return op.name, tuple(arg for arg in args[:2] if not isinstance(arg, Named))


@pytest.mark.parametrize(
    ("result", "op"),
    [
        (Named() + 2, "add"),
        (Named() - 2, "sub"),
        (2 - Named(), "sub"),
        (2 / Named(), "div"),
        (Named() // 2, "floor_divide"),
        (2 % Named(), "remainder"),
        (2 ** Named(), "pow"),
        (2 @ Named(), "matmul"),
        (Named() & 2, "bitwise_and"),
        (2 | Named(), "bitwise_or"),
        (Named() ^ 2, "bitwise_xor"),
        (Named() < 2, "lt"),
        (Named() > 2, "gt"),
        (Named() != 2, "ne"),
        (Named()[2], "getitem"),
    ],
)
def test_operators_are_ops(result: Any, op: str) -> None:
    assert result == (op, (2,))


def test_operators_of_one_operand_are_ops() -> None:
    assert [(-Named())[0], (~Named())[0], abs(Named())[0]] == ["neg", "bitwise_not", "abs"]


def test_operators_work_from_both_sides_and_with_arrays() -> None:
    x = Tensor([2.0, 4.0], requires_grad=True)
    for result, expected in [
        (1 + x, [3, 5]),
        (1 - x, [-1, -3]),
        (8 / x, [4, 2]),
        (-x, [-2, -4]),
        (np.array([1.0, 2.0]) * x, [2, 8]),
        (x**2, [4, 16]),
        (abs(-x), [2, 4]),
    ]:
        assert isinstance(result, Tensor)
        assert result.tolist() == expected


def test_methods_are_the_ops_of_the_table() -> None:
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert x.T.tolist() == [[1, 3], [2, 4]]
    assert x.sum(dim=0).tolist() == [4, 6]
    assert x.sum(axis=1, keepdims=True).tolist() == [[3], [7]]
    assert x[0, 1].item() == 2
    assert "softmax" in dir(x)
    assert x.trace.__name__ == "trace"
    assert x.trace.__doc__.startswith("trace(input)")
    with pytest.raises(AttributeError, match="frobnicate"):
        x.frobnicate()
    with pytest.raises(AttributeError, match="Tensor has no attribute 'cat'"):
        x.cat()


def test_properties_are_ops_of_one_argument() -> None:
    assert all(TABLE[name].method and len(TABLE[name].parameters) == 1 for name in PROPERTIES)
