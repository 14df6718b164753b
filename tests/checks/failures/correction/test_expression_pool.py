"""A pool of expressions: equal ones are one, each is evaluated once, and what that costs is counted."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.correction.expression_pool import BROKEN, ExpressionPool, is_op, is_shape
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text


@pytest.fixture
def pool() -> ExpressionPool:
    return ExpressionPool({"x": np.arange(3.0), "A": np.ones((2, 3)), "n": 3}, {"y": np.ones(3)})


def test_values_are_computed_once_and_broken_parts_spread(pool: ExpressionPool) -> None:
    root = pool.add(parse("(x + grad(y)) * (x + grad(y))"))
    assert len(pool.exprs) == 4
    assert pool.array(root) is not None
    np.testing.assert_array_equal(pool.array(root), [1, 4, 9])
    assert pool.value(pool.add(parse("exp(A @ A)"))) is BROKEN
    changed = pool.replace(root, (0, 1), pool.add(parse("x")))
    assert to_text(pool.exprs[changed]) == "(x + x) * (x + grad(y))"


def test_what_is_not_there_is_broken(pool: ExpressionPool) -> None:
    assert pool.value(pool.add(parse("z + 1"))) is BROKEN
    assert pool.value(pool.add(parse("grad(z)"))) is BROKEN
    assert pool.array(pool.add(parse("exp(z)"))) is None


def test_a_number_is_a_value_and_no_array(pool: ExpressionPool) -> None:
    part = pool.add(parse("n"))
    assert (pool.value(part), pool.array(part)) == (3, None)


def test_calls_and_literals_are_found_again(pool: ExpressionPool) -> None:
    x = pool.add(parse("x"))
    assert pool.call("mul", pool.literal(2), x) == pool.add(parse("2 * x"))
    assert pool.literal(1) != pool.literal(1.0)
    assert pool.call("sum", pool.add(parse("A")), dim=pool.literal(0)) == pool.add(parse("sum(A, dim=0)"))


def test_a_call_is_made_when_it_is_asked_for(pool: ExpressionPool) -> None:
    x = pool.add(parse("x"))
    turned = pool.call("unsqueeze", x, pool.literal(1))
    whole = pool.call("mul", turned, pool.call("sum", x, dim=pool.literal(0), keepdim=pool.literal(True)))
    assert [pool.exprs.op(part) for part in (x, turned, whole)] == [None, "unsqueeze", "mul"]
    assert to_text(pool.exprs[whole]) == "unsqueeze(x, 1) * sum(x, dim=0, keepdim=True)"
    assert pool.exprs[whole].children[0] is pool.exprs[turned]
    assert pool.add(parse("x.unsqueeze(1)")) == turned
    deep = x
    for _ in range(5_000):
        deep = pool.call("neg", deep)
    assert sum(1 for _ in pool.exprs[deep].walk()) == 5_001


def test_positions_are_in_reading_order_with_paths_and_parents(pool: ExpressionPool) -> None:
    root = pool.add(parse("exp(x) + n"))
    found = [(path, to_text(pool.exprs[part]), parent) for path, part, parent in pool.positions(root)]
    exp = pool.add(parse("exp(x)"))
    assert found == [((), "exp(x) + n", -1), ((0,), "exp(x)", root), ((0, 0), "x", exp), ((1,), "n", root)]


def test_work_counts_each_expression_once_and_large_ones_more(pool: ExpressionPool) -> None:
    pool.value(pool.add(parse("x + n")))
    assert pool.work == 3
    pool.value(pool.add(parse("n + x")))
    assert pool.work == 4
    large = ExpressionPool({"x": np.ones(100_000)}, {})
    large.value(large.add(parse("x + x")))
    assert large.work == 2 + 300


def test_the_first_element_is_that_of_the_value_and_counts_as_all() -> None:
    names = {"x": np.array([3.0, 1.0] * 1000), "y": np.array([0.0, 7.0] * 1000), "n": 3, "z": np.ones(0)}
    for text in ("x + y", "x - y", "x * y", "y / x"):
        pool, whole = ExpressionPool(names, {}), ExpressionPool(names, {})
        root = pool.add(parse(text))
        assert pool.first_element(root) is None  # nothing is known of its parts yet
        for child in pool.children[root]:
            pool.value(child)
        first = pool.first_element(root)
        array = whole.array(whole.add(parse(text)))
        assert array is not None
        assert first == array[0]
        assert pool.work == whole.work
        np.testing.assert_array_equal(pool.array(root), array)
        assert pool.work == whole.work
    for text in ("x / y", "x + n", "n + n", "z + z", "x @ x", "exp(x)", "x"):
        root = pool.add(parse(text))
        for child in pool.children[root]:
            pool.value(child)
        assert pool.first_element(root) is None


def test_what_would_be_too_large_is_broken(pool: ExpressionPool) -> None:
    assert pool.value(pool.add(parse("ones([n, n * 10 ** 6])"))) is BROKEN


def test_kinds_of_nodes() -> None:
    assert is_op(parse("x + y"), "sub", "add")
    assert not is_op(parse("x"), "add")
    assert is_shape(parse("x.shape"))
    assert not is_shape(parse("x.T"))


@pytest.mark.parametrize("op", ["+", "-", "*", "/", "@"])
def test_plain_arrays_come_to_what_the_op_gives(op: str) -> None:
    generator = np.random.default_rng(0)
    names = {"a": generator.standard_normal((3, 3)), "b": np.array([[1.0, 0.0, np.inf]] * 3), "v": np.arange(3.0)}
    pool = ExpressionPool({**names, "i": np.arange(3)}, {})
    for text in (f"a {op} b", f"v {op} v", f"a {op} v", f"i {op} i"):
        want = evaluate(parse(text), names | {"i": np.arange(3)})
        found = pool.value(pool.add(parse(text)))
        assert (type(found), found.dtype, found.shape) == (type(want), want.dtype, want.shape)
        np.testing.assert_array_equal(found, want)
