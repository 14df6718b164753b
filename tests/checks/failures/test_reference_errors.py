"""Formulas that repeat a mistake of the reference."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from gradcheck.checks.failures.reference_errors import ReferenceOpErrors, fail_repeated_errors
from gradcheck.checks.options import Engines
from gradcheck.checks.points.point import Point
from gradcheck.checks.result import Comparison, Subject, Trial
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.core import Core
from gradcheck.engines.torch import Torch
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.sampling import draw
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, TorchWith, failed, those
from tests.conftest import WithRules
from tests.from_text import case_of

CANCELS = "inputs: {x: [0, 1, -2]}, graph: {y: relu(x) - relu(-x)}, backward: {y: [1.0, 2, 3]}"
#: Torch divides by 6 in single precision; beside the largest element differences see nothing of the smaller ones, and a
#: determinant has no forward in high precision.
GRAPH = """
    inputs: {x: [[0.3, 3.1], [-0.4, 3.0]]}
    constants: {c: [[1.0, 0.0], [0.0, 1.0]]}
    graph: {h: exp(exp(x)), y: (h - 1) * hardsigmoid(h - 1), loss: y.sum() * linalg.det(c)}
"""
FORMULA = '    formulas: {h: "hardsigmoid(h - 1) + (h - 1) * where(abs(h - 1) < 3, 1/6, 0)"}\n'


@pytest.mark.parametrize("factor", ["(x != 0)", "((x > 0) + (x < 0))"])
def test_conventions_that_cancel_are_no_derivative(check: Check, factor: str) -> None:
    case = check(f"{{{CANCELS}, formulas: {{x: grad(y) * {factor}}}}}")
    (own,) = [c for c in failed(case, "formula") if c.status == "failed"]
    assert say(own.verdict) == "it repeats a mistake of torch: 0 is no derivative here, which is 1"


def test_the_right_one_passes_and_the_reference_is_said_to_be_wrong(check: Check) -> None:
    case = check(f"{{{CANCELS}, formulas: {{x: grad(y)}}}}")
    assert case.status == "passed"
    assert case.wrong_references == ("torch",)


def test_a_near_miss_of_the_right_one_fails(check: Check) -> None:
    assert check(f"{{{CANCELS}, formulas: {{x: grad(y) * 1.00000000001}}}}").status == "failed"


def test_at_numbers_that_nobody_chose_it_is_told_and_not_proved(check: Check) -> None:
    graph = "dims: {n: 4}, inputs: {x: 'randn(n)'}, graph: {y: relu(x) - relu(-x)}, backward: {y: 'randn(n)'}"
    case = check(f"{{{graph}, formulas: {{x: grad(y) * (x != 0)}}}}")
    own = next(c for c in those(case, "formula") if c.trial is None)
    assert own.certificate is None
    assert own.has_note("repeats_reference")


def test_trials_are_told_apart_by_their_numbers() -> None:
    """Two engines were borne out against the reference in one trial: what agrees with it there fails, and no other."""

    def trial(number: int) -> Trial:
        return Trial(number, 0, {"n": 3})

    wrong = fact("reference_wrong", what=fact("alone", engine="torch"))
    gradient = Subject(ClaimKind.GRADIENT, "x", engine="core", reference="torch", trial=trial(4)).passed()
    formulas = [Subject(ClaimKind.FORMULA, "x", reference="torch", trial=trial(n)).passed() for n in (4, 5)]
    context = SimpleNamespace(found=[replace(gradient, verdict=wrong), *formulas], case=SimpleNamespace(formulas={}))
    fail_repeated_errors(context)  # type: ignore[arg-type]
    assert [c.status for c in context.found] == ["passed", "failed", "passed"]


def test_a_proved_formula_that_parts_from_the_reference_repeats_no_mistake_of_it(check: Check) -> None:
    """Torch's hardsigmoid divides by 6 in single precision; by what is proved nobody holds on to that."""
    case = check("""
        dims: {n: 3}
        inputs: {x: randn(n)}
        graph: {p: hardsigmoid(x), y: softsign(p)}
        backward: {y: randn_like(y)}
        formulas: {x: "grad(y) * (1 - y * sign(p)) / (1 + abs(p)) * where((x > -3) & (x < 3), 1, 0) / 6"}
    """)
    assert case.status == "passed"
    assert any(c.passes_by_wrong_reference for c in case.comparisons)


class OldDeterminant(torch.autograd.Function):
    """As torch 2.4 differentiates it: no gradient where it is 0, also of a single number."""

    @staticmethod
    def forward(ctx: Any, matrix: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(matrix)
        return torch.linalg.slogdet(matrix)[1].exp() * torch.linalg.slogdet(matrix)[0]

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (matrix,) = ctx.saved_tensors
        sign, logarithm = torch.linalg.slogdet(matrix)
        if sign == 0:
            return torch.zeros_like(matrix)
        return gradient * sign * logarithm.exp() * torch.linalg.inv(matrix).mT


def test_a_formula_that_is_undefined_somewhere_repeats_no_mistake_there(check: Check, torch_with: TorchWith) -> None:
    """At numbers where torch's gradient is wrong, `inv(A)` is none, so that the formula agrees with nobody."""
    torch_with("linalg.det", OldDeterminant.apply)
    case = check("""
        dims: {n: 3}
        inputs: {u: randn(n), v: randn(n)}
        constants: {A: "randn(n, n) + 3 * eye(n)"}
        graph: {f: "linalg.det(A + outer(u, v))"}
        formulas: {u: linalg.det(A) * linalg.inv(A).T @ v}
    """)
    assert case.wrong_references == ("torch",)
    assert case.status == "passed"
    assert any(c.has_note("undefined_at") for c in those(case, "formula"))


#: Torch hands what reads a triangle alone gradients of the other one, too.
CASE = """
    dims: {n: 3}
    inputs: {m: "randn(n, n) + 4 * n ** 0.5 * eye(n)", b: "randn(n, 2)"}
    graph: {l: tril(m), u: l.T, y: "torch.cholesky_solve(b, u, upper=True)"}
    backward: {y: "randn(n, 2)"}
    formulas: {l: FORMULA}
    generalize: false
"""


@pytest.mark.parametrize(("formula", "status"), [("grad(u).T", "passed"), ("2 * grad(u).T", "failed")])
def test_a_formula_holds_by_an_engine_that_has_them_right(formula: str, status: str) -> None:
    found = run(case_of(CASE.replace("FORMULA", formula))).cases[0]
    (one,) = (c for c in found.comparisons if c.formula == formula)
    assert one.status == status


def test_where_nobody_can_tell_the_op_alone_tells(check: Check) -> None:
    case = check(GRAPH + FORMULA, seed=0)
    assert case.status == "passed"
    (own,) = [c for c in those(case, "gradient") if c.tensor == "x" and c.trial is None]
    assert say(own.verdict).startswith("no failure, torch is wrong here: by its hardsigmoid alone, where ")


@pytest.mark.parametrize("by", [1e-9, 1e-3])
def test_another_mistake_beside_it_fails(check: Check, with_rules: WithRules, by: float) -> None:
    with_rules("exp", lambda g, y, x: g * y * (1 + by))
    assert {c.tensor for c in failed(check(GRAPH), "gradient")} >= {"x"}


def test_a_wrong_formula_fails(check: Check) -> None:
    assert check(GRAPH + FORMULA.replace("1/6", "1/6 * 1.00000001"), corrected=False).status == "failed"


@pytest.mark.parametrize("side", ["engine", "reference"])
def test_what_the_op_alone_does_not_make_is_nobodys(side: str) -> None:
    """Of the same gradients, one off by more than that op's part."""
    engines = Engines((Core(),), Torch())
    point = Point(draw(case_of(GRAPH)), engines)
    blamed = fact("reference_wrong", reference="torch", what=fact("stands_alone"))

    def judge(c: Comparison) -> Comparison:
        return Comparison(c.subject, "passed", verdict=blamed, operation=c.operation)

    arrays = [point.evaluation(engine).states[0].gradients["x"] for engine in (Core(), Torch())]
    subject = Subject(ClaimKind.GRADIENT, "x", engine="core", reference="torch")

    def told(got: np.ndarray | None, want: np.ndarray | None) -> object:
        c = Comparison(subject, "failed", rtol=1e-10, got_array=got, want_array=want)
        return ReferenceOpErrors(point, None, judge).verdict(c, None)

    got, want = arrays
    assert got is not None
    assert want is not None
    assert told(got, want) is not None
    assert told(*((got * 1.0001, want) if side == "engine" else (got, want * 1.0001))) is None
