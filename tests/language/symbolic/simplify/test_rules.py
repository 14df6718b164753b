"""Each rewrite rule alone: what it makes of an example, and that it leaves alone what only looks like one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.sharing import Pool
from gradcheck.language.symbolic.simplify import call_style, elementwise, products, rearranging
from gradcheck.language.symbolic.simplify.facts import Facts, Sample
from gradcheck.language.symbolic.simplify.rules import PATTERNS, RULES, Rule, by_pattern
from gradcheck.language.symbolic.simplify.simplifier import Simplifier

FLOAT64 = np.dtype(np.float64)


def point(n: int, m: int, seed: int) -> Sample:
    """x, y (n, m); a (n, n); v (m); u (n); b (n, 3, m); s a number; z complex; h half; k integers."""
    draw = np.random.default_rng(seed).standard_normal
    names: dict[str, Any] = {
        "x": draw((n, m)), "y": draw((n, m)), "a": draw((n, n)), "v": draw(m), "u": draw(n), "b": draw((n, 3, m)),
        "s": np.asarray(draw()), "z": draw((n, m)) + 1j * draw((n, m)), "w": draw((n, m)) + 1j * draw((n, m)),
        "h": draw((n, m)).astype(np.float16), "g": draw((n, m)).astype(np.float16), "row": draw((1, m)),
        "k": np.arange(m), "n": n, "m": m,
    }  # fmt: skip
    gradients: Mapping[str, Any] = {"x": draw((n, m)), "s": np.ones(())}
    return Sample(names, gradients, FLOAT64)


def know(ones: tuple[str, ...] = ("s",), shaped: tuple[str, ...] = ()) -> Facts:
    return Facts([point(2, 5, 0), point(3, 4, 1)], Pool(), ones, shaped)


def simplified(text: str, rules: tuple[Rule, ...] = RULES, facts: Facts | None = None) -> str:
    return to_text(Simplifier(facts or know(), rules).simplify({"f": parse(text)})["f"])


EXAMPLES: list[tuple[Rule, str, str]] = [
    (rearranging.gradient_of_a_root, "grad(s) * x", "ones_like(s) * x"),
    (rearranging.shape_of_a_gradient, "reshape(y, grad(x).shape)", "reshape(y, x.shape)"),
    (rearranging.shape_by_name, "reshape(v, (v * 2).shape)", "reshape(v, v.shape)"),
    (rearranging.like_by_name, "zeros_like(x @ v)", "zeros_like(u)"),
    (rearranging.size_by_name, "x / (a @ x).shape[1]", "x / x.shape[1]"),
    (rearranging.reshape_to_itself, "sum_to_size(x, y.shape)", "x"),
    (rearranging.reshape_to_itself, "expand(x, y.shape)", "x"),
    (by_pattern, "reshape(reshape(x, (-1,)), (m, n))", "reshape(x, (m, n))"),
    (rearranging.vector_rearranged, "movedim(v, 0, -1)", "v"),
    (by_pattern, "squeeze(unsqueeze(v, 1), 1)", "v"),
    (by_pattern, "flip(flip(x, (1,)), (1,))", "x"),
    (rearranging.kept_and_squeezed, "squeeze(sum(x, dim=1, keepdim=True), dim=1)", "sum(x, dim=1)"),
    (rearranging.kept_and_squeezed, "reshape(sum(x, dim=0, keepdim=True), v.shape)", "sum(x, dim=0)"),
    (rearranging.reshape_to_itself, "constant_pad_nd(x, (0, 0))", "x"),
    (by_pattern, "diagonal_scatter(zeros_like(x), ones_like(diagonal(x)))",
     "eye(x.shape[0], x.shape[1])"),
    (by_pattern, "diagonal_scatter(zeros_like(x), expand(s, diagonal(x).shape))",
     "s * eye(x.shape[0], x.shape[1])"),
    (rearranging.identity_product, "eye(n, n) @ x", "x"),
    (rearranging.identity_product, "x @ eye(m)", "x"),
    (products.expanded_one, "expand(2 * ones_like(s), x.shape)", "2 * ones_like(x)"),
    (by_pattern, "x.T.T @ v", "x @ v"),
    (by_pattern, "b.mT.mT", "b"),
    (rearranging.transpose_by_name, "x.mT", "x.T"),
    (rearranging.transpose_by_name, "transpose(x, 0, 1)", "x.T"),
    (rearranging.transpose_by_name, "transpose(b, -2, -1)", "b.mT"),
    (rearranging.transposed_product, "(x.T @ a).T", "a.T @ x"),
    (rearranging.sum_over_dims, "sum_to_size(x, v.shape)", "sum(x, dim=0)"),
    (rearranging.sum_over_dims, "sum_to_size(x, row.shape)", "sum(x, dim=0, keepdim=True)"),
    (rearranging.sum_over_dims, "sum_to_size(b, v.shape)", "sum(b, dim=(0, 1))"),
    (rearranging.sum_over_dims, "sum_to_size(b, row.shape)", "sum(sum(b, dim=0), dim=0, keepdim=True)"),
    (rearranging.sum_over_dims, "sum_to_size(x, ())", "sum(x)"),
    (by_pattern, "x[0,]", "x[0]"),
    (rearranging.open_slice, "x[0:1]", "x[:1]"),
    (rearranging.open_slice, "x[:, 1:x.shape[1]]", "x[:, 1:]"),
    (by_pattern, "x[:]", "x"),
    (by_pattern, "-(-x)", "x"),
    (by_pattern, "x ** 1", "x"),
    (by_pattern, "y * x ** 0", "y * ones_like(x)"),
    (by_pattern, "conj(conj(z))", "z"),
    (elementwise.conjugate_of_a_real, "conj(x)", "x"),
    (elementwise.conjugate_inwards, "conj(conj(z) * w)", "conj(conj(z)) * conj(w)"),
    (elementwise.cast_to_itself, "to(x, torch.float64)", "x"),
    (elementwise.cast_of_a_half, "to(to(h, torch.float32) * to(g, torch.float32), torch.float16)", "h * g"),
    (elementwise.cast_of_a_half, "to(to(h, torch.float32), torch.float16)", "h"),
    (by_pattern, "tanh(expand(v, x.shape))", "expand(tanh(v), x.shape)"),
    (elementwise.operand_by_itself, "where(x > 0, expand(v, x.shape), y)", "where(x > 0, v, y)"),
    (elementwise.operand_by_itself, "maximum(x, unsqueeze(v, 0))", "maximum(x, v)"),
    (products.all_sizes, "x / (x.shape[0] * x.shape[1])", "x / x.numel()"),
    (products.lift_expand, "2 * expand(s, x.shape)", "expand(2 * s, x.shape)"),
    (products.number_outwards, "sum(-2 * x, dim=0)", "-2 * sum(x, dim=0)"),
    (products.number_outwards, "a @ (0.5 * x)", "0.5 * (a @ x)"),
    (products.outer_product, "unsqueeze(u, -1) * v", "outer(u, v)"),
    (products.outer_product, "unsqueeze(u, 1) * unsqueeze(v, 0)", "outer(u, v)"),
    (products.normal_product, "x * 0.5 * 5 * (2 * (y + 1))", "5 * x * (y + 1)"),
    (products.normal_product, "expand(s, x.shape) * x", "s * x"),
    (products.normal_product, "x * ones_like(y)", "x"),
    (products.normal_product, "-(x / y) * x", "-x ** 2 / y"),
    (products.normal_product, "x / 3 / y", "x / (3 * y)"),
    (products.normal_product, "x * x * x", "x ** 3"),
    (products.normal_product, "x * 1", "x"),
    (call_style.dims_by_keyword, "sum(x, -1, True)", "sum(x, dim=-1, keepdim=True)"),
    (call_style.lone_dim, "mean(x, dim=(-1,))", "mean(x, dim=-1)"),
    (call_style.tensors_one_by_one, "einsum('ij,j->i', (x, v))", "einsum('ij,j->i', x, v)"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "before", "after"), EXAMPLES, ids=[f"{r.__name__}: {b}" for r, b, _ in EXAMPLES])
def test_a_rule_alone(rule: Rule, before: str, after: str) -> None:
    assert simplified(before, (rule,), know(shaped=("x", "u", "v"))) == after


@pytest.mark.parametrize(("before", "after"), PATTERNS)
def test_a_pattern_rewrites_what_is_of_its_form_alone(before: str, after: str) -> None:
    facts = know()
    made = by_pattern(facts.pool.intern(parse(before)), facts)
    assert made == parse(after)
    assert by_pattern(facts.pool.intern(parse("maximum(x, y)")), facts) is None


def test_a_letter_that_a_pattern_has_twice_stands_for_one_part() -> None:
    facts = know()
    assert by_pattern(facts.pool.intern(parse("flip(flip(x, (1,)), (0,))")), facts) is None


def test_every_rule_has_an_example() -> None:
    assert set(RULES) == {rule for rule, _, _ in EXAMPLES}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x + y - 0", "x + y"),
        ("zeros_like(x) + y", "y"),
        ("x + x", "2 * x"),
        ("x * 3 - y - x", "2 * x - y"),
        ("-x + y", "y - x"),
        ("x - (y - x)", "2 * x - y"),
        ("y + expand(s, x.shape)", "y + s"),
        ("x + ones_like(x)", "x + 1"),
        ("x[0] + b[0, 0] + x[1]", "x[0] + b[0, 0] + x[1]"),  # of three rows at one point, two are not all
        ("b[:, 0] + x + b[:, 1]", "b[:, 0] + x + b[:, 1]"),
        ("2 * stack([v, v])[1] + v + 2 * stack([v, v])[0]", "2 * sum(stack([v, v]), dim=0) + v"),
        ("x[0:0 + x.shape[0]]", "x"),
        ("x[1:1 + (x.shape[0] - 1)]", "x[1:]"),
    ],
)
def test_sums(before: str, after: str) -> None:
    assert simplified(before) == after


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
    square = Facts([point(3, 3, 0)], Pool())
    both = Facts([point(3, 3, 0), point(3, 4, 1)], Pool())
    assert simplified("reshape(x, a.shape)", facts=square) == "x"
    assert simplified("sum_to_size(x, row.shape)", facts=both) == "sum(x, dim=0, keepdim=True)"
    assert simplified("reshape(x, a.shape)", facts=both) == "reshape(x, a.shape)"


def test_a_rule_that_is_wrong_changes_nothing() -> None:
    """What a rule makes must have the values of what it replaces."""

    def wrong(node: Any, facts: Facts) -> Any:
        return parse("y") if to_text(node) == "tanh(x)" else None

    assert simplified("2 * tanh(x)", (wrong, *RULES)) == "2 * tanh(x)"


def test_rules_that_go_in_circles_come_to_an_end() -> None:
    def swap(node: Any, facts: Facts) -> Any:
        return type(node)(node.op, node.args[::-1]) if to_text(node) in ("maximum(x, y)", "maximum(y, x)") else None

    assert simplified("maximum(x, y)", (swap,)) in ("maximum(x, y)", "maximum(y, x)")


def test_long_and_deep_formulas_take_linear_time_and_no_recursion() -> None:
    chain = parse(" + ".join(f"x * {number}.5" for number in range(1, 400)), max_length=10**6)
    assert to_text(Simplifier(know()).simplify({"f": chain})["f"]) == f"{sum(range(1, 400)) + 399 / 2} * x"
    deep = parse("x")
    for _ in range(3_000):
        deep = Call("tanh", (deep,))
    assert to_text(Simplifier(know()).simplify({"f": deep})["f"]).count("tanh") == 3_000
