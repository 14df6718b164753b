"""Formulas that are wrong by a slip, and what is suggested instead."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.claims.formulas import check_formula
from gradcheck.checks.claims.stated_claims import StepClaims
from gradcheck.checks.context import Context
from gradcheck.checks.failures.correction import suggestion
from gradcheck.checks.failures.correction.suggestion import counterexample_fact, is_equally_undefined
from gradcheck.checks.failures.correction.tidy_formula import DerivedFormulas
from gradcheck.checks.failures.explanation_points import ExplanationPoints
from gradcheck.checks.pipeline import STAGES
from gradcheck.checks.result import CaseResult
from gradcheck.facts import Fact
from gradcheck.language.case import Claim
from gradcheck.language.expr.parser import parse
from gradcheck.oracles.numeric.counterexample import Counterexample
from gradcheck.reports.phrases import say
from tests.checks.build import context_of
from tests.checks.conftest import Check

PRODUCT = """
    dims: {a: 2, b: 3, c: 4}
    inputs: {A: "randn(a, b)", B: "randn(b, c)"}
    graph: {C: A @ B}
    backward: {C: "randn(a, c)"}
"""
ERROR = """
    dims: {n: 4}
    inputs: {x: randn(n)}
    constants: {t: randn(n)}
    graph: {d: x - t, loss: (d * d).mean()}
"""
LAYER = """
    dims: {n: 4, k: 3}
    inputs: {x: "randn(n, k)", b: randn(k)}
    graph: {y: x + b, z: tanh(y)}
    backward: {z: "randn(n, k)"}
"""
CHAIN = """
    inputs:
      x: [[2, 3], [1, 4]]
      y: [[3, 4], [5, 6], [7, 8]]
      z: [[10, 20, 30], [40, 60, 70], [80, 90, 5], [15, 30, 45]]
      n: [[11, 22, 33, 44], [1, 2, 3, 4]]
    graph: {p: y @ x, q: z @ p, r: n.mm(q), loss: r.sum()}
    shapes: {x: [c, d], y: [b, c], z: [a, b], n: [m, a]}
"""
SOFTMAX = """
    dims: {n: 4, k: 3}
    inputs: {x: "randn(n, k)"}
    graph: {p: "softmax(x, dim=1)"}
    backward: {p: "randn(n, k)"}
"""
SUM = """
    dims: {n: 4}
    inputs: {x: randn(n)}
    graph: {y: exp(x) * sin(x)}
    backward: {y: randn(n)}
"""
SEVEN = """
    inputs: {x: [1.5, -2.25, 3, 0.5, 1.25, 1.125, 2.75]}
    graph: {loss: sum(x ** 2)}
"""
VARIANCE = """
    dims: {n: 7}
    inputs: {x: randn(n)}
    graph: {L: x.var()}
    generalize: {dims: {n: [2, 9]}}
"""
ROWS = """
    dims: {n: 4, m: 3}
    inputs: {x: "randn(n, m)"}
    graph: {y: x.logsumexp(1)}
    backward: {y: randn(n)}
"""
OUTER = """
    dims: {n: 3, m: 4}
    inputs: {u: randn(n), v: randn(m)}
    graph: {M: "outer(u, v)"}
    backward: {M: "randn(n, m)"}
"""
SCALED = """
    dims: {n: 4, d: 5}
    inputs: {x: "randn(n, d)", w: randn(d)}
    graph: {y: x @ w / sqrt(d)}
    backward: {y: randn(n)}
"""
TWICE = """
    dims: {n: 5}
    inputs: {x: randn(n)}
    graph: {y: x * abs(x)}
    backward: {y: randn(n)}
"""
QUOTIENT = """
    dims: {n: 4}
    inputs: {a: randn(n), b: randn(n)}
    graph: {y: a / b}
    backward: {y: randn(n)}
"""
CUMULATIVE = """
    dims: {n: 5}
    inputs: {x: randn(n)}
    graph: {y: "cumsum(x, 0)"}
    backward: {y: randn(n)}
"""
PINNED = """
    dims: {n: 4}
    inputs: {x: [1.0, 2.0, 3.0, 4.0]}
    graph: {y: (x * x).sum() / n}
"""
FLOW = """
    dims: {n: 4}
    inputs: {x: randn(n), w: randn(n)}
    graph: {h: tanh(x), y: exp(h) * w}
    backward: {y: randn(n)}
"""
SHADING = """
    inputs: {n: [0.8, 0.6, 0.3], l: [0.5, 0.9, 0.2], kd: 0.7, ks: 0.4}
    constants: {v: [0.7, 0.4, 0.5], s: 4.0}
    graph: {dl: relu(n @ l), r: 2 * (n @ l) * n - l, rv: relu(r @ v), I: kd * dl + ks * rv ** s}
"""
CLAMPED = """
    dims: {n: 4}
    inputs: {x: randn(n), w: randn(n)}
    graph: {y: "clamp(w * x, -3, 3)"}
    backward: {y: randn(n)}
"""
ENTROPY = """
    dims: {n: 5}
    inputs: {z: randn(n)}
    constants: {t: rand(n)}
    graph: {p: sigmoid(z), L: "binary_cross_entropy(p, t)"}
    let: {dp: -(t / p - (1 - t) / (1 - p)) / n}
"""
REUSE = """
    inputs: {a: [1, 2], b: [2, 4], c: [5, 2]}
    graph: {d: a + b, e: b + c, f: d + e}
    backward: {f: [1, 1]}
"""
SQUARE = """
    inputs: {x: [1, 2, 3]}
    graph: {loss: (x * x).sum()}
"""


def told(case: CaseResult, kind: str = "did_you_mean") -> list[str]:
    return [d.formula for c in case.comparisons for d in c.diagnoses if d.kind == kind]


def kinds(case: CaseResult) -> list[str]:
    """The kinds of facts that are told of what may have been meant."""
    known = ("did_you_mean", "derived")
    return [d.message.kind for c in case.comparisons for d in c.diagnoses if d.kind in known]


def wrong(text: str, name: str, formula: str) -> str:
    return f"{text}    formulas: {{{name}: '{formula}'}}\n"


@pytest.mark.parametrize(
    ("text", "name", "formula", "meant"),
    [
        pytest.param(PRODUCT, "B", "A @ grad(C)", "A.T @ grad(C)", id="transpose-missing"),
        pytest.param(PRODUCT, "A", "B.T @ grad(C)", "grad(C) @ B.T", id="operands-swapped"),
        pytest.param(PRODUCT, "B", "grad(C).T @ A", "A.T @ grad(C)", id="product-turned-round"),
        pytest.param(PRODUCT, "A", "-2 * grad(C) @ B.T", "grad(C) @ B.T", id="factor-too-many"),
        pytest.param(PRODUCT, "A", "grad(C) * B.T", "grad(C) @ B.T", id="elementwise-product"),
        pytest.param(ERROR, "x", "2 * d", "2 * d / n", id="one-over-n"),
        pytest.param(ERROR, "x", "2 * (t - x) / n", "2 * (x - t) / n", id="sign"),
        pytest.param(ERROR, "x", "x - t", "2 * (x - t) / n", id="two-factors"),
        pytest.param(LAYER, "b", "grad(z) * (1 - z ** 2)", "sum(grad(z) * (1 - z ** 2), dim=0)", id="sum-missing"),
        pytest.param(LAYER, "b", "sum(grad(z) * (1 - z ** 2), dim=1)", "sum(grad(z) * (1 - z ** 2), dim=0)", id="dim"),
        pytest.param(LAYER, "b", "mean(grad(z) * (1 - z ** 2), dim=0)", "sum(grad(z) * (1 - z ** 2), dim=0)", id="1/n"),
        pytest.param(LAYER, "x", "grad(z) * (1 - y ** 2)", "grad(z) * (1 - z ** 2)", id="another-name"),
        pytest.param(LAYER, "x", "1 - z ** 2", "(1 - z ** 2) * grad(z)", id="factor-dropped"),
        pytest.param(LAYER, "x", "grad(z) * (1 - z)", "grad(z) * (1 - z ** 2)", id="power"),
        pytest.param(
            SOFTMAX, "x", "p * (grad(p) - (p * grad(p)).sum(dim=1))",
            "p * (grad(p) - sum(p * grad(p), dim=1, keepdim=True))", id="keepdim",
        ),
        pytest.param(
            SOFTMAX, "x", "p * grad(p)", "p * (grad(p) - sum(grad(p) * p, dim=1, keepdim=True))", id="centring",
        ),
        pytest.param(
            SUM, "x", "grad(y) * exp(x) * cos(x)",
            "grad(y) * exp(x) * cos(x) + grad(y) * y", id="term-missing",
        ),
        pytest.param(
            CHAIN, "n", "((z @ y @ x).sum(dim=1, keepdim=True) @ torch.ones([1, n.shape[1]])).T",
            "(sum(z @ y @ x, dim=1, keepdim=True) @ ones([1, n.shape[0]])).T", id="shape-index",
        ),
        pytest.param(
            CHAIN, "x", "(torch.ones([1, x.shape[0]]) @ (n @ z @ y).sum(dim=0).diag()).T",
            "(ones([x.shape[1], x.shape[0]]) @ diag(sum(n @ z @ y, dim=0))).T", id="size-for-one",
        ),
        pytest.param(REUSE, "b", "grad(d)", "grad(d) + grad(e)", id="path-missing"),
        pytest.param(SQUARE, "x", "3 * x", "2 * x", id="number"),
        pytest.param(SQUARE, "x", "x ** 2", "2 * x", id="square-for-twice"),
        pytest.param(SQUARE, "x", "x.shape[0] * x", "2 * x", id="size-for-number"),
    ],
)  # fmt: skip
def test_what_was_meant(check: Check, text: str, name: str, formula: str, meant: str) -> None:
    case = check(wrong(text, name, formula))
    assert case.status == "failed"
    assert list(map(parse, told(case))) == [parse(meant)]  # in its author's own way of writing
    assert [c.status for c in check(wrong(text, name, meant)).comparisons if c.what == "formula"].count("failed") == 0


@pytest.mark.parametrize(
    ("text", "name", "formula", "meant"),
    [
        (SEVEN, "x", "7 * x", "2 * x"),  # a number for a number, not for a size that it happens to be
        (VARIANCE, "x", "2 * x / (n - 1)", "2 * (x - mean(x)) / (n - 1)"),  # a part of the derived one
        (ROWS, "x", "softmax(x, 1)", "softmax(x, 1) * grad(y)[:, None]"),  # one number for each row
        (OUTER, "u", "grad(M).T @ u", "grad(M) @ v"),  # one of another shape, as nothing else goes together
        (SCALED, "w", "x.T @ grad(y) / d", "x.T @ grad(y) / d ** 0.5"),  # the root of a size
        (TWICE, "x", "abs(x) * grad(y)", "2 * abs(x) * grad(y)"),  # not a sum of two that are equal
        (TWICE.replace("x * abs(x)", "relu(x) ** 2"), "x", "relu(x) * grad(y)", "2 * relu(x) * grad(y)"),
        (QUOTIENT, "b", "-grad(y) * a / b", "-grad(y) * a / b ** 2"),  # not with y for a
        (FLOW, "x", "grad(h) * exp(h)", "grad(h) * (1 - h ** 2)"),  # another function
        (
            SHADING,
            "l",
            "kd * n + 2 * (grad(r) @ n) * n - grad(r)",
            "where(n @ l <= 0, 0, kd) * n + 2 * (grad(r) @ n) * n - grad(r)",
        ),  # where many tensors are 0
        (PINNED, "x", "2 * x / 4", "2 * x / n"),  # a number that is a size
        (CLAMPED, "x", "w * grad(y)", "where((w * x >= -3) & (w * x <= 3), w * grad(y), 0)"),  # the side of a branch
        (
            CLAMPED.replace("clamp(w * x, -3, 3)", "exp(clamp(x, max=5))"),
            "x",
            "exp(x) * grad(y)",
            "where(x <= 5, exp(x) * grad(y), 0)",
        ),
        (ENTROPY, "z", "dp * p", "dp * (1 - p) * p"),  # of the author's own step, though that is none where p is 1
        (ENTROPY, "z", "(p - t) * p * (1 - p) / n", "(p - t) / n"),  # not divided by what it is multiplied by
        (CUMULATIVE, "x", "cumsum(grad(y).flip(0), 0)", "flip(cumsum(flip(grad(y), (0,)), dim=0), 0)"),
    ],
)
def test_the_natural_edit_comes_first(check: Check, text: str, name: str, formula: str, meant: str) -> None:
    assert list(map(parse, told(check(wrong(text, name, formula))))) == [parse(meant)]


def test_none_found_near(check: Check) -> None:
    case = check(wrong(CHAIN, "y", "x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])"))
    assert told(case) == []
    assert told(case, "derived") == ["grad(p) @ x.T"]
    assert kinds(case) == ["none_found_near"]


def test_what_is_right_at_these_numbers_alone_is_not_suggested(check: Check) -> None:
    """At x = 2 the right formula 3 * x ** 2 equals 6 * x, which is nearer to what was written."""
    case = check("""
        inputs: {x: [2, 2]}
        graph: {loss: (x ** 3).sum()}
        formulas: {x: 5 * x}
    """)
    assert all("6 * x" not in formula for formula in told(case))
    assert all("** 2" in formula for formula in told(case) + told(case, "derived"))


def test_only_where_a_formula_fails(check: Check) -> None:
    case = check(wrong(SQUARE, "x", "2 * x"))
    assert case.status == "passed"
    assert all(not c.diagnoses for c in case.comparisons)


def test_nothing_is_suggested_without_a_pass_that_ends(check: Check) -> None:
    case = check("""
        inputs: {x: [1.0, 2.0]}
        graph: {y: x * x}
        steps: [{backward: y, raises: non_scalar_backward}]
        formulas: {x: 5 * x}
    """)
    assert (case.status, case.incomplete) == ("failed", ())


def test_expected_failures_are_left_alone(check: Check) -> None:
    case = check(wrong(SQUARE, "x", "3 * x") + "    xfail: shows a mistake\n")
    assert case.status == "xfailed"
    assert told(case) == []


def test_each_failing_formula_is_told_once(check: Check) -> None:
    case = check(f"{PRODUCT}    formulas: {{B: [A @ grad(C), A.T @ grad(C), -A.T @ grad(C)], A: grad(C) @ B}}\n")
    assert sorted(told(case)) == ["A.T @ grad(C)", "A.T @ grad(C)", "grad(C) @ B.T"]


# Where, and how far -----------------------------------------------------------------------------------

LONG = " + ".join(f"sin({number}.5 * x) * cos(x) * x" for number in range(12))


def test_what_was_not_searched_is_said(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestion, "FORMULA_BUDGET", 5_000)
    case = check(wrong(SUM, "x", LONG))
    assert case.status == "failed"
    assert kinds(case) == ["not_searched_further"]


def test_a_spent_budget_is_no_claim(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the budget that finds it, it is told; with less, nobody says that nothing near it is right."""
    text = wrong(SQUARE, "x", "x ** 2")
    assert kinds(check(text)) == ["did_you_mean"]
    monkeypatch.setattr(suggestion, "FORMULA_BUDGET", 10)
    assert kinds(check(text)) == ["not_searched_further"]


def test_the_budget_of_a_case_is_for_all_its_formulas(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{SQUARE}    formulas: {{x: [x ** 2, x ** 4]}}\n"
    assert kinds(check(text)) == ["did_you_mean", "did_you_mean"]
    monkeypatch.setattr(suggestion, "CASE_BUDGET", 3_000)  # enough for either
    assert kinds(check(text)) == ["did_you_mean", "not_searched_further"]


def test_the_same_is_said_however_slow_the_machine(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    text = wrong(CHAIN, "x", "(torch.ones([1, x.shape[0]]) @ (n @ z @ y).sum(dim=0).diag()).T")
    quick = told(check(text))
    seconds = iter(range(0, 10**9, 1000))
    monkeypatch.setattr("time.perf_counter", lambda: next(seconds))
    assert told(check(text)) == quick != []


def examined(text: str) -> Context:
    """A case that has gone through all stages, nothing of it explained."""
    context = context_of(text)
    for stage in STAGES:
        if stage.applies(context):
            context.found += stage.check(context)
    return context


def test_suggestions_are_made_in_the_context() -> None:
    context = examined(wrong(PRODUCT, "B", "A @ grad(C)"))
    before = len(context.found)
    assert suggestion.suggest(context, ExplanationPoints(context.points), DerivedFormulas(context.case)) is None
    assert len(context.found) == before
    (c,) = [c for c in context.found if c.diagnoses]
    assert c.trial is None
    assert c.formula == "A @ grad(C)"
    assert c.diagnoses[0].message["formula"] == c.diagnoses[0].formula == "A.T @ grad(C)"


# Counterexamples: small, as plain data, and only where a formula's numbers are wrong ----------------------

SQUARES = "{inputs: {x: 'randn(4)'}, graph: {loss: (x * x).sum()}, formulas: {x: %s}}"


def refuted(case: CaseResult) -> list[Fact]:
    return [d.message for c in case.comparisons for d in c.diagnoses if d.kind == "counterexample"]


def test_a_wrong_formula_has_one_that_can_be_checked_with_a_pencil(check: Check) -> None:
    (shown,) = refuted(check(SQUARES % "3 * x"))
    assert say(shown).startswith("counterexample: for x = [")
    assert shown["claimed"] * 2 == shown["true"] * 3
    (((name, values),), (index,)) = shown["given"], shown["index"]
    assert name == "x"
    assert shown["true"] == 2 * values[index]


def test_each_formula_has_one_however_often_it_fails(check: Check) -> None:
    assert len(refuted(check(SQUARES % "[3 * x, x, 2 * x]"))) == 2


def test_the_work_for_all_formulas_is_bounded(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    formulas = ", ".join(f"{factor} * x" for factor in range(3, 9))
    assert len(refuted(check(SQUARES % f"[{formulas}]"))) == 6
    monkeypatch.setattr(suggestion, "ALL_WORK", 1)
    assert len(refuted(check(SQUARES % f"[{formulas}]"))) < 6


def test_a_wrong_shape_needs_none(check: Check) -> None:
    assert not refuted(check(SQUARES % "x.sum()"))
    assert not refuted(check(SQUARES % "'x @ ones(3)'"))


def test_a_right_formula_has_none(check: Check) -> None:
    assert not refuted(check(SQUARES % "2 * x"))


def test_it_is_plain_data() -> None:
    shown = Counterexample({"n": 2}, {"x": np.array([[1.0], [2.5]])}, {"k": np.array(3)}, {}, (0, 0), 4.0, 1 / 3)
    found = counterexample_fact(shown, "x")
    assert found["given"] == (("x", ((1.0,), (2.5,))), ("k", 3))
    assert (found["index"], found["claimed"], found["true"]) == ((0, 0), 4.0, 1 / 3)
    assert (found["tensor"], found["sizes"], found["incoming"]) == ("x", (("n", 2),), ())
    assert hash(found) == hash(counterexample_fact(shown, "x"))


def test_a_derived_formula_is_told_only_where_it_is_right_elsewhere(check: Check) -> None:
    """For the exponent 2 alone `k * x` is the derivative of `x ** k`."""
    case = check("""
        dims: {k: 2}
        inputs: {x: [1.0, 2, 3]}
        graph: {y: x ** k}
        backward: {y: randn_like(y)}
        formulas: {x: k * x * grad(y)}
    """)
    assert case.status == "failed"
    assert told(case, "derived") == []


def test_a_suggestion_says_what_to_write_where_and_how_far_it_is_known(check: Check) -> None:
    case = check(wrong(PRODUCT, "A", "grad(C) @ B"))
    (found,) = [d for c in case.comparisons for d in c.diagnoses if d.kind == "did_you_mean"]
    assert found.edit is not None
    assert (found.edit.text, found.edit.apply_to("grad(C) @ B")) == ("B.T", "grad(C) @ B.T")
    assert found.evidence is not None
    assert found.evidence.kind == "suggestion_proved"
    assert say(found.evidence).startswith("proved for all values, at ")


def test_of_what_fails_at_ties_alone_nothing_near_is_looked_for(check: Check) -> None:
    text = "{inputs: {x: [1, 3, 3]}, graph: {y: amax(x)}, formulas: {x: grad(y) * (x == y)}}"
    listed = [diagnosis for c in check(text).comparisons for diagnosis in c.diagnoses]
    (told,) = [diagnosis for diagnosis in listed if diagnosis.kind == "derived"]
    assert told.message.kind == "fails_at_ties"
    assert "sum(x == y" in told.formula


def test_what_is_suggested_depends_on_no_point_where_the_reference_is_wrong(check: Check) -> None:
    """Torch's rule divides by no less than 1e-12, which sigmoid(-28) (1 - sigmoid(-28)) is below."""
    text = (
        "{dims: {n: 6}, inputs: {w: 'randn(n)'}, constants: {t: 'rand(n)'},"
        " graph: {p: sigmoid(w), L: 'binary_cross_entropy(p, t)'}, formulas: {w: (t - p) / n}}"
    )
    told = {d.formula for seed in (0, 1) for c in check(text, seed=seed).comparisons for d in c.diagnoses if d.edit}
    assert told == {"(p - t) / n"}


# Undefined formulas

UNDEFINED = "{inputs: {x: [0.0, 1.0, 2.0]}, graph: {y: x * x}, backward: {y: [1.0, 1.0, 1.0]}}"


def claim_from(text: str) -> Claim:
    return Claim(text, parse(text))


@pytest.mark.parametrize(
    ("wrong", "suggested", "is_excused"),
    [
        ("x / x", "2 * x * x / x", True),  # the author divides by 0 as well
        ("3 * x", "2 * x * x / x", False),
        ("x / x", "3 * x * x / x", False),  # off elsewhere, too
        ("1 / x", "2 * x * x / x", True),
        ("x / x + y[:2]", "2 * x * x / x", False),  # the author's has no value
        ("1 / (x - 1)", "2 * x * x / x", False),  # none elsewhere
    ],
)
def test_where_neither_is_a_number(wrong: str, suggested: str, is_excused: bool) -> None:
    own = context_of(UNDEFINED).points.own
    claims = StepClaims(own, own.last_step)
    with np.errstate(all="ignore"):
        found = check_formula(claims, "x", claim_from(suggested))
        assert found.status == "failed"
        assert is_equally_undefined(claim_from(wrong), claims, found) == is_excused


def test_without_one_nothing_is_excused() -> None:
    own = context_of(UNDEFINED).points.own
    claims = StepClaims(own, own.last_step)
    assert not is_equally_undefined(None, claims, check_formula(claims, "x", claim_from("2 * x * x / x")))


VECTORS = """
    dims: {n: 4, m: 3}
    inputs: {x: randn(n), y: randn(n), r: "uniform(0.5, 2, [n])", a: 0.7}
    constants: {W: "randn(m, n)", c: 0.3, ev: "randint(0, 2, [n])", g: randn(n)}
    graph:
      s: x.sum()
      u: c * detach(g @ y)
      h: W @ x
      d: x[1:] - a * x[:-1]
      L: h @ h + s * c + (ev * log(r)).sum() - (x * y).sum() + u + (d * d).sum()
"""
MATRIX = """
    dims: {n: 4, m: 3}
    inputs: {K: "randn(n, n)", X: "randn(n, m)", b: randn(n), s: 0.4}
    graph: {e: "X - b[:, None]", q: "(e * e).sum(1)", L: s * trace(K) + (q ** 2).sum()}
"""


@pytest.mark.parametrize(
    ("text", "name", "formula", "meant", "kind"),
    [
        (VECTORS, "s", "1", "c", "factor_of_tensor"),
        (VECTORS, "r", "1 / r", "ev / r", "factor_of_tensor"),
        (VECTORS, "y", "c * g - x", "-x", "one_term"),  # not with the gradient of u, which is none
        (VECTORS, "x", "2 * W @ h + c - y + cat([zeros(1), grad(d)]) - a * cat([grad(d), zeros(1)])",
         "2 * W.T @ h + c - y + cat([zeros(1), grad(d)]) - a * cat([grad(d), zeros(1)])", "operand_transposed"),
        (VECTORS, "a", "-(grad(d) * x[1:]).sum()", "-(grad(d) * x[:-1]).sum()", "other_formula"),
        (MATRIX, "s", "K.sum()", "K.trace()", "other_formula"),
        (MATRIX, "e", "2 * e * grad(q)", "2 * e * grad(q)[:, None]", "other_formula"),
        (MATRIX, "b", "-grad(e).sum(0)", "-grad(e).sum(dim=1)", "summed"),
        (MATRIX, "b", "-grad(e).mean(dim=-1)", "-grad(e).sum(dim=-1)", "factor"),
    ],
)  # fmt: skip
def test_a_correction_is_written_as_its_author_writes(
    check: Check, text: str, name: str, formula: str, meant: str, kind: str
) -> None:
    case = check(wrong(text, name, formula))
    assert told(case) == [meant]
    assert kind in {d.kind for c in case.comparisons for d in c.diagnoses}


@pytest.mark.parametrize(
    ("formula", "kind", "words"),
    [
        ("t - 0.5 * S @ w", "factor_of_tensor", "the factor 0.5 is too much"),
        ("t - 2 * S @ w", "factor_of_tensor", "the factor 2 is too much"),
        ("t", "path_dropped", "the path through `q` is dropped"),
    ],
)
def test_a_number_is_rather_meant_than_a_path_without_a_name(check: Check, formula: str, kind: str, words: str) -> None:
    case = check(f"""
        dims: {{n: 3}}
        inputs: {{w: randn(n)}}
        constants: {{A: "randn(n, n)", S: A @ A.T, t: randn(n)}}
        graph: {{q: w @ S @ w, L: w @ t - q / 2}}
        formulas: {{w: "{formula}"}}
    """)
    first = next(c.diagnoses[0] for c in case.comparisons if c.diagnoses)
    assert (first.kind, say(first.message)) == (kind, words)
