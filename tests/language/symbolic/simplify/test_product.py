"""Products as a number, factors and divisors, and what broadcasting makes of their shapes."""

from __future__ import annotations

from fractions import Fraction

import pytest

from gradcheck.language.expr.common_subexpressions import InternPool
from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.simplify.product import (
    Product,
    broadcast,
    drop_expansions,
    integer,
    is_call,
    is_product,
    keyword_dim,
    without_broadcast,
)
from tests.language.symbolic.simplify.examples import know, simplified


def interned(text: str) -> Expr:
    return InternPool().intern(parse(text))


@pytest.mark.parametrize(
    ("text", "number", "factors", "divisors"),
    [
        ("2 * x * -y", -2, ["x 1", "y 1"], []),
        ("x * x ** 2 / y", 1, ["x 3"], ["y 1"]),
        ("x / (y / 4)", 4, ["x 1"], ["y 1"]),
        ("0.5 / x", Fraction(1, 2), [], ["x 1"]),
        ("0.1 * x", 1, ["0.1 1", "x 1"], []),  # no short fraction: it is left as it is written
        ("x / 0", 1, ["x 1"], ["0 1"]),
        ("x + y", 1, ["x + y 1"], []),
    ],
)
def test_parts(text: str, number: Fraction, factors: list[str], divisors: list[str]) -> None:
    found = Product.of(interned(text))
    assert found.number == number
    assert [f"{to_text(factor)} {times}" for factor, times in found.factors.values()] == factors
    assert [f"{to_text(factor)} {times}" for factor, times in found.divisors.values()] == divisors


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("x * 2 * y", "2 * x * y"),
        ("-x * y", "-x * y"),
        ("x / 3", "x / 3"),
        ("-x / 3", "-x / 3"),
        ("x * 2 / 3", "2 * x / 3"),
        ("x * 0.5", "0.5 * x"),
        ("6 / 3", "2"),
        ("x * x * x", "x ** 3"),
        ("1 / x", "1 / x"),
    ],
)
def test_the_one_form(text: str, after: str) -> None:
    assert to_text(Product.of(interned(text)).render()) == after


def test_a_factor_is_replaced_or_taken_out() -> None:
    product = Product.of(interned("2 * x / y"))
    ((x, _),) = product.factors.values()
    assert to_text(product.replace_factor(x, interned("3 * z / w")).render()) == "6 * z / (y * w)"
    assert to_text(product.replace_factor(x, None).render()) == "2 / y"
    assert to_text(product.with_number(5).render()) == "5 * x / y"


def test_products_are_multiplied_and_divided() -> None:
    pool = InternPool()
    left, right = (Product.of(pool.intern(parse(text))) for text in ("2 * x * y / z", "4 * x / w"))
    assert to_text(left.times(right).render()) == "8 * x ** 2 * y / (z * w)"
    assert to_text(left.times(right).without(right).render()) == "2 * x * y / z"
    assert to_text(left.without(Product.of(pool.intern(parse("2 * x / z")))).render()) == "y"


def test_a_divisor_is_the_square_of_its_root() -> None:
    pool = InternPool()
    product, root = Product.of(pool.intern(parse("x / v"))), pool.intern(parse("sqrt(v)"))
    assert isinstance(root, Call)
    assert to_text(product.with_roots([root]).render()) == "x / sqrt(v) ** 2"
    assert product.with_roots([]) == product


def test_calls_and_integers() -> None:
    assert [is_call(parse(text), "sum", 1) for text in ("sum(x)", "sum(x, 0)", "sum(x, dim=0)", "mean(x)")] == [
        True, False, False, False,
    ]  # fmt: skip
    assert [integer(parse(text)) for text in ("2", "-2", "2.0", "True", "x")] == [2, -2, None, None, None]
    assert [is_product(parse(text)) for text in ("x * y", "-x", "x / y", "x + y", "mul(x, y)")] == [
        True, True, True, False, True,
    ]  # fmt: skip
    calls = [parse(text) for text in ("sum(x, dim=-1)", "sum(x)", "sum(x, dim=(0, 1))")]
    assert [keyword_dim(call) for call in calls if isinstance(call, Call)] == [-1, None, None]
    assert Product.of(interned("3 * ones_like(x)")).is_ones()
    assert not Product.of(interned("3 * x")).is_ones()


def test_what_broadcasting_does_anyway() -> None:
    facts = know()

    def of(text: str) -> str | None:
        found = without_broadcast(facts.pool.intern(parse(text)), facts)
        return None if found is None else to_text(found[0]) if found[0] is not None else "1"

    assert of("expand(v, x.shape)") == "v"
    assert of("unsqueeze(v, 0)") == "v"
    assert of("ones_like(x)") == "1"
    assert of("unsqueeze(v, 1)") is None
    assert of("x") is None
    assert broadcast([((2, 1), (3, 1)), None, ((5,), (4,))], 2) == ((2, 5), (3, 4))


def test_expansions_go_where_the_shape_is_made_good_by_others() -> None:
    facts = know()
    total = facts.shapes(facts.pool.intern(parse("x")))
    assert total is not None
    product = Product.of(facts.pool.intern(parse("expand(v, x.shape) * y")))
    assert to_text(drop_expansions(product, total, facts).render()) == "v * y"
    alone = Product.of(facts.pool.intern(parse("expand(v, x.shape)")))
    assert to_text(drop_expansions(alone, total, facts).render()) == "expand(v, x.shape)"
    assert to_text(drop_expansions(alone, total, facts, total).render()) == "v"


@pytest.mark.parametrize(
    ("text", "after"), [("2 * x * n / n / x", "2 * x / x"), ("n * n / n", "n"), ("n / n ** 2", "1 / n")]
)
def test_sizes_cancel_and_tensors_do_not(text: str, after: str) -> None:
    product = Product.of(interned(text))
    assert to_text(product.cancel(lambda factor: to_text(factor) == "n").render()) == after


def test_high_powers_have_one_form() -> None:
    assert simplified("x ** 9 * x ** 3") == "x ** 9 * x ** 3"
    assert simplified(" * ".join(["x"] * 20)) == "x ** 9 * x ** 9 * x ** 2"


def test_one_number_everywhere_is_that_number() -> None:
    assert simplified("x * unsqueeze(expand(s, u.shape), 1)") == "x * s"
