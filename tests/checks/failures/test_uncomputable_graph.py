"""What no engine can compute: where it is, what is said of it, and that others' failures stay what they are."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.uncomputable_graph import describe, find_uncomputable_part
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.pipeline import examine
from gradcheck.checks.result import CaseResult, Comparison, Failure
from gradcheck.engines.torch import Torch
from gradcheck.errors import Place
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check
from tests.from_text import case_of, problem_from

NET = """
    dims: {n: 3, d: 4, h: 2}
    inputs: {X: "randn(n, d)", W: "randn(d, h)"}
    graph: {Z: X @ W, H: tanh(Z), L: (H * H).sum()}
"""


def errors(text: str, **options: object) -> tuple[Failure, ...]:
    chosen = Options(**options)  # type: ignore[arg-type]
    return examine(case_of(text), chosen, engines_of(chosen)).errors


GRAPH = """\
inputs:
  X: randn(3, 4)
  W: randn(4, 5)
  b: randn(5)
graph:
  H: X * 2
  Z: relu(W @ H + b)
  loss: Z.sum()
"""


def test_the_first_part_that_cannot_be_computed() -> None:
    found = find_uncomputable_part(problem_from(GRAPH))
    assert found is not None
    assert (found.entry, found.part.at) == ("Z", 5)
    assert [operand.shape for operand in found.operands] == [(4, 5), (3, 4)]
    assert find_uncomputable_part(problem_from(GRAPH.replace("W @ H", "H @ W"))) is None


def test_the_same_by_an_engine() -> None:
    found = find_uncomputable_part(problem_from(GRAPH), Torch())
    assert found is not None
    assert all(isinstance(operand, np.ndarray) for operand in found.operands)
    assert found.error.message.startswith("torch: ")


def test_one_error_at_the_place_with_the_edit() -> None:
    (error,) = errors(GRAPH)
    assert (error.kind, error.place) == ("shape_mismatch", Place("case.yaml", 7, 11))
    assert (error.message["part"], error.message["meant"]) == ("W @ H", "relu(H @ W + b)")
    assert (error.hint.old, error.hint.new) == ("relu(W @ H + b)", "relu(H @ W + b)")  # type: ignore[attr-defined]
    assert error.own_words == (("torch", "torch: mat1 and mat2 shapes cannot be multiplied (4x5 and 3x4)"),)


def test_unexplained_it_is_what_the_reference_says() -> None:
    (error,) = errors(GRAPH, explained=False)
    assert error.message["what"].kind == "forward_raised"


def test_engines_that_call_it_otherwise_are_told_of_once() -> None:
    text = "inputs: {Z: 'randn(4, 3)'}\nconstants: {t: [0, 1, 2, 0]}\ngraph:\n  loss: cross_entropy(t, Z)\n"
    chosen = Options()
    context = examine(case_of(text), chosen, engines_of(chosen))
    (error,) = context.errors
    assert error.message["meant"] == "cross_entropy(Z, t)"
    assert [engine for engine, _ in error.own_words] == ["torch"]
    assert [c for c in context.found if c.reference == "torch"] == []


@pytest.mark.parametrize(
    ("constant", "use", "integers", "floats"),
    [
        ("[[1, 0], [2, 5]]", "t @ x", ("t",), ()),
        ("[[1.0, 0.0], [2.0, 5.0]]", "x @ t.long()", (), ()),
        ("[0.0, 1.0]", "cross_entropy(x, t)", (), ("t",)),
    ],
)
def test_constants_of_the_wrong_kind(
    constant: str, use: str, integers: tuple[str, ...], floats: tuple[str, ...]
) -> None:
    problem = problem_from(f"inputs: {{x: [[1, 2], [3, 4]]}}\nconstants: {{t: {constant}}}\ngraph:\n  y: {use}\n")
    refusal = find_uncomputable_part(problem)
    assert refusal is not None
    told, _ = describe(problem, refusal)
    assert (told["integers"], told["floats"]) == (integers, floats)


@pytest.mark.parametrize(
    ("rest", "kind"),
    [
        ("graph: {y: x * 2}", "root_of_many"),
        ("dtype: complex128\ngraph: {y: (x * x).sum()}", "complex_root"),
        ("graph: {y: x.detach().sum()}", "root_of_none"),
        ("graph: {y: x * 2}\nbackward: {y: [1, 2]}", "step_refused"),
    ],
)
def test_passes_that_cannot_begin(rest: str, kind: str) -> None:
    (error,) = errors(f"inputs: {{x: [1, 2, 3]}}\n{rest}\n")
    assert error.message.kind == kind
    assert error.own_words


def test_what_a_step_asks_for_is_no_refusal() -> None:
    text = "inputs: {x: [1, 2]}\ngraph: {y: x * 2}\nsteps:\n- backward: y\n  raises: domain_error\n"
    (error,) = errors(text)
    assert error.message["what"].kind == "step_raised"


def first(case: CaseResult) -> Comparison:
    return next(c for c in case.comparisons if c.status == "failed")


@pytest.mark.parametrize(
    ("claim", "told", "part"),
    [
        (
            'formulas: {X: "ones_like(X) * (W @ grad(Z))"}',
            "W of shape [4, 2] and grad(Z) of shape [3, 2] cannot be multiplied: 2 columns, 3 rows",
            "W @ grad(Z)",
        ),
        (
            'formulas: {W: "X.T @ grad(Z) + X"}',
            "X.T @ grad(Z) of shape [4, 2] and X of shape [3, 4] do not go together",
            "X.T @ grad(Z) + X",
        ),
        (
            "checks: ['(X * W).sum() == 1']",
            "X of shape [3, 4] and W of shape [4, 2] do not go together",
            "X * W",
        ),
        (
            'formulas: {X: "X * X[7, 0]"}',
            "X[7, 0]: index 7 is beyond dimension 0, which has a size of 3 (X has shape [3, 4])",
            "X[7, 0]",
        ),
    ],
)
def test_a_claim_says_of_which_operands_it_cannot_be_computed(check: Check, claim: str, told: str, part: str) -> None:
    c = first(check(f"{NET}    {claim}"))
    assert say(c.mismatch) == told
    assert c.part is not None
    assert c.part.text[c.part.start : c.part.end] == part


def test_what_cannot_be_computed_in_a_step_is_told_of_the_step(check: Check) -> None:
    case = check(f"{NET}    let: {{s: X * W}}\n    checks: ['s.sum() == 1']")
    c = first(case)
    assert say(c.mismatch) == "the step s: X of shape [3, 4] and W of shape [4, 2] do not go together"
    assert c.part is None


def test_what_has_no_part_of_its_own_stays(check: Check) -> None:
    c = first(check(f"{NET}    formulas: {{X: 'max(X, dim=0)'}}"))
    assert say(c.mismatch).startswith("2 tensors where one is expected")
