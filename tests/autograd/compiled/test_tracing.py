"""Traced values stand for a shape and dtype, and have no values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import Tensor, ops
from gradcheck.autograd.compiled.tracing import (
    TensorTrace,
    TracedTensor,
    Untraceable,
    constant,
    depends_on_values,
    flat,
    plain_value,
)

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


def traced() -> tuple[TensorTrace, TracedTensor]:
    trace = TensorTrace(Tensor, lambda *_: None)
    return trace, TracedTensor(np.ones((2, 3)), "a0", trace)


@pytest.mark.parametrize("look", [bool, int, float, complex, len, list, np.asarray])
def test_looking_at_a_value_is_an_error(look: Callable[[Any], Any]) -> None:
    with pytest.raises(Untraceable):
        look(traced()[1])


def test_ops_on_tensors_are_recorded() -> None:
    trace, x = traced()
    made = x * 2.5 + x
    assert isinstance(made, TracedTensor)
    assert (made.shape, made.dtype) == ((2, 3), DOUBLE)
    lines = trace.code([made])
    assert len(lines) == 2
    assert "a0" in lines[0]
    assert trace.code([]) == []


@pytest.mark.parametrize("call", [lambda x: x[x > 0], lambda x: ops.randn_like(x)])
def test_results_that_depend_on_more_than_shapes_are_not_recorded(call: Callable[[Any], Any]) -> None:
    with pytest.raises(Untraceable):
        call(traced()[1])


def test_a_mask_decides_on_the_shape_of_what_it_selects() -> None:
    x = np.ones(2)
    assert depends_on_values(ops.getitem, [x, x > 0])
    assert not depends_on_values(ops.getitem, [x, slice(1)])
    assert not depends_on_values(ops.where, [x > 0, x, x])


def test_names_are_of_values_and_keep_them() -> None:
    trace, x = traced()
    array = np.ones(2)
    assert (trace.name_of(3), trace.name_of(None)) == ("3", "None")
    name = trace.name_of(array)
    assert trace.name_of(array) == name
    array[:] = 7
    assert trace.names[name].tolist() == [1, 1]
    assert trace.write([x, (2, x)]) == "[a0, (2, a0, ), ]"
    assert flat([1, [x, (2,)]]) == [1, x, 2]
    assert plain_value([x, 2])[0] is x.data


# Constants -------------------------------------------------------------------------------------------


def test_zeros_keep_their_signs() -> None:
    assert [np.signbit(constant(zero, DOUBLE)).item() for zero in (0, 0.0, -0.0, 0.0)] == [False, False, True, False]


def test_equal_numbers_share_an_array_that_nobody_can_write_to() -> None:
    assert constant(2.5, SINGLE) is constant(2.5, SINGLE)
    assert not constant(2.5, SINGLE).flags.writeable
