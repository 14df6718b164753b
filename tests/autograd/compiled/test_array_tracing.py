"""Recorded NumPy calls give the same bits as the traced forward."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import Tensor, no_grad, ops
from gradcheck.autograd.compiled.array_tracing import ArrayTrace, TracedArray
from gradcheck.autograd.compiled.fast_forwards import RECORDED, SPECIALIZED
from gradcheck.autograd.compiled.tracing import Untraceable
from tests.autograd.compiled.kit import often


def traced(*shape: int) -> tuple[ArrayTrace, TracedArray]:
    trace = ArrayTrace(RECORDED, SPECIALIZED)
    return trace, TracedArray(np.ones(shape), "x", trace)


def test_sums_of_few_are_added_up_in_the_same_order() -> None:
    """NumPy adds in sequence, from eight numbers on in pairs.

    Numbers of very different sizes show the order.
    """
    for length in range(1, 12):
        for shape, dim in (((3, length), 1), ((length, 3), 0), ((2, length, 2), 1), ((length,), 0)):
            stream = np.random.default_rng(length)
            numbers = stream.standard_normal(shape) * 10.0 ** stream.integers(-20, 20, shape)
            numbers[stream.random(shape) < 0.2] = -0.0
            for op, wanted in ((ops.sum, np.add.reduce(numbers, dim)), (ops.softmax, None), (ops.logsumexp, None)):
                x = Tensor(numbers, requires_grad=True)
                if wanted is None:
                    with no_grad():
                        wanted = op.general((x.detach(), dim), {}).data
                made = often(partial(op, x, dim))
                assert made.plan is not None
                assert made.data.tobytes() == np.asarray(wanted).tobytes(), (op, shape)


def test_a_small_operand_is_repeated_beforehand() -> None:
    """Of few elements; for many, NumPy broadcasts."""
    for shape, repeats in (((3, 1), True), ((4,), True), ((), False), ((3, 4), False)):
        trace, x = traced(*shape)
        made = np.add(x, TracedArray(np.ones((3, 4)), "y", trace))
        (line,) = trace.code([made])
        assert (("[" in line), made.shape) == (repeats, (3, 4))
    trace, x = traced(1)
    (line,) = trace.code([np.add(x, TracedArray(np.ones(9999), "y", trace))])
    assert "[" not in line


def test_a_call_is_recorded_once() -> None:
    trace, x = traced(2)
    made = np.exp(x) + np.exp(x)
    assert len(trace.code([made])) == 2


def test_multiplying_by_one_records_nothing() -> None:
    trace, x = traced(2)
    assert x * 1 is x
    assert x / 1.0 is x
    assert trace.code([x]) == []


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.linalg.inv(x),
        lambda x: np.modf(x),
        lambda x: x[x > 0],
        lambda x: np.add(x, 1, dtype=np.float32),
        lambda x: x * 1j,
        lambda x: np.add.outer(x, x),
    ],
)
def test_what_is_not_known_is_not_recorded(call: Any) -> None:
    with pytest.raises(Untraceable):
        call(traced(2, 2)[1])


def test_methods_that_are_not_known_are_no_attributes() -> None:
    with pytest.raises(AttributeError):
        _ = traced(2)[1].partition
