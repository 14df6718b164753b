"""Explained cases: every shipped case's formulas hold, are short, and survive being pasted into the case."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradcheck.checks import derivation, derivation_check
from gradcheck.checks.claims import combinations
from gradcheck.checks.claims.branch_coverage_trials import BranchCoverageTrials
from gradcheck.checks.derivation import Explanation, derived_claims, explain, taken_names
from gradcheck.checks.result import CaseResult
from gradcheck.checks.scheduling.run import run
from gradcheck.facts import fact
from gradcheck.language.case import Case
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import gradient_names
from gradcheck.language.loader import load
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.simplify.simplifier import RULES, Simplifier
from gradcheck.oracles.exact.prove import Proof
from gradcheck.reports.commands.explanation import FORMATS, render
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check
from tests.from_text import case_of
from tests.paths import CASES, ROOT, THEMES
from tests.sampling import evenly_spread, sample

#: All but those about code, whose incoming gradients are drawn for the code's sake.
FILES = sorted(
    path.relative_to(CASES).as_posix()
    for theme in THEMES
    for path in (ROOT / theme).rglob("*.yaml")
    if path.parent.name != "code"
)
#: Where the other sides of comparisons are looked for, too.
SEARCHED = ("elementwise/", "nn/activations", "reuse/", "dtypes/")
#: Cases that do not take their own formulas, and why.
NOT_TAKEN = {
    "running statistics": "v is what the entries before have made of it, which no formula can name: none is handed out",
}
#: What a document says about gradients as formulas, which the pasted ones replace.
_CLAIMS = re.compile(r"^(let|(?:wrong_)?(?:formulas|jacobians|hessians)|checks):.*\n(?:[ #].*\n|\n)*", re.MULTILINE)


def of(text: str, tmp_path: Path, **options: bool) -> Explanation:
    file = tmp_path / "case.yaml"
    file.write_text(text, encoding="utf-8")
    ((case,), errors) = load([str(file)])
    assert not errors
    return explain(case, **options)


def texts(found: Explanation) -> dict[str, str]:
    return {formula.tensor: to_text(formula.expr) for formula in found.formulas}


def find(file: str, name: str) -> Case:
    (case,) = (case for case in load([str(CASES / file)]).cases if case.name == name)
    return case


#: The most cases of one file whose formulas are pasted.
MOST_CASES = 1


@pytest.fixture
def no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the sides of comparisons that the points drawn are not on, which take most of the time."""
    monkeypatch.setattr(BranchCoverageTrials, "visit", lambda *_: [])
    monkeypatch.setattr(combinations, "applies", lambda _: False)


@pytest.mark.parametrize("file", sample(FILES, 2))
def test_every_shipped_case_takes_its_own_formulas(file: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Paste derived formulas as YAML and run them against torch, at all sizes.

    By children, and expanded where that makes others. Of a long file, cases spread over it; on all sides of each
    comparison in some themes alone.
    """
    if not file.startswith(SEARCHED):
        request.getfixturevalue("no_search")
    text = (CASES / file).read_text(encoding="utf-8")
    documents = [part for part in re.split(r"^---\n", text, flags=re.MULTILINE) if part.strip()]
    cases = load([str(CASES / file)]).cases
    assert len(documents) == len(cases)
    pasted: dict[str, list[str]] = {"by-children.yaml": [], "expanded.yaml": []}
    for document, case in evenly_spread(list(zip(documents, cases, strict=True)), MOST_CASES):
        if case.name not in NOT_TAKEN:
            found = explained(case, expand=False)
            ways = [found, explained(case, expand=True)] if speaks_of_children(found) else [found]
            claims = dict.fromkeys(render(one, "yaml") for one in ways)
            for into, claim in zip(pasted.values(), claims, strict=False):
                into.append(_CLAIMS.sub("", document + "\n") + claim)
    for name, changed in pasted.items():
        (tmp_path / name).write_text("---\n".join(changed), encoding="utf-8")
    result = run([tmp_path / name for name, changed in pasted.items() if changed])
    assert {case.status for case in result.cases} == {"passed"}, [
        (case.name, [(c.tensor, c.formula, c.mismatch) for c in case.comparisons if c.status != "passed"], case.errors)
        for case in result.cases
        if case.status != "passed"
    ]


def speaks_of_children(found: Explanation) -> bool:
    """Whether there is anything to expand: a gradient in terms of another that is none that comes in."""
    exprs = [*found.let.values(), *(formula.expr for formula in found.formulas)]
    return any(name not in found.incoming for expr in exprs for name in gradient_names(expr))


def explained(case: Case, expand: bool) -> Explanation:
    """What ``explain`` finds, which every format can show; where it finds nothing, no pass completes."""
    found = explain(case, expand=expand)
    is_refused = case.steps[0].action == "forward" and case.steps[0].raises is not None
    none = ("no_pass_completed", "forward_raises") if is_refused else ("no_pass_completed",)
    assert found.formulas or (found.why_not is not None and found.why_not.kind in none), found.why_not
    for format in FORMATS:
        assert render(found, format)
    return found


def test_what_no_formula_can_name_is_not_handed_out() -> None:
    found = explain(find("nn/normalizations.yaml", "running statistics"))
    assert not found.formulas
    assert found.why_not == fact("derived_does_not_hold", tensor="x")


@pytest.mark.parametrize(
    ("file", "name", "formulas"),
    [
        ("matmul/chain-of-four.yaml", "chain of four matrices",
         {"x": "y.T @ grad(p)", "n": "grad(r) @ q.T", "r": "ones_like(r)", "loss": "1"}),
        ("elementwise/known-numbers.yaml", "half of five squares, at (1, 2)", {"x": "5 * (x + 1)", "o": "1"}),
        ("broadcasting/rules.yaml", "centering", {"x": "grad(centered) - mean(grad(centered), dim=0)"}),
        ("nn/layers.yaml", "a linear layer", {"x": "grad(y) @ weight", "weight": "grad(y).T @ x"}),
        ("reuse/twice.yaml", "a sum of a tensor with itself, twice", {"x": "2 * grad(y)"}),
        ("reuse/a-thousand-uses.yaml", "a thousand uses by one child", {"x": "sum(grad(uses), dim=0)"}),
        ("dtypes/precisions.yaml", "float16", {"x": "2 * x * y", "y": "x ** 2"}),
        ("dtypes/complex.yaml", "the squared magnitude", {"z": "2 * z"}),
        ("matmul/products.yaml", "a bilinear form", {"a": "outer(u, v)"}),
        ("nn/losses.yaml", "mean squared error", {"p": "2 * (p - t) / p.numel()"}),
    ],
)  # fmt: skip
def test_formulas_are_what_a_person_would_write(file: str, name: str, formulas: dict[str, str]) -> None:
    found = texts(explain(find(file, name)))
    assert {tensor: found[tensor] for tensor in formulas} == formulas


def test_what_is_proved_says_so_and_what_cannot_be_does_not() -> None:
    matmul = explain(find("matmul/chain-of-four.yaml", "chain of four matrices"))
    assert all(formula.proof_bound is not None and formula.proof_bound < 1e-18 for formula in matmul.formulas)
    assert all(formula.points == 4 for formula in matmul.formulas)
    not_real = explain(find("dtypes/complex.yaml", "the squared magnitude"))
    assert all(formula.proof_bound is None for formula in not_real.formulas)


def test_numbers_of_the_case_in_a_formula_are_told(tmp_path: Path) -> None:
    """A gradient that starts above and comes in from outside as well has numbers that other trials change."""
    found = of(
        """
        inputs: {x: "randn(3)"}
        graph: {y: x * x, z: y.sum()}
        backward: {y: "randn(3)", z: 2}
        """,
        tmp_path,
    )
    (y,) = (formula for formula in found.formulas if formula.tensor == "y")
    assert y.is_case_specific
    assert y.points == 1
    text = render(found, "text")
    assert "(for these numbers and sizes alone)" in text
    assert "\n  y:" not in render(found, "yaml")


def test_large_cases_are_proved_at_other_sizes(tmp_path: Path) -> None:
    found = of(
        """
        dims: {n: 300}
        inputs: {a: "randn(n, n)", b: "randn(n, n)"}
        graph: {c: a @ b, loss: (c * c).sum()}
        """,
        tmp_path,
    )
    assert texts(found) == {"a": "grad(c) @ b.T", "b": "a.T @ grad(c)", "c": "2 * c", "loss": "1"}
    assert 1 < found.proved_at["n"] < 20
    assert "proved for any values at n = " in " ".join(render(found, "text").split())


def test_several_passes_add_up(tmp_path: Path) -> None:
    found = of(
        """
        inputs: {x: [1, 2, 3]}
        graph: {y: (2 * x).sum()}
        steps: [{backward: y}, {backward: y}]
        """,
        tmp_path,
    )
    x, y = found.formulas[0], found.formulas[-1]
    assert to_text(x.expr) == "2 * expand(grad(y), x.shape)" or to_text(x.expr) == "expand(2 * grad(y), x.shape)"
    assert x.holds_accumulated
    assert (to_text(y.expr), y.holds_accumulated) == ("1", False)


def test_a_formula_that_does_not_hold_is_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a rule may do, what is shown was found to hold: here every check on rules is switched off."""
    from gradcheck.language.expr.parser import parse
    from gradcheck.language.symbolic.simplify.part_properties import PartProperties

    monkeypatch.setattr(PartProperties, "are_equal", lambda *_: True)

    def wrong(node: object, know: object) -> object:
        return parse("3 * x") if to_text(node) == "2 * x" else None

    monkeypatch.setattr(derivation, "Simplifier", lambda know: Simplifier(know, (*RULES, wrong)))  # type: ignore[arg-type]
    found = of("{inputs: {x: 'randn(3)'}, graph: {y: (x * x).sum()}}", tmp_path)
    assert texts(found)["x"] == "expand(grad(y), x.shape) * x + expand(grad(y), x.shape) * x"


def test_what_has_no_gradients_says_why(tmp_path: Path) -> None:
    found = of("{inputs: {x: [1, 2]}, graph: {y: x * x}, backward: y}", tmp_path)
    assert found.why_not == fact("no_pass_completed")
    assert list(found.values) == ["x", "y"]
    found = of("{inputs: {x: [1, 2]}, graph: {y: 'x @ zeros(3, 3)'}}", tmp_path)
    assert found.why_not is not None
    assert (found.why_not.kind, found.values) == ("forward_raises", {})
    assert "forward pass raises" in say(found.why_not)
    for format in FORMATS:
        assert "no gradients: " in render(found, format)


def test_formulas_too_long_to_read_are_steps_or_an_error(tmp_path: Path) -> None:
    graph = "softmax(" * 40 + "x" + ", 1)" * 40
    found = of(f'{{inputs: {{x: "randn(2, 3)"}}, graph: {{y: "({graph} * x).sum()"}}}}', tmp_path)
    assert found.let
    assert max(map(len, texts(found).values())) < 1_000


# One pass of many ------------------------------------------------------------------------------------

PASSES = """
    inputs: {x: [1, 2], w: [3, 4]}
    graph: {y: x * w, z: y.sum()}
    steps: [{backward: z}, {zero_grad: all}, {forward: {x: [5, 6]}}, {backward: {y: [7, 8]}}]
    formulas: {w: grad(y) * x}
"""


def test_the_last_pass_is_explained() -> None:
    found = explain(case_of(PASSES))
    assert found.step == 3
    assert texts(found)["w"] == "grad(y) * x"
    assert all(formula.holds_accumulated for formula in found.formulas)


def test_steps_are_named_unlike_anything_in_the_case() -> None:
    case = case_of("{dims: {n: 2}, inputs: {x: 'randn(n)'}, constants: {t1: 2}, graph: {y: (x * t1).sum()}}")
    assert taken_names(case, draw(case)) == {"n", "x", "t1", "y"}


# What is not shown -------------------------------------------------------------------------------------


def test_what_the_exact_oracle_refutes_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuted = Proof("refuted")
    monkeypatch.setattr(derivation_check, "prove", lambda problem, claims: [refuted for _ in claims])
    found = of("{inputs: {x: 'randn(3)'}, graph: {y: (x * x).sum()}}", tmp_path)
    assert found.formulas == ()
    assert found.why_not == fact("derived_is_refuted", tensor="x")


def test_what_is_too_long_to_be_written_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation, "MAX_NODES", 4)
    found = of("{inputs: {x: 'randn(3)'}, graph: {y: (x * sin(x)).sum()}}", tmp_path)
    assert found.why_not is not None
    assert found.why_not.kind == "formula_too_long"
    assert found.why_not["parts"] > 4


MATMUL = """
    dims: {{n: 2, m: 3, k: 4}}
    inputs: {{x: "randn(n, m)", w: "randn(m, k)"}}
    graph: {{y: x @ w, z: y * y + 1, loss: z.sum()}}
    {let}
    formulas: {{{name}: "{formula}"}}
    """


def noted(case: CaseResult) -> bool:
    assert case.status == "passed", [c for c in case.comparisons if c.status != "passed"]
    formulas = [c for c in case.comparisons if c.what == "formula" and c.trial is None]
    assert formulas
    assert not any(c.notes for c in case.comparisons if c.what == "formula" and c.trial)  # said once
    return any(c.has_note("equals_derived") for c in formulas)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("w", "x.T @ grad(y)"),
        ("w", "(grad(y).T @ x).T"),
        ("w", "einsum('nm,nk->mk', x, grad(y))"),
        ("y", "grad(z) * 2 * y"),
        ("y", "2 * y"),
        ("y", "y + y"),
        ("y", "grad(z) * y / 0.5"),
        ("z", "ones_like(z)"),
        ("z", "expand(grad(loss), z.shape)"),
        ("loss", "1"),
    ],
)
def test_the_derived_formula_in_whatever_form(check: Check, name: str, formula: str) -> None:
    assert noted(check(MATMUL.format(let="", name=name, formula=formula), derived=True))


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("w", "stack([x.T @ grad(y)])[0]"),
        ("y", "2 * grad(z) * y + 0 * y"),
        ("y", "y * 2 * grad(z)"),  # the same factors in another order: somebody else wrote it
    ],
)
def test_another_derivation_is_evidence(check: Check, name: str, formula: str) -> None:
    assert not noted(check(MATMUL.format(let="", name=name, formula=formula), derived=True))


def test_steps_of_a_derivation_are_looked_through(check: Check) -> None:
    let = "let: {s: grad(y), t: x.T @ s}"
    assert noted(check(MATMUL.format(let=let, name="w", formula="t"), derived=True))


def test_nothing_is_said_unless_it_is_asked_for(check: Check) -> None:
    assert not noted(check(MATMUL.format(let="", name="w", formula="x.T @ grad(y)")))


def test_claims_are_told_by_tensor_and_text() -> None:
    text = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: [2 * x, x + x, 'stack([2 * x])[0]'], y: 1}\n"
    assert derived_claims(draw(case_of(text))) == {("x", "2 * x"), ("x", "x + x"), ("y", "1")}


def test_what_cannot_be_derived_equals_nothing() -> None:
    text = "inputs: {x: [1, 2]}\ngraph: {y: x * x}\nbackward: y\nformulas: {x: 2 * x}\n"
    assert derived_claims(draw(case_of(text))) == set()


@pytest.mark.parametrize("steps", ["[{backward: loss}, {backward: loss}]", "[{backward: loss}, {zero_grad: all}]"])
def test_of_several_steps_nothing_is_said(check: Check, steps: str) -> None:
    case = check(f"""
        inputs: {{x: [1, 2]}}
        graph: {{loss: (x * x).sum()}}
        steps: {steps}
        """, derived=True)  # fmt: skip
    assert not any(c.notes for c in case.comparisons)


def test_ops_with_several_results_can_be_compared(check: Check) -> None:
    case = check(
        "{dims: {n: 3, m: 2}, inputs: {x: 'randn(n, m)'}, graph: {y: 'sort(x, 1)[0]'}, backward: {y: 'randn(n, m)'},"
        " formulas: {x: 'zeros_like(x).scatter(1, sort(x, 1)[1], grad(y))'}}"
    )
    assert (case.status, case.incomplete) == ("passed", ())
