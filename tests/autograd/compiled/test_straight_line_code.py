"""Straight-line code: an array is written over only where nobody asks for it again."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.compiled.straight_line_code import Line, spreading, written

KIND = ((4,), "d")


def ufunc(name: str, ufunc: Any, *operands: str, kind: Any = KIND) -> Line:
    """A line that calls a ufunc under its own name."""
    sources = frozenset(operand for operand in operands if operand[0] in "xyt")
    call = (ufunc.__name__, *operands)
    return Line(name, f"{call[0]}({', '.join(operands)})", sources, kind, ufunc, call)


def other(name: str, code: str, *sources: str) -> Line:
    return Line(name, code, frozenset(sources), KIND)


def code(*lines: Line, kept: str) -> list[str]:
    return written(lines, frozenset(kept.split()))


def test_an_array_that_is_not_asked_for_again_is_written_over() -> None:
    lines = ufunc("t1", np.multiply, "y", "y"), ufunc("t2", np.subtract, "c", "t1"), ufunc("t3", np.multiply, "x", "t2")
    assert code(*lines, kept="t3") == [
        "t1 = multiply(y, y)",
        "t2 = subtract(c, t1, t1)",
        "t3 = multiply(x, t2, t2)",
    ]


def test_one_that_is_asked_for_is_not() -> None:
    lines = ufunc("t1", np.exp, "x"), ufunc("t2", np.negative, "t1"), ufunc("t3", np.multiply, "t1", "t2")
    assert code(*lines, kept="t1 t3")[1:] == ["t2 = negative(t1)", "t3 = multiply(t1, t2, t2)"]
    assert code(*lines, kept="t3")[2] == "t3 = multiply(t1, t2, t1)"


def test_arguments_and_what_may_be_a_view_of_others_never_are() -> None:
    lines = ufunc("t1", np.exp, "x"), other("t2", "t1.T", "t1"), ufunc("t3", np.negative, "t1")
    assert code(*lines, ufunc("t4", np.multiply, "t2", "t3"), kept="t4")[2:] == [
        "t3 = negative(t1)",
        "t4 = multiply(t2, t3, t3)",
    ]


def test_shapes_and_dtypes_must_be_the_same() -> None:
    lines = ufunc("t1", np.exp, "x"), ufunc("t2", np.greater, "t1", "c", kind=((4,), "?"))
    assert code(*lines, ufunc("t3", np.multiply, "t2", "y"), kept="t3")[1:] == [
        "t2 = greater(t1, c)",
        "t3 = multiply(t2, y)",
    ]


def test_what_takes_out_by_name_gets_it_so() -> None:
    assert (
        code(ufunc("t1", np.exp, "x"), ufunc("t2", np.maximum, "t1", "y"), kept="t2")[1]
        == "t2 = maximum(t1, y, out=t1)"
    )


def test_scalars_that_were_made_arrays_are_not_written_over() -> None:
    scalar = Line("t1", "asarray(exp(x))", frozenset("x"), KIND, np.exp, ())
    assert code(scalar, ufunc("t2", np.negative, "t1"), kept="t2")[1] == "t2 = negative(t1)"


def test_what_nobody_asks_for_is_left_out() -> None:
    assert code(ufunc("t1", np.exp, "x"), ufunc("t2", np.negative, "x"), kept="t1") == ["t1 = exp(x)"]


def test_what_is_repeated_is_told_of_small_arrays() -> None:
    places = spreading((3, 1), (3, 4))
    assert places is not None
    column = np.arange(3.0)[:, None]
    np.testing.assert_array_equal(column.take(places), np.broadcast_to(column, (3, 4)))
    assert [spreading(*shapes) for shapes in (((2,), (2,)), ((), (2,)), ((1,), (0,)), ((1,), (9999,)))] == [None] * 4
