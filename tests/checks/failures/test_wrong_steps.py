"""Steps of a derivation that are wrong, and what follows from them."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures.wrong_steps import is_formula_supported
from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases.comparison_text import cause_text
from tests.checks.conftest import Check

NET = """
    dims: {{n: 5, d: 3, h: 4, c: 3}}
    inputs: {{W1: "randn(d, h)", b1: randn(h), W2: "randn(h, c)", b2: randn(c)}}
    constants: {{X: "randn(n, d)", t: "randint(0, c, [n])"}}
    graph: {{Z1: X @ W1 + b1, H: tanh(Z1), Z2: H @ W2 + b2, loss: "cross_entropy(Z2, t)"}}
    let:
      P: {P}
      dZ2: {dZ2}
      back: {back}
      dZ1: {dZ1}
    formulas: {{W2: H.T @ dZ2, b2: dZ2.sum(0), W1: X.T @ dZ1, b1: {b1}}}
"""
RIGHT = {
    "P": "softmax(Z2, 1)", "dZ2": "(P - one_hot(t, c)) / n", "back": "dZ2 @ W2.T", "dZ1": "back * (1 - H ** 2)",
    "b1": "dZ1.sum(0)",
}  # fmt: skip


def net(**changed: str) -> str:
    return NET.format(**RIGHT | changed)


def steps(case: CaseResult) -> list[Comparison]:
    return [c for c in case.comparisons if c.wrong_step]


def meant(c: Comparison) -> list[str]:
    return [d.formula for d in c.diagnoses if d.kind == "did_you_mean"]


def test_a_right_derivation_has_none(check: Check) -> None:
    assert check(net()).status == "passed"


@pytest.mark.parametrize(
    ("changed", "told", "suggested"),
    [
        (
            {"dZ2": "P - one_hot(t, c)"},
            "the step dZ2 is wrong (missing / n); the formulas of W2, b2, W1 and b1 only because of it",
            ["(P - one_hot(t, c)) / n"],
        ),
        (
            {"back": "dZ2 @ W2.T * 2"},
            "the step back is wrong; the formulas of W1 and b1 only because of it",
            ["dZ2 @ W2.T"],
        ),
        (
            {"dZ1": "back * (1 - H)"},
            "the step dZ1 is wrong; the formulas of W1 and b1 only because of it",
            ["back * (1 - H ** 2)"],
        ),
    ],
)
def test_a_wrong_step_is_said_once(check: Check, changed: dict[str, str], told: str, suggested: list[str]) -> None:
    case = check(net(**changed))
    (step,) = steps(case)
    assert cause_text(step) == told
    assert meant(step) == suggested
    others = [c for c in case.comparisons if c.status == "failed" and c is not step]
    assert {c.consequence_of for c in others} == {step.cause.origin if step.cause else None}
    assert not any(meant(c) for c in others)


def test_two_steps_that_are_wrong_are_both_told(check: Check) -> None:
    case = check(net(dZ2="P - one_hot(t, c)", dZ1="back * (1 - H)"))
    assert [cause_text(step).split(";")[0] for step in steps(case)] == [
        "the step dZ2 is wrong (missing / n)",
        "the step dZ1 is wrong",
    ]
    assert [meant(step) for step in steps(case)] == [["(P - one_hot(t, c)) / n"], ["back * (1 - H ** 2)"]]


@pytest.mark.parametrize(
    ("steps_of", "told"),
    [
        (
            "dZ2: Z2 - T, dH: dZ2 @ W2.T, dZ1: dH * (1 - H)",
            {"dZ2": "2 * (Z2 - T)", "dZ1": "dH * (1 - H ** 2)"},
        ),
        (
            "dZ2: Z2 - T, dH: -dZ2 @ W2.T, dZ1: dH * (1 - H)",
            {"dZ2": "2 * (Z2 - T)", "dH": "dZ2 @ W2.T", "dZ1": "dH * (1 - H ** 2)"},
        ),
        ("dZ2: 2 * (Z2 - T), dH: dZ2 @ W2, dZ1: dH * (1 - H ** 2)", {"dH": "dZ2 @ W2.T"}),
        (
            "dZ2: 2 * (Z2 - T), dHt: W2 @ dZ2.T, dZ1: dHt.T * (1 - H)",
            {"dZ1": "dHt.T * (1 - H ** 2)"},
        ),
    ],
)
def test_steps_of_one_formula_are_told_each_where_it_is_wrong(
    check: Check, steps_of: str, told: dict[str, str]
) -> None:
    case = check(f"""
        dims: {{n: 4, d: 3, h: 5, k: 2}}
        inputs: {{X: "randn(n, d)", W1: "randn(d, h)", W2: "randn(h, k)"}}
        constants: {{T: "randn(n, k)"}}
        graph: {{Z1: X @ W1, H: tanh(Z1), Z2: H @ W2, L: ((Z2 - T) ** 2).sum()}}
        let: {{{steps_of}}}
        formulas: {{W1: X.T @ dZ1}}
    """)
    found = {c.cause.origin["name"]: meant(c) for c in steps(case) if c.cause is not None}
    assert found == {name: [text] for name, text in told.items()}
    assert all(c.consequence_of is not None for c in case.comparisons if c.status == "failed" and not c.wrong_step)


def test_what_is_suggested_does_not_make_up_for_a_step(check: Check) -> None:
    """As long as dp lacks 1 / n its mean would do for the sum."""
    case = check("""
        dims: {n: 5, d: 3}
        inputs: {W: randn(d), b: randn(1)}
        constants: {X: "randn(n, d)", y: randn(n)}
        graph: {p: X @ W + b, L: "mse_loss(p, y)"}
        let: {dp: 2 * (p - y)}
        formulas: {W: dp @ X, b: dp.mean()}
    """)
    (step,) = steps(case)
    assert meant(step) == ["2 * (p - y) / n"]
    suggested = {c.formula: meant(c) for c in case.comparisons if c.what == "formula" and meant(c) and c is not step}
    assert suggested == {"dp.mean()": ["sum(dp, dim=0, keepdim=True)"]}


def test_a_formula_that_is_wrong_by_itself_is_no_consequence(check: Check) -> None:
    case = check(net(b1="dZ1.mean(0)"))
    assert steps(case) == []
    assert {c.tensor for c in case.comparisons if c.status == "failed"} == {"b1"}


FORMULA = fact("the_formula")


@pytest.mark.parametrize(
    ("verdict", "backed"),
    [
        (None, False),
        (fact("stands_alone", wrong=FORMULA, agree=("torch", "core"), closeness=0.0), False),
        (fact("stands_alone", wrong="torch", agree=(FORMULA, "core"), closeness=0.0), True),
        (fact("oracle_sides_with", got=FORMULA, want="torch", oracle="complex step", closeness=0.0), True),
        (fact("wrong_together", wrong=("torch", "core"), agree=(FORMULA,), closeness=0.0), True),
        (fact("wrong_together", wrong=(FORMULA,), agree=("torch",), closeness=0.0), False),
        (fact("all_differ", names=()), False),
    ],
)
def test_who_a_verdict_sides_with(verdict: Fact | None, backed: bool) -> None:
    assert is_formula_supported(verdict) is backed


def test_a_right_step_that_overflows_somewhere_is_not_blamed_beside_a_wrong_one(check: Check) -> None:
    """`p * (1 - p)` is 0 where the sigmoid is saturated."""
    case = check("""
        dims: {n: 4, d: 3}
        inputs: {X: "randn(n, d)", w: randn(d)}
        constants: {t: rand(n)}
        graph: {z: X @ w, p: sigmoid(z), loss: "F.binary_cross_entropy(p, t)"}
        let: {dp: (p - t) / (p * (1 - p)) / n, dz: dp * p}
        formulas: {w: X.T @ dz}
    """)
    (step,) = steps(case)
    assert cause_text(step) == "the step dz is wrong; the formula of w only because of it"


#: The 2 is forgotten in the formula of w, and the step g is right.
FORGOTTEN = """
    dims: {{n: 4}}
    inputs: {{w: "randn([])", p: randn(n)}}
    graph: {{c1: p * p, c2: c1 * p, y: 2 * w * c1 + 2 * c2}}
    backward: {{y: randn(n)}}
    let: {{g: {g}}}
    formulas: {{w: (g * c1).sum(){others}}}
    {checks}
"""


@pytest.mark.parametrize(
    "parts",
    [
        {"g": "grad(y)", "others": "", "checks": ""},
        {"g": "grad(y) * p", "others": ", p: g * (4 * w + 6 * p)", "checks": ""},
        {"g": "grad(y) + 0 * p", "others": "", "checks": "checks: ['(g * y).sum() == (grad(y) * y).sum()']"},
    ],
    ids=["is a gradient", "is used by others", "is used by a check"],
)
def test_a_right_step_is_not_blamed(check: Check, parts: dict[str, str]) -> None:
    found = check(FORGOTTEN.format(**parts))
    assert found.status == "failed"
    assert {c.tensor for c in found.comparisons if c.status == "failed"} == {"w"}
    assert steps(found) == []


def test_no_step_is_looked_for_without_a_gradient(check: Check) -> None:
    """No point is kept of such a case."""
    case = check(
        """
        inputs: {x: "randn(2, 3)"}
        graph: {y: "tensor([5, 6]) & 3"}
        formulas: {x: 0 * x}
        let: {k: grad(y)}
        """
    )
    assert case.status == "failed"
    assert case.incomplete == ()
