"""Who applies the ops, and how: tensors go to the host, plain values stay plain, confusion is an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.engines.torch import TorchHost
from gradcheck.errors import (
    ArgumentError,
    ShapeMismatch,
    TooLarge,
)
from gradcheck.language.evaluation.evaluate import evaluate, program
from gradcheck.language.evaluation.host import NUMPY, OpCall, apply, apply_operator, check
from gradcheck.language.evaluation.result_size import shape_of
from gradcheck.language.expr.parser import parse
from tests.language.evaluation.names import NAMES, X


def test_the_host_is_given_calls_as_they_were_written():
    calls = []

    class Host:
        def call(self, op, args, kwargs):
            calls.append((op.name, args, kwargs))
            return NUMPY.call(op, args, kwargs)

        def dtype(self, name):
            return np.dtype(name)

    evaluate(parse("x.sum(1, keepdims=True)"), NAMES, Host())
    evaluate(parse("n * 2 + len(x.shape) + sqrt(2)"), NAMES, Host())
    evaluate(parse("ones(n, dtype=torch.float32)"), NAMES, Host())
    assert calls == [("sum", (X, 1), {"keepdim": True}), ("ones", (3,), {"dtype": np.dtype("float32")})]


def test_numpy_applies_ops_as_they_are() -> None:
    np.testing.assert_array_equal(NUMPY.call(TABLE["sum"], (X, 1), {"keepdim": True}), X.sum(1, keepdims=True))
    assert NUMPY.dtype("float32") == np.float32


def test_shapes_are_those_of_tensors_alone() -> None:
    assert [shape_of(v) for v in (X, np.float64(1), 2.0, [1], np.dtype("float32"))] == [(2, 3), (), None, None, None]


def application(text: str) -> OpCall:
    found = program(parse(text))[-1][1]
    assert isinstance(found, OpCall)
    return found


def test_tensors_go_to_the_host_and_numbers_stay_plain() -> None:
    calls: list[str] = []

    class Host:
        def call(self, op: Any, args: Any, kwargs: Any) -> Any:
            calls.append(op.name)
            return NUMPY.call(op, args, kwargs)

        def dtype(self, name: str) -> Any:
            return NUMPY.dtype(name)

    x = np.ones(2)
    np.testing.assert_array_equal(apply_operator(application("a + b"), x, 1, Host(), 10), x + 1)
    assert apply_operator(application("a * b"), 2, 3, Host(), 10) == 6
    np.testing.assert_array_equal(apply(application("sum(a, dim=b)"), [x, 0], Host(), 10), 2.0)
    assert apply(application("max(a, b)"), [2, 3], Host(), 10) == 3
    assert apply(application("a[b]"), [(4, 5), 1], Host(), 10) == 5
    assert calls == ["add", "sum"]


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("sum(a)", [2], "sum takes a tensor, not an integer"),
        ("add(a, b, alpha=c)", [np.ones(2), "x", 1], "add takes tensors and numbers, not a text"),
        ("addcmul(a, b, c)", [np.ones(2), [1.0], 99], "addcmul takes a tensor as its second argument, not a list"),
        ("linear(a, b)", [np.ones((2, 2)), 2], "linear takes a tensor as its second argument, not an integer"),
    ],
)
def test_arguments_that_make_no_sense(text: str, given: list[Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        apply(application(text), given, NUMPY, 10)
    assert message in caught.value.message


def test_the_op_s_own_errors_pass_as_they_are() -> None:
    with pytest.raises(ShapeMismatch):
        apply_operator(application("a @ b"), np.ones((2, 3)), np.ones((2, 3)), NUMPY, 100)


def test_results_beyond_the_limit_are_refused_before_they_are_made() -> None:
    with pytest.raises(TooLarge):
        apply_operator(application("a + b"), np.ones((9, 1)), np.ones((1, 9)), NUMPY, 80)


def test_shapes_that_do_not_fit_are_named_where_numpy_would_not() -> None:
    with pytest.raises(ShapeMismatch, match=r"linear: shapes \[2, 3\] and \[4, 2\] do not go together"):
        apply(application("linear(a, b)"), [np.ones((2, 3)), np.ones((4, 2))], NUMPY, 100)


@pytest.mark.parametrize("host", [NUMPY, TorchHost()])
def test_several_tensors_in_the_place_of_one_are_told_in_our_words(host: Any) -> None:
    made = evaluate(parse("max(x, dim=0)"), {"x": np.ones((2, 3))}, NUMPY)
    with pytest.raises(ArgumentError) as caught:
        evaluate(parse("ones_like(m)"), {"m": made}, host)
    assert caught.value.message == "ones_like takes a tensor as its first argument, not several tensors"
    assert caught.value.hint == "index it first, as in m[0]"


def test_a_number_in_the_place_of_a_tensor_is_told_in_our_words() -> None:
    x = evaluate(parse("ones(3)"), {}, TorchHost())
    with pytest.raises(ArgumentError, match="mse_loss takes a tensor as its second argument, not an integer"):
        evaluate(parse("mse_loss(x, 0)"), {"x": x}, TorchHost())


def test_what_is_checked_alone_is_what_is_refused():
    matmul, add = OpCall.of("matmul", 2, ()), OpCall.of("add", 2, ())
    check(matmul, [X, X.T], 10**8)
    with pytest.raises(TooLarge):
        check(matmul, [np.zeros((100, 1)), np.zeros((1, 100))], 9_999)
    with pytest.raises(ArgumentError):
        check(OpCall.of("sum", 1, ("dim",)), [X, True], 10**8)
    check(add, [X, X], 0)  # as large as they are
