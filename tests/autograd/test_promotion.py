"""Operands of different dtypes and ranks, and Python numbers: the dtypes of results and gradients are torch's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE, Op, dtypes
from gradcheck.engines.base import Application
from gradcheck.errors import TensorError
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
    """Where torch has no sense: it negates booleans in the gradient of atan2, and `tensor([True]) ** True` is one."""
    kinds = [getattr(arg, "dtype", np.dtype(type(arg))).kind for arg in call.args]
    return (call.op.name == "atan2" and "b" in kinds) or (call.op.name == "pow" and kinds == ["b", "b"])


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_dtypes_are_torchs(name: str) -> None:
    problems = []
    for call in applications(TABLE[name]):
        try:
            want = table.answer(table.REFERENCE, call)
        except (TensorError, RuntimeError, TypeError):
            continue  # torch does not take it
        if not torchs_slip(call):
            got = table.answer(table.CORE, call)
            tolerance = max(table.tolerance(call, want), table.TOLERANCE["float32"])
            problems += [f"{call.owner}: {problem}" for problem in table.differences(got, want, tolerance)]
    assert not problems, "\n".join(problems)
