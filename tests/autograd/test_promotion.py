"""Promotion of dtypes, ranks and numbers gives torch's dtypes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, Op, Tensor, dtypes, ops
from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.autograd.modes import default_dtype, using_default_dtype
from gradcheck.autograd.promotion import (
    Conversion,
    conversion,
    in_single,
    kinds_of,
    require_one_dtype,
    result_dtype,
    rounded_to,
)
from gradcheck.engines.base import Application
from gradcheck.errors import ArgumentError, DtypeMismatch, TensorError, Unsupported
from tests.autograd import table

DTYPES = ("bool", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
NUMBERS: tuple[Any, ...] = (True, 2, 2.5, 1 + 2j)
#: `where` needs a mask, the others operands that torch does not promote.
ELSEWHERE = {"where", "lerp", "complex", "threshold", "clamp"}
ELEMENTWISE = sorted(name for name, op in TABLE.items() if op.elementwise and op.torch and name not in ELSEWHERE)


def applications(op: Op) -> Iterator[Application]:
    stream = table.generator(op)

    def tensor(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        return np.asarray(stream.integers(2, 5, shape)).astype(dtypes.BY_NAME[dtype])

    if len(op.rules) == 1:
        for dtype in DTYPES:
            yield Application(op, (tensor(dtype, (3,)),), {}, f"{op.name} of {dtype}")
        return
    for a, b in itertools.product(DTYPES, DTYPES):
        for shape in ((3,), ()):
            yield Application(op, (tensor(a, (3,)), tensor(b, shape)), {}, f"{op.name} of {a} and {b} {shape}")
    for a, number in itertools.product(DTYPES, NUMBERS):
        yield Application(op, (tensor(a, (3,)), number), {}, f"{op.name} of {a} and {number}")
        yield Application(op, (number, tensor(a, (3,))), {}, f"{op.name} of {number} and {a}")


def torchs_slip(call: Application) -> bool:
    """Return whether torch's result makes no sense.

    It negates booleans in the gradient of atan2, and `tensor([True]) ** True`.
    """
    kinds = [getattr(arg, "dtype", np.dtype(type(arg))).kind for arg in call.args]
    return (call.op.name == "atan2" and "b" in kinds) or (call.op.name == "pow" and kinds == ["b", "b"])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_dtypes_are_torchs(name: str) -> None:
    problems = []
    for call in applications(TABLE[name]):
        try:
            want = table.answer(table.REFERENCE, call)
        except (TensorError, Unsupported, RuntimeError):
            continue  # torch does not take it
        if not torchs_slip(call):
            got = table.answer(table.CORE, call)
            tolerance = max(table.tolerance(call, want), table.TOLERANCE["float32"])
            problems += [f"{call.owner}: {problem}" for problem in table.differences(got, want, tolerance)]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ("float32", "float64", "float64"),
        ("float16", "bfloat16", "float32"),
        ("float32", "int64", "float32"),
        ("bfloat16", "float32", "float32"),
        ("float64", "complex64", "complex128"),
        ("uint8", "int8", "int16"),
        ("bool", "float16", "float16"),
    ],
)
def test_mixed_dtypes_are_promoted_as_torch_does(left: str, right: str, result: str) -> None:
    torch = pytest.importorskip("torch")
    ones = {name: torch.ones(2, dtype=getattr(torch, name)) for name in (left, right)}
    assert str((ones[left] * ones[right]).dtype) == f"torch.{result}"
    assert (Tensor(np.ones(2), dtype=left) * Tensor(np.ones(2), dtype=right)).dtype.name == result


def test_a_0d_tensor_or_a_number_never_widens_one_with_dimensions() -> None:
    x = Tensor(np.ones(2, np.float32))
    assert (x * Tensor(np.array(2.0))).dtype == np.float32
    assert (x * 2.5).dtype == np.float32
    assert (Tensor([1, 2]) * 2).dtype == np.int64
    assert (Tensor([1, 2]) * 0.5).dtype == np.float64


def test_numbers_without_tensors_take_the_default_dtype() -> None:
    with using_default_dtype(np.dtype(np.float32)):
        assert result_dtype([1, 2.5]) == np.float32
        assert result_dtype([True, 1j]) == np.complex64
    assert result_dtype([True, 2, "ignored"]) == np.int64


def form(op: Op, *args: Any) -> Conversion:
    bound = op.bind(args, {})
    return conversion(op, *kinds_of(bound, op.sequence), default_dtype())


X = np.ones(3)
HALF, SINGLE, DOUBLE = (np.dtype(name) for name in ("float16", "float32", "float64"))


@pytest.mark.parametrize(
    ("op", "args", "converted"),
    [
        (ops.mul, (X, X), (DOUBLE, (), None)),
        (ops.mul, (X, X[0].reshape(())), (DOUBLE, (), None)),
        (ops.mul, (X, 2), (DOUBLE, (1,), None)),
        (ops.mul, (X, X.astype(SINGLE)), (DOUBLE, (1,), None)),
        (ops.mul, (X.astype(np.int64), 1.5), (DOUBLE, (0, 1), None)),
        (ops.mul, (X.astype(HALF), 2), (HALF, (1,), HALF)),
        (ops.mul, (X.astype(HALF), X.astype(SINGLE)), (SINGLE, (0,), None)),
        (ops.sin, (X.astype(np.int64),), (DOUBLE, (0,), None)),
        (ops.where, (X > 0, 1.5, X.astype(SINGLE)), (SINGLE, (1,), None)),
        (ops.cat, ([X, X.astype(SINGLE)],), (None, (), None)),
        (ops.cat, ([X.astype(HALF), X.astype(HALF)],), (None, (), HALF)),
        (ops.matmul, (X, X), (None, (), None)),
    ],
)
def test_what_arguments_become(op: Op, args: Any, converted: Any) -> None:
    assert form(op, *args) == converted


def test_only_the_places_that_need_it_are_converted() -> None:
    array = np.ones(2)
    found = form(ops.mul, array, 0.5).apply((array, 0.5, "setting"))
    assert found[0] is array
    assert (found[1].dtype, found[2]) == (DOUBLE, "setting")


def test_a_default_dtype_is_no_other() -> None:
    integers = np.ones(2, np.int64)
    with using_default_dtype(SINGLE):
        assert form(ops.sin, integers).dtype == SINGLE
    assert form(ops.sin, integers).dtype == DOUBLE


def test_what_an_op_does_not_take_is_refused_each_time() -> None:
    for _ in range(2):
        with pytest.raises(DtypeMismatch, match="sub does not take booleans"):
            form(ops.sub, X, True)
        with pytest.raises(DtypeMismatch, match="relu does not take complex128"):
            form(ops.relu, X.astype(complex))
        with pytest.raises(DtypeMismatch, match=r"matmul: .* float32 and float64"):
            form(ops.matmul, X, X.astype(SINGLE))
    with pytest.raises(ArgumentError, match="mul takes tensors and numbers, not 'text'"):
        ops.mul("text", "text")


def test_one_dtype_for_all() -> None:
    require_one_dtype("op", np.ones(1), np.zeros(2))
    with pytest.raises(DtypeMismatch, match=r"op: .* float32 and float64"):
        require_one_dtype("op", np.ones(1), np.ones(1, np.float32))


@pytest.mark.parametrize("half", [np.dtype(np.float16), BFLOAT16])
def test_half_precision_is_raised_and_rounded_back(half: np.dtype) -> None:
    array = np.ones(2).astype(half)
    assert in_single([array, 3])[0].dtype == np.float32
    assert in_single((array,))[0] is array
    first, second = rounded_to(half, (np.ones(2, np.float32), np.ones(2, np.int64)))
    assert (first.dtype, second.dtype) == (half, np.int64)
