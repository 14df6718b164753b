"""Expressions have NumPy's values; sizes stay plain numbers within bounds; nothing too large is ever made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.autograd.tensor import Tensor
from gradcheck.errors import (
    ArgumentError,
    DomainError,
    DtypeMismatch,
    GradcheckError,
    IndexOutOfRange,
    InvalidCase,
    ShapeMismatch,
    TooLarge,
)
from gradcheck.language.evaluation.evaluate import evaluate, evaluate_node, program
from gradcheck.language.expr.nodes import Attribute, Call, Dtype, Expr, Gradient, Literal, Name, Sequence, Slice
from gradcheck.language.expr.parser import parse
from tests.language.evaluation.names import X, Y, value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x + 1", X + 1),
        ("2 - x", 2 - X),
        ("x * x / 2", X * X / 2),
        ("x @ y", X @ Y),
        ("-x", -X),
        ("x ** 2", X**2),
        ("2 ** x", 2**X),
        ("x % 2", X % 2),
        ("x // 2", X // 2),
        ("x.T", X.T),
        ("x[0]", X[0]),
        ("x[:, 1:n]", X[:, 1:3]),
        ("x[..., None]", X[..., None]),
        ("x[idx]", X[[1, 0]]),
        ("x[x > 2]", X[X > 2]),
        ("x[-1, ::2]", X[-1, ::2]),
        ("x[1][2]", X[1][2]),
        ("(x > 2) & ~(x > 4)", (X > 2) & ~(X > 4)),
        ("x.sum(dim=0, keepdim=True)", X.sum(0, keepdims=True)),
        ("sum(x, axis=1)", X.sum(1)),
        ("torch.ones([1, x.shape[0]])", np.ones((1, 2))),
        ("zeros(n, x.shape[1])", np.zeros((3, 3))),
        (
            "((x @ y).sum(dim=1, keepdim=True) @ torch.ones([1, n])).T",
            ((X @ Y).sum(1, keepdims=True) @ np.ones((1, 3))).T,
        ),
        ("torch.tensor([[1., 2.], [3., n]])", np.array([[1.0, 2.0], [3.0, 3.0]])),
        ("cat([x, x], dim=0)", np.concatenate([X, X])),
        ("stack((x, 2 * x))", np.stack([X, 2 * X])),
        ("torch.max(x, dim=1)[0]", X.max(1)),
        ("x.reshape(n, -1)", X.reshape(3, -1)),
        ("x.view(x.size(1), x.size(0))", X.reshape(3, 2)),
        ("e * x", 5 * X),
        ("torch.e * x", np.e * X),
        ("x.masked_fill(x > 2, float('-inf'))", np.where(X > 2, -np.inf, X)),
        ("x.where(x > 2, -1.)", np.where(X > 2, X, -1.0)),
        ("x / math.sqrt(x.size(-1))", X / 3**0.5),
    ],
)
def test_tensors(text, expected):
    got = value(text)
    assert type(got) is np.ndarray
    assert got.shape == expected.shape
    assert got.dtype == expected.dtype
    np.testing.assert_array_equal(got, expected)


def test_dtypes():
    assert value("x.to(torch.float32)").dtype == np.float32
    assert value("x.to(float32)").dtype == np.float32
    assert value("sum(x, dtype=torch.float32)").dtype == np.float32
    assert value("ones(2, dtype=x.dtype)").dtype == np.float64
    assert value("(x > 1).to(int64)").dtype == np.int64
    assert value("x.double()").dtype == np.float64


def test_the_case_s_names_come_before_the_language_s():
    assert value("e") == 5
    assert value("pi", pi=1) == 1
    assert value("float64 + 1", float64=1) == 2
    assert value("sum(sum)", sum=X) == 15


def test_tensors_record_what_is_computed():
    x = Tensor(X, requires_grad=True)
    evaluate(parse("(x * x).sum() + x.detach().sum() + no_grad(x * 3).sum()"), {"x": x}).backward()
    np.testing.assert_array_equal(x.grad.data, 2 * X)


def test_gradients_are_looked_up_by_name():
    got = evaluate(parse("grad(x) * 2 + grad(m[0])"), {}, gradients={"x": X, "m[0]": X})
    np.testing.assert_array_equal(got, 3 * X)


def test_a_sum_of_a_thousand_terms_is_evaluated():
    assert value(" + ".join(["n"] * 1_000)) == 3_000
    np.testing.assert_array_equal(value(" + ".join(["x"] * 1_000)), 1_000 * X)


@pytest.mark.parametrize(
    ("text", "kind", "part"),
    [
        ("foo", InvalidCase, "unknown name 'foo'"),
        ("grad(x)", InvalidCase, "no backward pass"),
        ("1 / 0", DomainError, "division by zero"),
        ("n % 0", DomainError, "division by zero"),
        ("n // 0.0", DomainError, "division by zero"),
        ("0 ** -1", DomainError, "division by zero"),
        ("10 ** 10 ** 10", TooLarge, "64 bits"),
        ("2 ** 64", TooLarge, "64 bits"),
        ("(-10) ** 10 ** 10", TooLarge, "64 bits"),
        ("(2 ** 62) * 8", TooLarge, "64 bits"),
        ("2.0 ** 10000", TooLarge, "largest number"),
        ("2 ** 63 + 0.5 ** -2000", TooLarge, "largest number"),
        ("1j < 2", DtypeMismatch, "complex"),
        ("'a' + 'b'", DtypeMismatch, "text"),
        ("'a' * 1000000000", DtypeMismatch, "text"),
        ("[0] * 1000000000", DtypeMismatch, "a list becomes a tensor"),
        ("(0,) * 1000000000", DtypeMismatch, "tuple"),
        ("x + [1, 2, 3]", ArgumentError, "a list becomes a tensor"),
        ("x * 'a'", ArgumentError, "not a text"),
        ("add(x, 'a', alpha=10 ** 18)", ArgumentError, "not a text"),
        ("addcmul(x, [x], 10 ** 18)", ArgumentError, "second argument, not a list of tensors"),
        ("tile(x, 'a', 10 ** 9)", ArgumentError, "integers as sizes"),
        ("tile(x, (2,), 10 ** 9)", ArgumentError, "integers as sizes"),
        ("[x] == [x + 0]", DtypeMismatch, "one by one"),
        ("x + None", GradcheckError, "add"),
        ("~1.5", DtypeMismatch, "float"),
        ("x.shape[2]", IndexOutOfRange, "index 2 into 2"),
        ("x.shape['a']", DtypeMismatch, "a text"),
        ("x.shape[::0]", ArgumentError, "slice"),
        ("x[1.5:]", DtypeMismatch, "a float"),
        ("x[5]", IndexOutOfRange, ""),
        ("n.shape", ArgumentError, "only a tensor"),
        ("torch.max(x, dim=1).shape", ArgumentError, "index it first"),
        ("len(e)", ArgumentError, "without dimensions"),
        ("x @ x", ShapeMismatch, ""),
        ("2 @ 3", ArgumentError, "takes a tensor, not an integer"),
        ("sum(n)", ArgumentError, "takes a tensor, not an integer"),
        ("softmax([1.0, 2.0], dim=0)", ArgumentError, "tensor([1, 2])"),
        ("linear(x, 2)", GradcheckError, "linear"),
        ("x.sum(dim='a')", GradcheckError, "integer"),
        ("x + ones(7)", ShapeMismatch, ""),
    ],
)
def test_what_cannot_be_computed_is_a_typed_error(text, kind, part):
    with pytest.raises(kind) as caught:
        value(text)
    assert part in str(caught.value)


def test_one_node_is_evaluated_over_the_values_of_its_children() -> None:
    assert evaluate_node(parse("a[1:, b]"), [X, (slice(1, None), 2)]) == X[1:, 2]
    assert evaluate_node(parse("x.shape"), [X]) == (2, 3)
    np.testing.assert_array_equal(evaluate_node(parse("sum(p @ q, dim=r)"), [X, 0]), X.sum(0))
    np.testing.assert_array_equal(evaluate_node(parse("sum(p @ q, dim=r)"), [X, 1]), X.sum(1))


def steps(text: str) -> list[tuple[type[Expr], Any, int]]:
    """The instructions, with its name for each op."""
    return [(kind, what.op.name if kind is Call else what, count) for kind, what, count in program(parse(text))]


def test_operands_come_before_what_takes_them() -> None:
    assert steps("x[0, 1:] + sum(grad(y), dim=k)") == [
        (Name, "x", 0),
        (Literal, 0, 0),
        (Literal, 1, 0),
        (Slice, (False, True, True), 1),
        (Sequence, True, 2),
        (Call, "getitem", 2),
        (Gradient, "y", 0),
        (Name, "k", 0),
        (Call, "sum", 2),
        (Call, "add", 2),
    ]
    assert steps("x.shape") == [(Name, "x", 0), (Attribute, "shape", 1)]
    assert steps("torch.float32") == [(Dtype, "float32", 0)]


def test_what_is_known_of_a_call_beforehand() -> None:
    def of(text: str) -> Any:
        return program(parse(text))[-1][1]

    assert (of("x + y").is_operator, of("x + y").is_infix) == (True, True)
    assert (of("-x").is_operator, of("-x").is_infix) == (True, False)
    assert (of("add(x, y, alpha=2)").is_operator, of("add(x, y, alpha=2)").keys) == (False, ("alpha",))
    checked = [of(text).needs_size_check for text in ("exp(x)", "x * y", "zeros(2)")]
    assert checked == [False, True, True]
    assert (of("sum(x)").needs_tensor, of("zeros(2)").needs_tensor) == (True, False)


def test_a_program_is_kept_for_the_same_expression() -> None:
    expr = parse("x + 1")
    assert program(expr) is program(expr)


def test_an_op_that_does_not_exist() -> None:
    with pytest.raises(InvalidCase, match="there is no op 'wibble'"):
        program(Call("wibble", ()))
