"""Arithmetic on what is no tensor: plain numbers within bounds, shapes, slices."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import TABLE
from gradcheck.errors import (
    DomainError,
    DtypeMismatch,
    IndexOutOfRange,
    TooLarge,
)
from gradcheck.language.evaluation import scalar_arithmetic
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from tests.language.evaluation.names import value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n", 3),
        ("n // 2", 1),
        ("n / 2", 1.5),
        ("n % 2 == 1", True),
        ("-n ** 2", -9),
        ("2 ** -1", 0.5),
        ("~5", -6),
        ("~True", False),
        ("(n > 1) & (n < 3)", False),
        ("n * x.shape[1] - 1", 8),
        ("x.shape", (2, 3)),
        ("x.shape[-1]", 3),
        ("x.shape[:1] + (1,)", (2, 1)),
        ("x.shape == (2, 3)", True),
        ("x.shape == [2, 3]", True),
        ("x.shape != y.shape", True),
        ("len(x.shape)", 2),
        ("len(x)", 2),
        ("x.ndim + x.dim()", 4),
        ("x.numel()", 6),
        ("max(n, 5)", 5),
        ("min(n, 5)", 3),
        ("sqrt(4)", 2.0),
        ("abs(-n)", 3),
        ("maximum(n, 7)", 7),
        ("exp(0)", 1.0),
        ("clamp(n, 0, 2)", 2),
        ("pi", np.pi),
        ("inf", np.inf),
        ("1 + 2j", 1 + 2j),
        ("x.dtype == torch.float64", True),
        ("x.dtype == torch.float32", False),
        ("[1, n]", [1, 3]),
        ("(1, n, 'sum', None, True)", (1, 3, "sum", None, True)),
        ("2 ** 63 // 2", 2**62),
    ],
)
def test_what_is_no_tensor_stays_plain(text, expected):
    got = value(text)
    assert got == expected
    assert type(got) is type(expected)


def test_plain_numbers_are_computed_in_double_precision_whatever_the_case_s_dtype():
    with using_default_dtype(np.dtype(np.float32)):
        assert value("sqrt(2)") == 2**0.5
        assert value("ones(2)").dtype == np.float32
        assert value("tensor([1.5])").dtype == np.float32


def test_operators_and_their_errors() -> None:
    assert (scalar_arithmetic.binary("floor_divide", 7, 2), scalar_arithmetic.binary("lt", 1, 2)) == (3, True)
    with pytest.raises(DomainError, match=r"a division by zero: div\(1, 0\)"):
        scalar_arithmetic.binary("div", 1, 0)
    with pytest.raises(TooLarge, match="2 \\*\\* 64 does not fit in 64 bits"):
        scalar_arithmetic.binary("pow", 2, 64)
    with pytest.raises(TooLarge, match="mul of these integers does not fit in 64 bits"):
        scalar_arithmetic.binary("mul", 2**62, 8)
    with pytest.raises(DtypeMismatch, match="lt is not defined between a complex number and an integer"):
        scalar_arithmetic.binary("lt", 1j, 2)
    assert (
        scalar_arithmetic.unary("neg", 2),
        scalar_arithmetic.unary("bitwise_not", True),
        scalar_arithmetic.unary("bitwise_not", 2),
    ) == (
        -2,
        False,
        -3,
    )
    with pytest.raises(DtypeMismatch, match="takes integers and booleans"):
        scalar_arithmetic.unary("bitwise_not", 1.5)


def test_shapes_are_added_and_compared() -> None:
    assert scalar_arithmetic.sequence_operator("add", (1, 2), [3]) == (1, 2, 3)
    assert scalar_arithmetic.sequence_operator("eq", [1, 2], (1, 2)) is True
    with pytest.raises(DtypeMismatch, match="a list becomes a tensor"):
        scalar_arithmetic.sequence_operator("mul", [1], 2)
    with pytest.raises(DtypeMismatch):
        scalar_arithmetic.sequence_operator("add", (1,) * 60, (1,) * 60)  # no shape is so long


def test_elementwise_ops_on_numbers() -> None:
    assert scalar_arithmetic.elementwise(TABLE["sqrt"], (4,), {}) == 2.0
    assert type(scalar_arithmetic.elementwise(TABLE["maximum"], (1, 2), {})) is int
    assert (scalar_arithmetic.min_or_max("max", (1, 3)), scalar_arithmetic.min_or_max("min", (1, 3))) == (3, 1)


def test_indices_and_bounds() -> None:
    assert (scalar_arithmetic.index((4, 5, 6), 1), scalar_arithmetic.index([4, 5, 6], slice(1, None))) == (5, [5, 6])
    with pytest.raises(IndexOutOfRange, match="index 3 into 3 values"):
        scalar_arithmetic.index((4, 5, 6), 3)
    with pytest.raises(DtypeMismatch, match="not a boolean"):
        scalar_arithmetic.index((4, 5), True)
    assert (
        scalar_arithmetic.slice_bound(None),
        scalar_arithmetic.slice_bound(3),
        scalar_arithmetic.slice_bound(np.int64(3)),
        scalar_arithmetic.slice_bound(10**30),
    ) == (
        None,
        3,
        3,
        2**62,
    )
    with pytest.raises(DtypeMismatch, match="a slice takes integers, not a float"):
        scalar_arithmetic.slice_bound(1.5)


def test_values_in_words() -> None:
    assert [scalar_arithmetic.describe_kind(v) for v in (1, True, "a", None, np.zeros(1))] == [
        "an integer", "a boolean", "a text", "None", "a ndarray",
    ]  # fmt: skip
    assert scalar_arithmetic.tensor_hint(1, [2]) == "a list becomes a tensor by tensor([1, 2])"
    assert scalar_arithmetic.tensor_hint(1) == ""


@pytest.mark.parametrize("text", ["max(x, 1) ** 2", "2 * max(x, 1)"])
def test_several_results_in_place_of_a_tensor_are_named(text: str) -> None:
    with pytest.raises(DtypeMismatch, match="index it first"):
        evaluate(parse(text), {"x": np.eye(2)})
