"""The one difference of a formula from its correction, as a cause."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures.correction.edit_cause import edit_cause
from gradcheck.checks.scope import Scope
from gradcheck.engines.core import Core
from gradcheck.language.expr.parser import parse
from gradcheck.reports.phrases import say
from tests.from_text import problem_from

TEXT = """
    inputs: {x: [[1.0, 2, 3], [4, 5, 7], [0.5, 8, 9]], w: [1.0, 2, 5], beta: 0.3}
    graph: {p: "softmax(x, dim=1)", y: p * beta}
    backward: {y: [[1.0, -2, 4], [3, 1, 2], [5, 0.5, 1]]}
"""


def difference(wrong: str, right: str) -> tuple[str, str] | None:
    problem = problem_from(TEXT)
    scope = Scope(problem, Core().evaluate(problem).states[0])
    found = edit_cause(parse(wrong), parse(right), [scope])
    return None if found is None else (found.kind, say(found.message))


@pytest.mark.parametrize(
    ("wrong", "right", "kind", "words"),
    [
        ("grad(y) * p", "grad(y) * p * beta", "factor_of_tensor", "the factor beta is missing"),
        ("beta * grad(y) * p", "p * grad(y)", "factor_of_tensor", "the factor beta is too much"),
        ("grad(y) * p", "p * grad(y) / beta", "factor_of_tensor", "the division by beta is missing"),
        ("grad(y) / beta", "grad(y)", "factor_of_tensor", "the division by beta is too much"),
        ("grad(y) * p", "grad(y) * p - beta * p", "one_term", "one term is missing: -beta * p"),
        ("w @ x + p - 1", "w @ x - 1", "one_term", "one term is too much: p"),
        ("w @ x + p", "-p + w @ x", "one_term", "one term has the wrong sign: p"),
        ("p * (grad(y) - sum(grad(y) * p, 0))", "p * (grad(y) - (grad(y) * p).sum(dim=1))", "summed",
         "sum goes over dim 0, where dim 1 belongs"),
        ("tril(x) @ p + x", "x + triu(x) @ p", "other_formula", "tril stands where triu belongs"),
        ("grad(y) * exp(x) + x", "x + grad(y) * exp(p)", "other_formula", "x stands where p belongs"),
        ("p @ x + 1", "p @ x.T + 1", "operand_transposed", "x is not transposed: x.T belongs"),
        ("p - x * (1 - p) * p", "p - x * (p - 1) * p", "one_term", "1 - p has the wrong sign: p - 1 belongs"),
        ("-p / beta + x * p", "x * p * w - p / beta", "factor_of_tensor", "the factor w is missing"),
        ("-x.T @ w", "w @ -x.T", "operand_transposed",
         "the factors of -x.T @ w are in the other order: w @ -x.T belongs"),
        ("p * (x > 2)", "p * (x > 5)", "other_formula", "2 stands where 5 belongs"),
        ("1 - y", "1 - p * p", "other_formula", "y stands where p * p belongs"),
        ("-1 / w", "beta - 1 / w", "one_term", "one term is missing: beta"),
        ("-2 * p @ x + w ** 2", "2 * p @ x + w ** 2", "one_term", "one term has the wrong sign: 2 * p @ x"),
        ("-1", "-beta", "factor_of_tensor", "the factor beta is missing"),
        ("-0.5", "-0.5 / w", "factor_of_tensor", "the division by w is missing"),
        ("1 / w", "beta / w", "factor_of_tensor", "the factor beta is missing"),
        ("beta * w", "w / beta", "other_formula", "beta stands where 1 / beta belongs"),
        ("-w * log(p)", "-w / p", "other_formula", "log(p) stands where 1 / p belongs"),
        ("p * (beta * w - x)", "-p * x", "one_term", "one term is too much: beta * w"),
        ("p * x + p / y", "x * x + x / y", "other_formula", "p stands where x belongs"),
        ("w", "w + beta * w - w ** 2", "one_term", "terms are missing: beta * w and -w ** 2"),
        ("p * x", "where(x < 2, 0, p * x)", "branch", "a mask is missing: 0 belongs where x < 2"),
        ("p @ x", "p @ where(x < 2, x, 0)", "branch", "a mask is missing: 0 belongs except where x < 2"),
        ("x * w + p", "p * w + x * beta", "other_formula", "p stands where x * beta belongs; x stands where p belongs"),
        ("p * exp(x) - x", "x * exp(p) - p", "swapped", "x and p stand in each other's place"),
        ("x / p + p * x", "x * beta / p + p * (x * beta)", "factor_of_tensor", "the factor beta is missing"),
        ("(x / beta * p).sum()", "(x * p).sum()", "factor_of_tensor", "the division by beta is too much"),
        ("x @ p", "x.T @ (x @ p)", "factor_of_tensor", "the factor x.T is missing"),
        ("x.sum(dim=1)", "x.sum(dim=1, keepdim=True)", "reshaped", "sum lacks keepdim=True"),
        ("x.sum(dim=1, keepdim=True)", "x.sum(dim=1)", "reshaped", "sum has keepdim=True, where none belongs"),
        ("p", "where(x > 2, p, 2 * p)", "branch", "a case is missing: 2 * p belongs except where x > 2"),
        ("x", "p", "other_formula", "x stands where p belongs"),
        ("beta - y", "y - beta", "sign", "the sign is wrong: it is -1 times what is right"),
        ("y", "-y", "sign", "the sign is wrong: it is -1 times what is right"),
        ("(x > 2) * grad(y)", "2 * p * grad(y)", "other_formula", "x > 2 stands where 2 * p belongs"),
        ("grad(y) * x", "grad(y) * w * p * x", "factor_of_tensor", "the factor w * p is missing"),
        ("grad(y) * w / beta / p", "grad(y) * w", "factor_of_tensor", "the division by beta * p is too much"),
        ("p @ x + y - x", "p @ x + beta * (y - x)", "factor_of_tensor", "the factor beta is missing"),
        ("grad(y)[:, :, None] * beta", "(grad(y) / p)[:, :, None] * beta", "factor_of_tensor",
         "the division by p is missing"),
        ("w[1:] * 2 + 1", "w[:-1] * 2 + 1", "other_formula", "w[1:] stands where w[:-1] belongs"),
    ],
)  # fmt: skip
def test_one_difference_is_named(wrong: str, right: str, kind: str, words: str) -> None:
    assert difference(wrong, right) == (kind, words)


def test_long_sums_are_not_compared_in_pairs() -> None:
    long = " + ".join(f"{n} * p" for n in range(1, 200))
    assert difference(f"{long} + x", long) is None


def test_parts_of_the_same_value_are_the_same() -> None:
    assert difference("(w * w).sum() * p", "(w @ w) * p * beta") == ("factor_of_tensor", "the factor beta is missing")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("x * w + p", "exp(x) * beta - p * w"),
        ("x + (p * p * p * p * p * p * p * p * p * p * p * p)", "x + exp(p + p + p + p + p + p + p + p + p + p + p)"),
        ("x", "x"),
    ],
)
def test_several_are_no_cause(wrong: str, right: str) -> None:
    assert difference(wrong, right) is None
