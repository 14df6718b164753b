import pytest

from gradcheck.language.expr.parser import parse
from gradcheck.oracles.exact.domain_conditions import condition_texts, conditions


def texts(*formulas: str) -> tuple[str, ...]:
    return condition_texts(conditions(map(parse, formulas), {"n": "positive", "low": "nonnegative"}))


@pytest.mark.parametrize(
    ("formula", "asked"),
    [
        ("2 * x * log(x)", ("x > 0",)),
        ("x + sqrt(x)", ("x >= 0",)),
        ("1 / sqrt(x)", ("x > 0",)),
        ("1 / (2 * sqrt(x))", ("x > 0",)),
        ("log(x) + sqrt(x) + 1 / x", ("x > 0",)),
        ("y / x[:, None]", ("x != 0",)),
        ("y / (a * b)", ("b != 0", "a != 0")),
        ("y / (a + b)", ("a + b != 0",)),
        ("y / (a / b)", ("a != 0", "b != 0")),
        ("x ** 0.5", ("x >= 0",)),
        ("x ** -1.5", ("x > 0",)),
        ("x ** -2", ("x != 0",)),
        ("x ** y", ("x > 0",)),
        ("log(2 * x)", ("x > 0",)),
        ("log(x / 3)", ("x > 0",)),
        ("log(3 / x)", ("x > 0",)),
        ("acos(x) + atanh(x) + acosh(x)", ("abs(x) <= 1", "abs(x) < 1", "x >= 1")),
        ("log(sqrt(x))", ("x > 0",)),
        ("x % y", ("y != 0",)),
    ],
)
def test_what_is_asked(formula: str, asked: tuple[str, ...]) -> None:
    assert set(texts(formula)) == set(asked)


@pytest.mark.parametrize(
    "formula",
    [
        "x / 2",
        "x / n",
        "x / (2 * n)",
        "x / (1 + exp(-x))",
        "x / (exp(x) + exp(-x)) ** 2",
        "x / exp(x).sum(1, keepdim=True)",
        "x / sqrt(x.var(0) + 1e-5)",
        "log(1 + x * x)",
        "sqrt(x ** 2)",
        "sqrt(abs(x))",
        "log(maximum(x * x, 1))",
        "sqrt(low)",
        "x ** 3",
        "sin(x) * tanh(x)",
    ],
)
def test_what_always_holds(formula: str) -> None:
    assert texts(formula) == ()


def test_each_once_over_all_steps() -> None:
    assert texts("log(x)", "1 / x", "log(x) * 2") == ("x > 0",)


def test_comparisons_stand_in_brackets() -> None:
    assert texts("1 / (x > 0)") == ("(x > 0) != 0",)
