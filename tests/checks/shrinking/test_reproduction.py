"""Failing cases made smaller, each still failing in the same way, and written as Python for a Tensor class."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import ops
from gradcheck.checks.options import QUICK, THOROUGH
from gradcheck.checks.result import CaseResult, Comparison, Reproduction, Subject
from gradcheck.checks.scheduling.run import run
from gradcheck.checks.shrinking.case_edits import count_operations
from gradcheck.checks.shrinking.failure_signature import FailureSignature, signature_of
from gradcheck.checks.shrinking.reproduction import CandidateBudget, Shrinker, gradient_to_print, snippet
from gradcheck.engines.resolve import resolve_engine
from gradcheck.language.case import Case
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.loader import load_text
from tests.checks.shrinking.build import entries, pinned, shapes
from tests.conftest import WithRules
from tests.from_text import case_of
from tests.paths import WRONG_ENGINES, wrong_engine
from tests.processes import run_python

ENGINE = FailureSignature(ClaimKind.GRADIENT, ("numbers",), "core")
NETWORK = """
    inputs: {x: "randn(2, 4)", w: "randn(4, 5)"}
    graph: {a: x @ w, b: tanh(a) * 2, c: b * b, loss: c.sum()}
"""


def shrinker(fails: Callable[[Case], bool], candidates: float = 1000, signature: FailureSignature = ENGINE) -> Shrinker:
    def check(case: Case, thorough: bool) -> CaseResult:
        assert not thorough
        kind = signature.kind or ClaimKind.GRADIENT
        subject = Subject(kind, signature.tensor, engine=signature.engine, formula=signature.formula)
        return CaseResult("", "", "", "failed" if fails(case) else "passed", comparisons=(subject.failed(),))

    return Shrinker(signature, check, CandidateBudget(candidates))


def has_tanh(case: Case) -> bool:
    return any("tanh" in text for text in entries(case).values())


def test_it_ends_where_nothing_smaller_fails() -> None:
    found = shrinker(has_tanh)
    smallest = found.smallest(pinned(NETWORK))
    assert found.complete
    (text,) = entries(smallest).values()
    assert text.startswith("tanh(")
    assert set(shapes(smallest).values()) == {(1, 1)}


def test_what_must_stay_stays() -> None:
    def is_wide(case: Case) -> bool:
        return has_tanh(case) and any(np.ndim(v.array) == 2 and np.shape(v.array)[-1] > 2 for v in case.inputs.values())

    smallest = shrinker(is_wide).smallest(pinned(NETWORK))
    assert set(shapes(smallest).values()) == {(1, 3)}


def test_a_budget_that_is_spent_ends_it() -> None:
    tried: list[Case] = []

    def fails(case: Case) -> bool:
        tried.append(case)
        return has_tanh(case)

    found = shrinker(fails, candidates=3)
    found.smallest(pinned(NETWORK))
    assert not found.complete
    assert 1 <= len(tried) <= 3


def test_larger_candidates_cost_more() -> None:
    small, large = CandidateBudget(100), CandidateBudget(100)
    assert small.spend(pinned("{inputs: {x: 1}, graph: {y: x * 2}}"))
    assert large.spend(pinned("{inputs: {x: 'randn(100, 100)'}, graph: {y: x.sum()}}"))
    assert 1 < small.spent < 2 < large.spent < 100
    assert not CandidateBudget(0).spend(pinned("{inputs: {x: 1}, graph: {y: x * 2}}"))


def test_nothing_is_tried_twice() -> None:
    tried: list[str] = []

    def fails(case: Case) -> bool:
        tried.append(repr((entries(case), case.inputs, case.constants, case.steps)))
        return False

    found = shrinker(fails)
    case = pinned(NETWORK)
    found.smallest(case)
    found.smallest(case)
    assert tried
    assert len(set(tried)) == len(tried)


def test_the_graph_of_a_claim_stays() -> None:
    claim = FailureSignature(ClaimKind.FORMULA, ("numbers",), "case", "x", "x")
    smallest = shrinker(lambda case: True, signature=claim).smallest(pinned(NETWORK + "    formulas: {x: x}"))
    assert list(smallest.graph) == ["a", "b", "c", "loss"]
    assert set(shapes(smallest).values()) == {(1, 1)}


def test_known_numbers_keep_theirs() -> None:
    known = FailureSignature(ClaimKind.EXPECTED, ("numbers",), "core", "x")
    case = pinned("{inputs: {x: [1.5, 2.5]}, graph: {y: x.sum()}, expected: {x: [1, 2]}}")
    assert shapes(shrinker(lambda case: True, signature=known).smallest(case)) == {"x": (2,)}


def test_another_failure_is_none() -> None:
    def crashes(case: Case, thorough: bool) -> CaseResult:
        return CaseResult("", "", "", "failed", comparisons=(Subject(ClaimKind.VALUE, "y", engine="core").failed(),))

    assert not Shrinker(ENGINE, crashes, CandidateBudget(10)).fails(pinned(NETWORK))


def test_what_is_drawn_is_not_cut() -> None:
    """Only what is unused can be left out of it."""
    case = case_of("{inputs: {x: 'randn(3)', w: 'randn(3)'}, graph: {y: tanh(x), loss: y.sum()}}")
    assert list(shrinker(has_tanh).smallest(case).graph) == ["y", "loss"]


MLP = """
    dims: {n: 4, k: 3, h: 5}
    inputs: {x: "randn(n, k)", w1: "randn(k, h)", b1: "randn(h)", w2: "randn(h, 2)"}
    constants: {t: "randn(n, 2)"}
    graph:
      a: tanh(x @ w1 + b1)
      y: a @ w2
      loss: ((y - t) ** 2).mean()
    tags: [nn]
    checks: [loss >= 0]
"""
Shrink = Callable[..., CaseResult]


@pytest.fixture
def shrunk(run_text: Callable[..., Any]) -> Shrink:
    def shrinks(text: str, **options: Any) -> CaseResult:
        (case,) = run_text(text, **{"shrink": THOROUGH, **options}).cases
        return case

    return shrinks


def smallest(result: CaseResult) -> Reproduction:
    assert result.smallest is not None, result.errors
    return result.smallest


def again(found: Reproduction, **options: Any) -> CaseResult:
    cases, errors = load_text(found.case, "smallest.yaml")
    assert errors == []
    (result,) = run(cases, **options).cases
    return result


def test_a_wrong_rule_in_a_network(shrunk: Shrink, with_rules: WithRules) -> None:
    with_rules("tanh", lambda g, y, x: g * (1 - y))
    result = shrunk(MLP)
    found = smallest(result)
    assert found.complete
    assert found.operations == 1
    assert "tanh(" in found.case
    assert "checks" not in found.case
    assert len(found.case.splitlines()) <= 7
    assert signature_of(again(found)) == signature_of(result)


def test_a_transpose_needs_more_than_one_row(shrunk: Shrink, with_rules: WithRules) -> None:
    """What is wrong must stay visible: at size 1 a missing transpose is none."""
    with_rules("T", lambda g, y, x: g.T + (g.T - g.T.T) if g.shape[0] == g.shape[1] else g.T)
    result = shrunk("""
        inputs: {x: [[1.5, 2.5, 3], [4, 5, 6], [7, 8, 9.25]]}
        graph: {y: x.T * 2, z: tanh(y), loss: (z * z).sum()}
    """)
    found = smallest(result)
    (case,), _ = load_text(found.case, "smallest.yaml")
    assert np.shape(case.inputs["x"].array) == (2, 2)
    assert count_operations(case) == 1


def test_numbers_do_not_shrink_to_a_kink(shrunk: Shrink, with_rules: WithRules) -> None:
    """At 0 any slope from 0 to 1 would be a convention, here also at 1."""
    with_rules("relu", lambda g, y, x: g * ops.where(x > 0, 1.0, 1e-6))
    found = smallest(shrunk("{inputs: {x: [1.5, -0.3], w: [2, 0.5]}, graph: {h: x * w, r: relu(h), y: r.sum()}}"))
    assert "relu(h)" in found.case
    assert again(found).status == "failed"
    found = smallest(shrunk("{inputs: {x: [1.5, 0.7]}, graph: {h: 2 * x, r: relu(1.2 - h), y: r.sum()}}"))
    assert again(found).status == "failed"


def test_a_wrong_sign_needs_no_infinity(shrunk: Shrink, with_rules: WithRules) -> None:
    with_rules("div", lambda g, y, a, b, *rest: g / b, lambda g, y, a, b, *rest: -g * a / (b * ops.abs(b)))
    found = smallest(shrunk("{inputs: {a: [1.5, 2.5], b: [2, -0.4]}, graph: {q: a / b, t: tanh(q), y: t.sum()}}"))
    assert "-1" in found.case
    assert "0.0" not in found.case


def test_a_formula_keeps_its_graph(shrunk: Shrink) -> None:
    result = shrunk("""
        dims: {n: 6, k: 5}
        inputs: {x: "randn(n, k)", b: "randn(k)"}
        graph: {y: x + b, z: exp(y)}
        backward: {z: "randn(n, k)"}
        formulas: {b: (grad(z) * z).sum(dim=1), x: grad(z) * z}
        expected: {}
    """)
    found = smallest(result)
    (case,), _ = load_text(found.case, "smallest.yaml")
    assert list(case.graph) == ["y", "z"]
    assert [claim.text for claim in case.formulas["b"]] == ["(grad(z) * z).sum(dim=1)"]
    assert list(case.formulas) == ["b"]
    assert np.shape(case.inputs["x"].array) in ((1, 2), (2, 1), (2, 3), (1, 1))
    assert again(found).status == "failed"


def test_a_formula_that_fails_in_trials_alone(shrunk: Shrink) -> None:
    """Right where n is 2; the trial that refutes it is written out, and made smaller."""
    result = shrunk("""
        inputs: {x: [1, 2]}
        graph: {loss: (x * x).sum()}
        formulas: {x: "x.shape[0] * x"}
        shapes: {x: [n]}
    """)
    found = smallest(result)
    assert "shapes" not in found.case
    assert "generalize" not in found.case
    (case,), _ = load_text(found.case, "smallest.yaml")
    assert np.size(case.inputs["x"].array) == 1
    assert again(found).status == "failed"


def test_unasked_only_engines_are_looked_into(run_text: Callable[..., Any], with_rules: WithRules) -> None:
    wrong_formula = "{inputs: {x: [1, 2, 3]}, graph: {y: (x * x).sum()}, formulas: {x: 3 * x}}"
    assert run_text(wrong_formula, shrink=QUICK).cases[0].smallest is None
    assert run_text(wrong_formula).cases[0].smallest is None
    with_rules("tanh", lambda g, y, x: g * (1 - y))
    assert run_text(MLP, shrink=QUICK).cases[0].smallest is not None


def test_unasked_one_case_of_those_that_fail_alike(run_text: Callable[..., Any], with_rules: WithRules) -> None:
    """`--shrink` takes each."""
    with_rules("tanh", lambda g, y, x: g * (1 - y))
    two = f"{dedent(MLP)}---\n{dedent(MLP)}name: again\n"
    assert [case.smallest is not None for case in run_text(two, shrink=QUICK).cases] == [True, False]
    assert [case.smallest is not None for case in run_text(two, shrink=THOROUGH).cases] == [True, True]


def test_what_passes_or_must_fail_is_left_alone(run_text: Callable[..., Any], with_rules: WithRules) -> None:
    assert run_text(MLP, shrink=THOROUGH).cases[0].smallest is None
    with_rules("tanh", lambda g, y, x: g * (1 - y))
    expected = run_text(MLP + "    xfail: shows a mistake\n", shrink=THOROUGH).cases[0]
    assert (expected.status, expected.smallest) == ("xfailed", None)


def test_an_engine_that_crashes(shrunk: Shrink, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcheck.engines.core import Core

    def breaks(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(Core, "backward", breaks)
    result = shrunk(MLP)
    assert result.status == "crashed"
    assert smallest(result).operations <= 1


@pytest.mark.parametrize(("engine", "text"), [
    ("overwrites", "{inputs: {a: [1, 2], b: [3, 4], c: [5, 6]}, graph: {d: a + b, e: b + c, f: d + e}, "
                   "backward: {f: [1, 1]}}"),
    ("mutates", "{inputs: {a: [1.5, 2]}, graph: {d: a + a, e: d * a, f: e + d}, backward: {f: [1, 2]}}"),
])  # fmt: skip
def test_a_tensor_class_also_gets_a_snippet_that_runs(shrunk: Shrink, engine: str, text: str) -> None:
    result = shrunk(text, engines=(wrong_engine(engine),))
    snippet = smallest(result).snippet
    assert f"from {engine} import Tensor" in snippet
    assert len(snippet.splitlines()) <= 8
    setup = f"import sys, warnings; sys.path.insert(0, {str(WRONG_ENGINES)!r}); warnings.simplefilter('error')"
    done = run_python("-c", snippet.replace("import numpy", f"{setup}\nimport numpy", 1))
    assert done.returncode == 0, done.stderr
    should = snippet.rpartition("should be ")[2].strip()
    assert done.stdout.strip()
    assert should not in done.stdout


RIGHT: Any = resolve_engine(wrong_engine("right"))


def test_constructors_the_graph_one_pass_and_what_is_wrong() -> None:
    case = pinned("{inputs: {x: [1, 2]}, graph: {y: x * x}, backward: {y: [1, 1]}}")
    lead = Subject(ClaimKind.GRADIENT, "x").failed(want_array=np.array([2.0, 4.0]))
    lines = snippet(case, RIGHT, lead).splitlines()
    assert lines[0].startswith("# in the folder ")
    assert lines[1] == "import numpy as np"
    assert lines[-1].endswith("it should be [2.0, 4.0]")
    assert "y = x * x" in lines


def test_of_wrong_gradients_one_with_wrong_numbers_is_printed() -> None:
    def failed(tensor: str, got: np.ndarray) -> Comparison:
        subject = Subject(ClaimKind.GRADIENT, tensor, engine="mine", reference="torch")
        return Comparison(subject, "failed", got_array=got, want_array=np.array([-1.0]))

    found = CaseResult("", "", "", "failed", comparisons=(failed("a", np.array(-1.0)), failed("b", np.array(1.0))))
    lead = gradient_to_print(found)
    assert lead is not None
    assert lead.tensor == "b"


def test_what_takes_more_than_that_is_not_written() -> None:
    steps = pinned("{inputs: {x: [1, 2]}, graph: {y: x.sum()}, steps: [{backward: y}, {zero_grad: x}]}")
    assert snippet(steps, RIGHT, None) == ""


def test_a_search_that_fails_itself_costs_no_verdict(
    shrunk: Shrink, with_rules: WithRules, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_: object) -> None:
        raise AttributeError("no dtype")

    monkeypatch.setattr("gradcheck.checks.shrinking.reproduction.without_other_claims", breaks)
    with_rules("tanh", lambda g, y, x: g * (1 - y))
    found = shrunk("{inputs: {x: [1, 2]}, graph: {h: tanh(x), y: h.sum()}}")
    assert (found.status, found.smallest) == ("failed", None)
    assert [lost.message["part"] for lost in found.incomplete] == ["smallest"]
