"""Traced values stand for a shape and dtype, and have no values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import Tensor, ops
from gradcheck.autograd.compiled.tracing import (
    Line,
    TensorTrace,
    TracedTensor,
    Untraceable,
    constant,
    depends_on_values,
    emit,
    flat,
    plain_value,
)

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
KIND = ((4,), "d")


def ufunc(name: str, ufunc: str, *operands: str, kind: tuple[tuple[int, ...], str] = KIND) -> Line:
    """Return a line that calls a ufunc."""
    sources = frozenset(operand for operand in operands if operand[0] in "gxyt")
    return Line(name, f"{ufunc}({', '.join(operands)})", sources, kind, is_fresh=True, has_out=True)


def other(name: str, code: str, *sources: str) -> Line:
    return Line(name, code, frozenset(sources), KIND)


def code(*lines: Line, kept: str, given: str = "") -> list[str]:
    return emit(lines, frozenset(kept.split()), given)


def test_an_array_that_is_not_read_again_is_written_over() -> None:
    lines = ufunc("t1", "multiply", "y", "y"), ufunc("t2", "subtract", "c", "t1"), ufunc("t3", "multiply", "x", "t2")
    assert code(*lines, kept="t3") == [
        "t1 = multiply(y, y)",
        "t2 = subtract(c, t1, out=t1)",
        "t3 = multiply(x, t2, out=t2)",
    ]


def test_an_array_that_is_read_again_is_not() -> None:
    lines = ufunc("t1", "exp", "x"), ufunc("t2", "negative", "t1"), ufunc("t3", "multiply", "t1", "t2")
    assert code(*lines, kept="t1 t3")[1:] == ["t2 = negative(t1)", "t3 = multiply(t1, t2, out=t2)"]
    assert code(*lines, kept="t3")[2] == "t3 = multiply(t1, t2, out=t1)"


def test_arguments_and_possible_views_never_are() -> None:
    lines = ufunc("t1", "exp", "x"), other("t2", "t1.T", "t1"), ufunc("t3", "negative", "t1")
    assert code(*lines, ufunc("t4", "multiply", "t2", "t3"), kept="t4")[2:] == [
        "t3 = negative(t1)",
        "t4 = multiply(t2, t3, out=t3)",
    ]


def test_shapes_and_dtypes_must_be_the_same() -> None:
    lines = ufunc("t1", "exp", "x"), ufunc("t2", "greater", "t1", "c", kind=((4,), "?"))
    assert code(*lines, ufunc("t3", "multiply", "t2", "y"), kept="t3")[1:] == [
        "t2 = greater(t1, c)",
        "t3 = multiply(t2, y)",
    ]


def test_a_call_without_out_writes_to_no_array() -> None:
    call = Line("t2", "take(t1, c)", frozenset(("t1",)), KIND, is_fresh=True)
    lines = ufunc("t1", "exp", "x"), call, ufunc("t3", "negative", "t2")
    assert code(*lines, kept="t3")[1:] == ["t2 = take(t1, c)", "t3 = negative(t2, out=t2)"]


def test_scalars_that_were_made_arrays_are_not_written_over() -> None:
    scalar = Line("t1", "asarray(exp(x))", frozenset("x"), KIND)
    assert code(scalar, ufunc("t2", "negative", "t1"), kept="t2")[1] == "t2 = negative(t1)"


def test_calls_that_nobody_reads_are_left_out() -> None:
    assert code(ufunc("t1", "exp", "x"), ufunc("t2", "negative", "x"), kept="t1") == ["t1 = exp(x)"]


def test_the_last_line_may_write_to_the_given_array() -> None:
    """The owner decides at run time; never while a view may be read."""
    lines = ufunc("t1", "exp", "x"), ufunc("t2", "multiply", "g", "x")
    assert code(lines[1], kept="t2", given="g") == ["t2 = multiply(g, x, out=overwritable(g, x))"]
    assert code(*lines[::-1], ufunc("t3", "add", "t1", "t2"), kept="t2 t3", given="g")[0] == "t2 = multiply(g, x)"
    view = other("t1", "g.T", "g")
    assert code(view, ufunc("t2", "multiply", "g", "t1"), kept="t2", given="g")[1] == "t2 = multiply(g, t1)"


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
