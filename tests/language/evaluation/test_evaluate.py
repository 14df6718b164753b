"""Expressions have NumPy's values; sizes stay plain numbers within bounds; nothing too large is ever made."""

import time
import tracemalloc

import numpy as np
import pytest

from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import TABLE
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
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.host import NUMPY
from gradcheck.language.expr.mentions import free_names, gradient_names, ops_in
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text

X = np.arange(6.0).reshape(2, 3)
Y = np.array([[2.0, 3.0], [1.0, 4.0], [0.5, 6.0]])
NAMES = {"x": X, "y": Y, "n": 3, "idx": np.array([1, 0]), "e": np.array(5.0)}


def value(text, **names):
    return evaluate(parse(text), NAMES | names)


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
        ("addcmul(x, [x], 10 ** 18)", ArgumentError, "beside a list"),
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


HUGE = [
    "zeros(10 ** 9)",
    "ones([10000, 10000, 10])",
    "full((100000, 100000), 1.0)",
    "eye(100000)",
    "arange(10 ** 12)",
    "arange(0, 1, 1e-12)",
    "linspace(0, 1, 10 ** 9)",
    "zeros(20000, 1) + zeros(1, 20000)",
    "zeros(20000, 1) @ zeros(1, 20000)",
    "where(zeros(20000, 1) > 0, zeros(1, 20000), 1)",
    "outer(zeros(20000), zeros(20000))",
    "kron(zeros(200, 200), zeros(200, 200))",
    "zeros(1000).repeat(1000000)",
    "tile(zeros(1000), (1000000,))",
    "diag(zeros(20000))",
    "diag_embed(zeros(20000))",
    "einsum('i,j->ij', zeros(20000), zeros(20000))",
    "tensordot(zeros(20000), zeros(20000), dims=0)",
    "zeros(20000)[zeros(20000, 20000, dtype=int64)]",
    "zeros(1, 20000)[zeros(200000, dtype=int64)]",
    "embedding(zeros(200000, dtype=int64), zeros(1, 20000))",
    "zeros(1, 20000).index_select(0, zeros(200000, dtype=int64))",
    "randn(10 ** 9)",
    "rand(10 ** 9)",
    "uniform(0, 1, [10 ** 9])",
    "randint(0, 9, [10 ** 9])",
    "tensor([0.0]).expand(10 ** 9) + 1",
    "cat([zeros(9 * 10 ** 5), zeros(9 * 10 ** 5)])",
    "stack([zeros(9 * 10 ** 5), zeros(9 * 10 ** 5)])",
    "mse_loss(zeros(20000, 1), zeros(1, 20000))",
    "cosine_similarity(zeros(20000, 1, 2), zeros(1, 20000, 2), dim=2)",
    "linear(zeros(20000, 1), zeros(20000, 1))",
    "inner(zeros(20000, 1), zeros(20000, 1))",
    "addmm(zeros(1), zeros(20000, 1), zeros(1, 20000))",
    "addr(zeros(1), zeros(20000), zeros(20000))",
    "mm(zeros(20000, 1), zeros(1, 20000))",
    "bmm(zeros(1, 20000, 1), zeros(1, 1, 20000))",
    "cdist(zeros(20000, 1), zeros(20000, 1))",
    "scaled_dot_product_attention(zeros(20000, 1), zeros(20000, 1), zeros(20000, 1))",
    "pad(zeros(2), (10 ** 9, 0))",
    "one_hot(tensor(10 ** 9))",
    "repeat_interleave(zeros(1000), 1000000)",
    "zeros(2).new_zeros(10 ** 9)",
    "addcmul(zeros(20000, 1), zeros(1, 20000), zeros(1))",
    "tensor_split(zeros(3), 10 ** 9)",
    "chunk(zeros(0, 3), 10 ** 9)",
]


@pytest.mark.parametrize("text", HUGE)
def test_no_huge_tensor_is_ever_made(text):
    tracemalloc.start()
    started = time.perf_counter()
    try:
        with pytest.raises(TooLarge):
            evaluate(parse(text), {}, max_elements=10**6)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - started < 1
    assert peak < 16e6


def test_the_budget_is_the_caller_s():
    assert evaluate(parse("zeros(10)"), {}, max_elements=10).size == 10
    with pytest.raises(TooLarge, match="of 11 elements, where 10 are allowed"):
        evaluate(parse("zeros(11)"), {}, max_elements=10)
    with pytest.raises(TooLarge):
        evaluate(parse("x + y"), {"x": np.zeros((4, 1)), "y": np.zeros((1, 4))}, max_elements=10)


def test_names_gradients_and_ops_are_listed_with_their_columns():
    expr = parse("a @ grad(b) + sum(a, dim=k) * pi")
    assert free_names(expr) == {"a": 0, "k": 25, "pi": 30}
    assert gradient_names(expr) == {"b": 4}
    assert ops_in(expr) == {"add": 0, "matmul": 0, "mul": 14, "sum": 14}


@pytest.mark.parametrize("text", sorted({sample for op in TABLE.values() for sample in op.samples}))
def test_every_sample_of_the_table_is_read_printed_and_checked(text):
    expr = parse(text)
    assert parse(to_text(expr)) == expr
