"""The terms of a sum, each with its sign."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.terms import Term, at_most, is_sum, left_to_right, signed_terms, split_sign


def written(terms: list[Term]) -> list[str]:
    return [f"{'-' if sign < 0 else '+'}{to_text(term)}" for term, sign in terms]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("a - (b - c) + d", ["+a", "-b", "+c", "+d"]),
        ("-(a + b)", ["-a", "-b"]),
        ("a - -b", ["+a", "+b"]),
        ("sum(a)", ["+sum(a)"]),
        ("(a - b) * c", ["+(a - b) * c"]),
        ("add(a, b, alpha=2)", ["+add(a, b, alpha=2)"]),
    ],
)
def test_a_sum_has_terms_from_left_to_right(text: str, terms: list[str]) -> None:
    assert written(list(signed_terms(parse(text)))) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("(a - b) / c", ["+a / c", "-b / c"]),
        ("a / (b - c)", ["+a / (b - c)"]),
        ("(a - b) @ (c + d)", ["+a @ c", "+a @ d", "-b @ c", "-b @ d"]),
        ("(-a) * (b - c)", ["-a * b", "+a * c"]),
        ("a * (b - 1)", ["+a * b", "-a"]),
    ],
)
def test_products_are_multiplied_out_on_demand(text: str, terms: list[str]) -> None:
    assert written(list(signed_terms(parse(text), products=("mul", "div", "matmul")))) == terms


def test_a_sum_that_is_a_term_stays_whole_but_for_the_root() -> None:
    root = parse("a - (b - c) + d")
    assert written(list(signed_terms(root, is_sum))) == ["+a - (b - c)", "+d"]
    assert written(list(signed_terms(root, lambda node: node == parse("b - c")))) == ["+a", "-b - c", "+d"]


def test_more_terms_than_asked_for_are_none() -> None:
    assert at_most(1, signed_terms(parse("a + b"))) is None
    assert written(at_most(2, signed_terms(parse("a + b"))) or []) == ["+a", "+b"]


@pytest.mark.parametrize(
    ("text", "flat"),
    [
        ("a * (b * c)", "a * b * c"),
        ("a * (b * c) + (d * (e * f))", "a * b * c + d * e * f"),
        ("a / (b * c)", "a / (b * c)"),
    ],
)
def test_products_from_left_to_right(text: str, flat: str) -> None:
    assert to_text(left_to_right(parse(text))) == flat


@pytest.mark.parametrize(
    ("text", "sign", "rest"),
    [("-a * b", -1, "a * b"), ("-0.5 * a @ b", -1, "0.5 * a @ b"), ("a * -b", 1, "a * -b"), ("-a", -1, "a")],
)
def test_the_sign_of_a_product_is_that_of_its_first_factor(text: str, sign: int, rest: str) -> None:
    found, expr = split_sign(parse(text))
    assert (found, to_text(expr)) == (sign, rest)
