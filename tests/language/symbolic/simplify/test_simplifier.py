"""The rules as a whole: patterns, an example for every rule, and the simplifier that applies them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.common_subexpressions import InternPool
from gradcheck.language.expr.nodes import Call
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from gradcheck.language.symbolic.simplify.simplifier import PATTERNS, RULES, Simplifier, by_pattern
from tests.language.symbolic.simplify import (
    test_class_labels,
    test_einsums,
    test_elementwise_rules,
    test_factoring,
    test_guards,
    test_matrix_chains,
    test_named_functions,
    test_normalization_layers,
    test_rearrangement,
)
from tests.language.symbolic.simplify.examples import alone, know, point, simplified

MODULES = (
    test_matrix_chains, test_einsums, test_elementwise_rules, test_factoring, test_named_functions,
    test_guards, test_class_labels, test_normalization_layers, test_rearrangement,
)  # fmt: skip


def test_every_rule_has_an_example() -> None:
    examples = [*(example for module in MODULES for example in module.EXAMPLES), *test_named_functions.PRODUCTS]
    shown = {rule for rule, _, _ in examples}
    assert set(RULES) == {*shown, by_pattern}


@pytest.mark.parametrize(
    "text",
    [
        "x - x",  # not 0 where x is infinite
        "x / x",
        "0 * x",
        "ones_like(x)",  # nothing else has the shape
        "v + expand(s, x.shape)",
        "expand(v, x.shape)",
        "sum(x, dim=0)",
        "k * 0.5",  # half of an integer is no integer: its dtype must stay
        "unsqueeze(v, 1) * v",
        "1 / x.shape[0]",
        "0.1 * x",
        "x * y",
        "eye(n, m) @ x.T",  # no identity
    ],
)
def test_what_is_not_simpler_stays(text: str) -> None:
    assert parse(simplified(text)) == parse(simplified(simplified(text)))
    names = point(2, 5, 7).names
    before, after = (np.asarray(evaluate(parse(t), names)) for t in (text, simplified(text)))
    assert (before.shape, before.dtype) == (after.shape, after.dtype)
    np.testing.assert_allclose(after, before)
    assert "x - x" not in text or simplified(text) == text


def test_a_shape_that_fits_at_one_size_alone_is_not_relied_on() -> None:
    """(n, n) and (n, m) are alike where n = m."""
    square = PartProperties([point(3, 3, 0)], InternPool())
    both = PartProperties([point(3, 3, 0), point(3, 4, 1)], InternPool())
    assert simplified("reshape(x, a.shape)", facts=square) == "x"
    assert simplified("sum_to_size(x, row.shape)", facts=both) == "sum(x, dim=0, keepdim=True)"
    assert simplified("reshape(x, a.shape)", facts=both) == "reshape(x, a.shape)"


def test_a_rule_that_is_wrong_changes_nothing() -> None:
    """What a rule makes must have the values of what it replaces."""

    def wrong(node: Any, facts: PartProperties) -> Any:
        return parse("y") if to_text(node) == "tanh(x)" else None

    assert simplified("2 * tanh(x)", (wrong, *RULES)) == "2 * tanh(x)"


def test_rules_that_go_in_circles_come_to_an_end() -> None:
    def swap(node: Any, facts: PartProperties) -> Any:
        return type(node)(node.op, node.args[::-1]) if to_text(node) in ("maximum(x, y)", "maximum(y, x)") else None

    assert simplified("maximum(x, y)", (swap,)) in ("maximum(x, y)", "maximum(y, x)")


def test_long_and_deep_formulas_take_linear_time_and_no_recursion() -> None:
    chain = parse(" + ".join(f"x * {number}.5" for number in range(1, 400)), max_length=10**6)
    assert to_text(Simplifier(know()).simplify({"f": chain})["f"]) == f"{sum(range(1, 400)) + 399 / 2} * x"
    deep = parse("x")
    for _ in range(3_000):
        deep = Call("tanh", (deep,))
    assert to_text(Simplifier(know()).simplify({"f": deep})["f"]).count("tanh") == 3_000


def test_a_part_that_formulas_share_is_simplified_once() -> None:
    seen: list[str] = []

    def spy(node: Any, facts: PartProperties) -> None:
        seen.append(to_text(node))

    part = parse("tanh(x)")
    found = Simplifier(know(), (spy,)).simplify({"f": Call("exp", (part,)), "g": Call("neg", (part,))})
    assert seen.count("tanh(x)") == 1
    assert found["f"].children[0] is found["g"].children[0]


def test_a_whole_formula_of_one_element_may_be_a_number() -> None:
    assert simplified("ones_like(s) * 3") == "3"
    assert simplified("ones_like(x) * 3") == "3 * ones_like(x)"


EXAMPLES = [
    ("reshape(reshape(x, (-1,)), (m, n))", "reshape(x, (m, n))"),
    ("squeeze(unsqueeze(v, 1), 1)", "v"),
    ("flip(flip(x, (1,)), (1,))", "x"),
    ("diagonal_scatter(zeros_like(x), ones_like(diagonal(x)))", "eye(x.shape[0], x.shape[1])"),
    ("diagonal_scatter(zeros_like(x), expand(s, diagonal(x).shape))", "s * eye(x.shape[0], x.shape[1])"),
    ("x.T.T @ v", "x @ v"),
    ("outer(u, v).T", "outer(v, u)"),
    ("b.mT.mT", "b"),
    ("x[0,]", "x[0]"),
    ("x[:]", "x"),
    ("-(-x)", "x"),
    ("x ** 1", "x"),
    ("y * x ** 0", "y * ones_like(x)"),
    ("conj(conj(z))", "z"),
    ("linalg.inv(linalg.inv(a)) @ x", "a @ x"),
    ("linalg.inv(a.T)", "linalg.inv(a).T"),
    ("sqrt(exp(x)) ** 2", "exp(x)"),
    ("exp(log_softmax(x, dim=1))", "softmax(x, dim=1)"),
    ("unsqueeze(ones_like(v), dim=0)", "ones_like(unsqueeze(v, dim=0))"),
    ("sgn(x) * abs(x)", "x"),
    ("y * (sign(x) / abs(x))", "y * (1 / x)"),
    ("-sign(x) / abs(x)", "-1 / x"),
    ("abs(x) * sgn(x)", "x"),
    ("sgn(z)", "sgn(z)"),
    ("tanh(expand(v, x.shape))", "expand(tanh(v), x.shape)"),
]


@pytest.mark.parametrize(("before", "after"), EXAMPLES)
def test_patterns_alone(before: str, after: str) -> None:
    assert alone(by_pattern, before) == after


@pytest.mark.parametrize(("before", "after"), PATTERNS)
def test_a_pattern_rewrites_what_is_of_its_form_alone(before: str, after: str) -> None:
    facts = know()
    made = by_pattern(facts.pool.intern(parse(before)), facts)
    assert made == parse(after)
    assert by_pattern(facts.pool.intern(parse("maximum(x, y)")), facts) is None


def test_a_letter_that_a_pattern_has_twice_stands_for_one_part() -> None:
    facts = know()
    assert by_pattern(facts.pool.intern(parse("flip(flip(x, (1,)), (0,))")), facts) is None
