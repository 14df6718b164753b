"""The shipped cases pass, say what they are known to say, and fail as soon as they say anything else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcheck import load, run
from gradcheck.autograd import TABLE
from gradcheck.checks.result import CaseResult
from gradcheck.language.case import Case, Value
from gradcheck.language.expr.traverse import mentions
from gradcheck.reports.phrases import say
from tests.paths import CASES
from tests.sampling import evenly_spread

FILES = sorted(path.relative_to(CASES).as_posix() for path in CASES.rglob("*.yaml"))


@cache
def cases_of(file: str) -> dict[str, Case]:
    """The cases of a shipped file, by name."""
    cases, errors = load([str(CASES / file)])
    assert errors == ()
    return {case.name: case for case in cases}


def find(where: str) -> Case:
    file, name = where.split("::")
    return cases_of(file)[name]


def why(result: CaseResult) -> str:
    lines = [f"{result.id}: {result.status}", *(f"  {error.kind}: {say(error.message)}" for error in result.errors)]
    lines += [
        f"  {c.what} {c.tensor} {c.status}: {c.got} is not {c.want} {c.formula} {say(c.mismatch)}"
        for c in result.comparisons
        if c.status != "passed"
    ]
    return "\n".join(lines)


# All of them ---------------------------------------------------------------------------------------


#: The cookbook's are run by the test of its index, `tests/benchmarks/test_cookbook.py`.
@pytest.mark.parametrize("file", [file for file in FILES if not file.startswith("cookbook/")])
def test_every_case_passes(file: str) -> None:
    """One of each file: README's `gradcheck run cases/`, which CI runs as well, checks all."""
    some = evenly_spread(list(cases_of(file).values()), 1)
    result = run(some, allow_code=file.startswith("code/"))
    bad = [why(case) for case in result.cases if case.status not in ("passed", "xfailed")]
    assert not bad, "\n".join(bad)
    assert len(result.cases) == len(some)


@pytest.mark.parametrize("file", FILES)
def test_every_case_says_what_it_shows(file: str) -> None:
    for case in cases_of(file).values():
        is_refused = len(case.steps) == 1 and case.steps[0].raises is not None  # its name says by what
        assert len(case.description.split()) > 1 or is_refused, case.id
        assert case.tags, case.id
        known = (case.expected, case.values, case.formulas, case.checks, case.implementations)
        claimed = case.states_derivatives or any(known) or any(s.expected or s.raises for s in case.steps)
        assert claimed or "edges" in case.tags, f"{case.id} claims nothing"  # edges are held to the reference


def test_every_theme_is_there() -> None:
    themes = {file.split("/")[0] for file in FILES}
    assert themes >= {"reuse", "matmul", "elementwise", "reduction", "steps", "nn", "refuted"}


#: Ops that others are made of, which nobody writes; and one of a dtype that NumPy has not.
INSIDE = {
    "binary_exponent", "chalf", "cofactors", "det_hessian", "det_sign", "eig_packed", "eigh_packed", "index_adjoint",
    "logabsdet", "lu_packed", "lu_pivots", "median_of_all", "median_place", "mode_place", "pivoted_rows", "qr_packed",
    "ranked_place", "running_place", "svd_packed",
}  # fmt: skip


#: Ops whose results nobody knows beforehand.
RANDOM = {
    "normal", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "randperm", "uniform",
    "uniform_like",
}  # fmt: skip


def test_every_op_stands_in_a_case_with_a_formula_or_known_numbers() -> None:
    used: set[str] = set()
    claimed: set[str] = set()
    for file in FILES:
        for case in cases_of(file).values():
            values = [value.expr for value in (*case.inputs.values(), *case.constants.values())]
            graph = [claim.expr for claim in case.graph.values()]
            listed = [
                claim
                for section in (case.formulas, case.wrong_formulas)
                for several in section.values()
                for claim in several
            ]
            claims = [claim.expr for claim in (*listed, *case.let.values(), *case.checks)]
            known = any(step.expected or step.values or step.checks for step in case.steps)
            for expr in (*graph, *claims, *filter(None, values)):
                used |= mentions(expr).ops.keys()
            if claims or known or case.expected or case.values:
                claimed |= {name for expr in (*graph, *claims) for name in mentions(expr).ops}
    assert TABLE.keys() - used == INSIDE
    assert TABLE.keys() - claimed == INSIDE | RANDOM


# What is known ------------------------------------------------------------------------------------

#: Gradients that were known before gradcheck was, by case.
KNOWN: dict[str, dict[str, Any]] = {
    "reuse/twice.yaml::a sum of a tensor with itself, twice": {"x": [4] * 4},
    "reuse/twice.yaml::four uses in one expression, then two": {"x": [8] * 4},
    "reuse/shared-summand.yaml::one summand in two sums": {"a": [1] * 5, "b": [2] * 5, "c": [1] * 5},
    "reuse/shared-summand.yaml::sums of sums and of their parts": {"x1": [3] * 3, "x2": [3] * 3},
    "matmul/first-steps.yaml::a plane's slopes": {"x": [13, 7]},
    "matmul/first-steps.yaml::the right factor of a summed product": {"x": [[4] * 3, [6] * 3]},
    "matmul/first-steps.yaml::both factors of a summed product": {"y": [[27, 17]] * 3},
    "matmul/chain-of-four.yaml::chain of four matrices": {
        "n": [[3700, 9950, 8125, 5550]] * 2,
        "z": [[420 * k, 660 * k, 900 * k] for k in (1, 2, 3, 4)],
        "y": [[23400] * 2, [31800] * 2, [21900] * 2],
        "x": [[76500] * 2, [91920] * 2],
    },
    "elementwise/known-numbers.yaml::half of five squares, at (1, 1)": {"x": [10, 10]},
    "elementwise/known-numbers.yaml::half of five squares, at (1, 2)": {"x": [10, 15]},
    "elementwise/known-numbers.yaml::a sum of two tensors": {"x": [1] * 3, "y": [1] * 3},
    "elementwise/known-numbers.yaml::the mean of twice a square": {"x": [2.1684, 1.3831, 3.6287]},
    "steps/accumulation.yaml::seven backward passes": {"x": [7] * 3, "y": [7] * 3},
    "reuse/a-thousand-uses.yaml::a thousand uses by one child": {"x": [499500] * 2},
    "reuse/a-thousand-uses.yaml::a thousand uses by a thousand children": {"x": [1000, 10000]},
    "steps/stopping.yaml::detach": {"y": None, "cut": None},
}

#: Derivations by hand, character by character.
DERIVED: dict[str, dict[str, list[str]]] = {
    "matmul/first-steps.yaml::both factors of a summed product": {
        "x": ["(torch.ones([x.shape[1], 1]) @ y.sum(dim=0, keepdim=True)).T"],
        "y": ["(x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])).T"],
    },
    "matmul/chain-of-four.yaml::chain of four matrices": {
        "n": ["((z @ y @ x).sum(dim=1, keepdim=True) @ torch.ones([1, n.shape[0]])).T"],
        "z": ["(((y @ x).sum(dim=1, keepdim=True) @ torch.ones([1, z.shape[0]])) @ n.sum(dim=0).diag()).T"],
        "y": ["((x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])) @ (n @ z).sum(dim=0).diag()).T"],
        "x": ["(torch.ones([x.shape[1], x.shape[0]]) @ (n @ z @ y).sum(dim=0).diag()).T"],
    },
}

#: Attempts that were given up.
ABANDONED: dict[str, list[str]] = {
    "y": ["x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])"],
    "x": ["(torch.ones([1, x.shape[0]]) @ (n @ z @ y).sum(dim=0).diag()).T"],
}


def array(claims: Mapping[str, Value | None], name: str) -> np.ndarray | None:
    value = claims[name]
    return None if value is None else np.asarray(value.array)


@pytest.mark.parametrize("where", KNOWN)
def test_known_gradients_are_claimed(where: str) -> None:
    case = find(where)
    for name, want in KNOWN[where].items():
        got = array(case.expected, name)
        if want is None:
            assert got is None
        else:
            assert got is not None
            np.testing.assert_array_equal(got, np.asarray(want))


@pytest.mark.parametrize("where", DERIVED)
def test_derivations_are_claimed(where: str) -> None:
    claimed = find(where).formulas
    assert {name: [claim.text for claim in claimed[name]] for name in DERIVED[where]} == DERIVED[where]


def test_abandoned_attempts_are_refuted() -> None:
    case = find("matmul/chain-of-four.yaml::chain of four matrices")
    assert {name: [claim.text for claim in claims] for name, claims in case.wrong_formulas.items()} == ABANDONED
    (result,) = run([case]).cases
    refuted = [c for c in result.comparisons if c.what == "wrong_formula"]
    assert {(c.tensor, c.formula) for c in refuted} == {(n, f) for n, fs in ABANDONED.items() for f in fs}
    assert all(c.status == "passed" for c in refuted)


def test_the_chain_holds_at_every_shape() -> None:
    case = find("matmul/chain-of-four.yaml::chain of four matrices")
    assert set(case.shapes) == {"x", "y", "z", "n"}
    assert case.generalize is not None
    assert case.generalize.trials >= 3


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("steps/accumulation.yaml::a weight's gradient that nobody clears", [3, 6, 9]),
        ("steps/accumulation.yaml::a weight's gradient, cleared between passes", [3, 3, 3]),
    ],
)
def test_passes_accumulate_until_they_are_cleared(where: str, expected: list[int]) -> None:
    passes = [step for step in find(where).steps if step.action == "backward"]
    found = [array(step.expected, "w") for step in passes]
    np.testing.assert_array_equal(np.asarray(found), [[number] * 4 for number in expected])


def test_gradients_from_the_end_and_from_the_middle() -> None:
    first, second = find("steps/accumulation.yaml::one pass from the end, one from the middle").steps
    np.testing.assert_array_equal(array(first.expected, "x"), [2.1684, 1.3831, 3.6287])
    np.testing.assert_array_equal(array(second.roots, "z"), [0.1, 1.0, 0.0001])
    np.testing.assert_array_equal(array(second.expected, "x"), [2.8189, 5.5326, 3.6298])
    raising = find("steps/errors.yaml::a vector without an incoming gradient").steps[0]
    assert raising.raises == "non_scalar_backward"


@pytest.mark.parametrize(
    ("where", "parameters"),
    [
        ("nn/mlp.yaml::a two-layer MLP with softmax cross-entropy", {"w1", "b1", "w2", "b2"}),
        ("nn/layer-norm.yaml::layer norm, step by step", {"x", "gamma", "beta"}),
        ("nn/attention.yaml::attention, step by step", {"x", "wq", "wk", "wv", "wo"}),
    ],
)
def test_networks_are_derived_for_every_parameter(where: str, parameters: set[str]) -> None:
    case = find(where)
    assert set(case.inputs) == parameters
    assert set(case.formulas) >= parameters
    assert any("grad(" in claim.text for claims in case.formulas.values() for claim in claims)


# What is claimed is checked -----------------------------------------------------------------------

#: file, what stands there, what is put in its place, and the comparison that must fail.
MUTATIONS = [
    ("reuse/twice.yaml", "  x: [4, 4, 4, 4]", "  x: [4, 4, 2, 4]", "expected", "x"),
    ("reuse/twice.yaml", "  z: [8, 8, 8, 8]", "  z: [8, 8, 8, 9]", "expected_value", "z"),
    ("reuse/shared-summand.yaml", "- 2 * grad(f)", "- grad(f)", "formula", "b"),
    ("reuse/shared-summand.yaml", "  d: [1, 1, 1, 1, 1]", "  d: [1, 1, 1, 1, 0]", "expected", "d"),
    ("reuse/a-thousand-uses.yaml", "  x: [499500, 499500]\n---", "  x: [499500, 499501]\n---", "expected", "x"),
    ("matmul/first-steps.yaml", "  x: [13, 7]", "  x: [7, 13]", "expected", "x"),
    ("matmul/chain-of-four.yaml", "[23400, 23400]", "[23400, 23401]", "expected", "y"),
    ("matmul/chain-of-four.yaml", "[1, n.shape[0]])).T", "[1, n.shape[0]])).T * 1.000001", "formula", "n"),
    ("matmul/chain-of-four.yaml", "[x.shape[1], x.shape[0]]", "[x.shape[0], x.shape[1]]", "formula", "x"),
    ("matmul/chain-of-four.yaml", "    - x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])",
     "    - ((x.sum(dim=1, keepdim=True) @ torch.ones([1, y.shape[0]])) @ (n @ z).sum(dim=0).diag()).T",
     "wrong_formula", "y"),
    ("matmul/first-steps.yaml", "(y @ x).sum() == (grad(x) * x).sum()", "(y @ x).sum() == (grad(x) * y.sum()).sum()",
     "check", ""),
    ("elementwise/known-numbers.yaml", "  x: [2.1684, 1.3831, 3.6287]", "  x: [2.1684, 1.3831, 3.6277]",
     "expected", "x"),
    ("steps/accumulation.yaml", "expected: {w: [9, 9, 9, 9]}", "expected: {w: [3, 3, 3, 3]}", "expected", "w"),
    ("steps/accumulation.yaml", "expected: {x: [303, 12]}", "expected: {x: [300, 0]}", "expected", "x"),
    ("steps/stopping.yaml", "  y: null\n  cut: null", "  y: [1, 2, 3]\n  cut: null", "expected", "y"),
    ("nn/mlp.yaml", "w1: x.T @ grad(pre)\n", "w1: x.T @ grad(hidden)\n", "formula", "w1"),
    ("nn/layer-norm.yaml", "x: grad(c) + grad(mu) / d ", "x: grad(c) - grad(mu) / d ", "formula", "x"),
    ("nn/attention.yaml", "wo: o.T @ grad(y)", "wo: grad(y).T @ o", "formula", "wo"),
    ("refuted/right-at-one-point.yaml", "  x: 2 * x\nwrong_formulas:\n  x: x * x\n", "  x: x * x\n", "formula", "x"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "before", "after", "what", "tensor"), MUTATIONS)
def test_a_wrong_claim_fails(tmp_path: Path, file: str, before: str, after: str, what: str, tensor: str) -> None:
    text = (CASES / file).read_text(encoding="utf-8")
    assert before in text
    changed = tmp_path / "changed.yaml"
    changed.write_text(text.replace(before, after, 1), encoding="utf-8")
    result = run([str(changed)])
    failed = [case for case in result.cases if case.status == "failed"]
    assert len(failed) == 1, "\n".join(why(case) for case in result.cases)
    assert result.exit_code == 1
    wrong = [c for c in failed[0].comparisons if c.status == "failed"]
    assert {c.what for c in wrong} == {what}
    assert not tensor or {c.tensor for c in wrong} == {tensor}
    line = changed.read_text(encoding="utf-8").splitlines()[wrong[0].place.line - 1]
    assert any(part.strip() in line for part in after.splitlines() if part.strip())


def test_an_error_of_another_kind_fails(tmp_path: Path) -> None:
    text = (CASES / "steps/errors.yaml").read_text(encoding="utf-8")
    changed = tmp_path / "changed.yaml"
    changed.write_text(text.replace("raises: non_scalar_backward", "raises: no_grad_required"), encoding="utf-8")
    (failed,) = [case for case in run([str(changed)]).cases if case.status != "passed"]
    assert failed.status == "failed"
    assert any("non_scalar_backward, not no_grad_required" in say(error.message) for error in failed.errors)
