"""Sums, variances, norms and products, all at once or accumulated."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.errors import Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact import ops
from gradcheck.oracles.exact.degree import Degree
from gradcheck.oracles.exact.dual_numbers import Dual, lift
from gradcheck.oracles.exact.field_point import FieldPoint
from gradcheck.oracles.exact.modular_matrices import MatrixChain
from gradcheck.oracles.exact.ops.reductions import drop_dims, sum_axes
from tests.oracles.exact.calls import PRIME, as_residues, calls, directions, integers, on_residues, point
from tests.oracles.exact.identities import assert_identity, assert_is_the_function

assert ops


#: Those that are not of one number, or of none.
VARIANCES = [
    text
    for text in calls(("var",))
    if ("randn(" in text or "uniform(" in text)
    and not any(w in text for w in ("complex", "dtype", "(0, 3)", "3), 0)", "randn(())"))
]


@pytest.mark.parametrize("text", VARIANCES)
def test_the_variance(text: str) -> None:
    """A quadratic form, of which a difference of two steps is the very derivative."""
    expr, floats, others = integers(text)
    moved = directions(floats)
    found = on_residues(expr, floats, moved, others)
    ahead, behind = (evaluate(expr, {n: a + sign * moved[n] for n, a in floats.items()}) for sign in (1, -1))
    assert np.array_equal(found.value, as_residues(evaluate(expr, floats)))
    assert np.array_equal(found.tangent, as_residues((ahead - behind) / 2))


@pytest.mark.parametrize(
    "text", ["sum(x, dtype=torch.int64)", "cumsum(x, 0, dtype=torch.int64)", "prod(x, dtype=int64)"]
)
def test_sums_in_integers_are_refused(text: str) -> None:
    with pytest.raises(Unsupported):
        evaluate(parse(text), {"x": Dual(point(), np.arange(3))})


def test_indicators_are_counted_in_integers() -> None:
    x = Dual(point(), np.arange(1, 4))
    assert np.array_equal(TABLE["sum"](x > 0, dtype=np.dtype(np.int64)).value, TABLE["sum"](x > 0).value)


def test_sums_over_dimensions() -> None:
    at = point()
    values = np.arange(24).reshape(2, 3, 4)
    x = Dual(at, values, PRIME - 1 - values, Degree(1, 1))
    for dim, axis in ((None, (0, 1, 2)), (1, (1,)), ([0, -1], (0, 2))):
        found = sum_axes(x, dim)
        assert np.array_equal(found.value, values.sum(axis))
        assert np.array_equal(found.tangent, (PRIME - 1 - values).sum(axis) % PRIME)
        assert found.degree == x.degree.summed(24 // found.value.size)
        assert sum_axes(x, dim, True).shape == values.sum(axis, keepdims=True).shape
    assert drop_dims(sum_axes(x, 1, True), (1,)).shape == (2, 4)


def test_the_sum_of_a_product_of_matrices_is_not_multiplied_out() -> None:
    at, generator = point(), np.random.default_rng(0)
    a, b = (Dual(at, generator.integers(0, 9, (4, 4))) for _ in range(2))
    product = TABLE["matmul"](a, b)
    rows = TABLE["sum"](product, 1, keepdim=True)
    assert isinstance(rows.lazy_value, MatrixChain)
    assert len(rows.lazy_value.factors) == 3
    assert np.array_equal(rows.value, (a.value @ b.value).sum(1, keepdims=True))
    assert np.array_equal(TABLE["sum"](product).value, (a.value @ b.value).sum())


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8])
def test_products(length: int) -> None:
    x = Dual(point(), np.arange(2, 2 + length), np.ones(length, dtype=np.int64))
    found = TABLE["prod"](x)
    assert found.value == np.prod(np.arange(2, 2 + length))
    if length == 3:
        assert found.tangent == 3 * 4 + 2 * 4 + 2 * 3


def test_deviations() -> None:
    assert_identity("std(x, 0)", "sqrt(var(x, 0))")
    assert_identity("mean(x)", "x.sum() / 5")


def test_any_is_the_opposite_of_none() -> None:
    assert_identity("any(x > 0, 0)", "1 - all(x <= 0, 0) * 1")
    assert_is_the_function("where(any(x > 6), x, w)")
    assert_is_the_function("where(all(x > 6), x, w)")


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_products_accumulate(dim: int) -> None:
    values = np.arange(2, 8).reshape(2, 3)
    found = TABLE["cumprod"](Dual(point(), values, np.zeros_like(values)), dim)
    assert np.array_equal(found.value, np.cumprod(values, dim))
    assert not np.any(found.tangent)


def test_the_product_rule() -> None:
    found = TABLE["cumprod"](Dual(point(), np.array([2, 3, 4]), np.array([1, 0, 0])), 0)
    assert found.tangent.tolist() == [1, 3, 12]


def test_nothing_to_multiply() -> None:
    empty = Dual(point(), np.zeros((0, 3), dtype=np.int64))
    assert TABLE["cumprod"](empty, 0) is empty


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("linalg.vector_norm(x)", "sqrt((x * x).sum())"),
        ("linalg.vector_norm(x, inf)", "amax(abs(x))"),
        ("linalg.vector_norm(x, -inf)", "amin(abs(x))"),
        ("linalg.vector_norm(x[0], 2)", "sqrt(x[0] * x[0])"),
    ],
)
def test_what_is_known(left: str, right: str) -> None:
    assert_identity(left, right)


def test_the_sum_of_sizes() -> None:
    assert_is_the_function("linalg.vector_norm(x, 1)")


def test_orders_that_are_counts_or_nothing() -> None:
    x = Dual(point(), np.arange(1, 13).reshape(3, 4))
    assert TABLE["linalg.vector_norm"](x, 0, dim=1).value.tolist() == [4, 4, 4]
    with pytest.raises(Unsupported, match="order 3"):
        TABLE["linalg.vector_norm"](x, 3)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("linalg.vector_norm(w, 0, 1)", [1, 2]),
        ("linalg.vector_norm(w, 0)", 3),
        ("count_nonzero(w, 0)", [1, 1, 1]),
        ("count_nonzero(w)", 3),
    ],
)
def test_zeros_of_constants_do_not_count(text: str, want: object) -> None:
    point = FieldPoint(PRIME, 1)
    found = evaluate(parse(text), {"w": lift(point, np.array([[0, 2, 0], [3, 0, 4.0]]))})
    assert found.value.tolist() == want
