"""What names stand for in formulas and checks."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.scope import Scope
from gradcheck.errors import GradcheckError
from gradcheck.language.expr.parser import parse
from tests.checks.build import point_of

CASE = """
    dims: {n: 2}
    inputs: {x: [[3, 1], [2, 5]], unused: [1.0]}
    constants: {k: [1, 2]}
    graph: {m: "x.max(dim=1)", y: "m[0] * k", loss: y.sum()}
    let: {twice: 2 * y, broken: "x @ unused"}
    formulas: {y: ones_like(y)}
"""


def test_values_sizes_parts_and_steps_are_names() -> None:
    scope = point_of(CASE).scope(0)
    assert scope["n"] == 2
    assert [part.tolist() for part in scope["m"]] == [[3, 5], [0, 1]]
    assert scope.array_of(parse("twice + k")).tolist() == [7, 22]


def test_no_gradient_counts_as_zeros() -> None:
    scope = point_of(CASE).scope(0)
    assert scope.array_of(parse("grad(unused)")).tolist() == [0.0]
    assert scope.array_of(parse("grad(x)")).tolist() == [[1, 0], [0, 2]]


def test_a_step_that_cannot_be_computed_raises_when_it_is_asked_for() -> None:
    scope = point_of(CASE).scope(0)
    with pytest.raises(GradcheckError):
        scope.value_of(parse("broken * 2"))
    with pytest.raises(KeyError):
        scope["nobody"]


def test_a_formula_is_one_tensor() -> None:
    scope = point_of(CASE).scope(0)
    with pytest.raises(GradcheckError, match="2 tensors where one is expected"):
        scope.array_of(parse("m"))
    assert isinstance(scope.array_of(parse("n")), np.ndarray)


def test_one_that_waits_computes_the_steps_that_are_asked_for() -> None:
    let = "".join(f", s{i}: s{i - 1} + 1" for i in range(1, 1500))
    leaves = "inputs: {x: [1, 2]}\nconstants: {k: [1, 2, 3]}\ngraph: {y: x.sum()}\n"
    point = point_of(f"{leaves}let: {{s0: x{let}, b: x @ k, c: b + 1}}\n")
    scope = Scope(point.problem, point.want.states[0], waits=True)
    assert "s0" not in scope
    assert scope["s3"].tolist() == [4, 5]
    assert "s4" not in scope
    assert scope["s1499"].tolist() == [1500, 1501]  # and nothing recurses
    for name in ("c", "b"):
        with pytest.raises(GradcheckError):
            scope[name]
    with pytest.raises(KeyError):
        scope["z"]


RUNNING_STATISTICS = """
    inputs: {x: [1.0, 2.0]}
    constants: {c: [[3.0, 6.0], [3.0, 6.0]], v: [1.0, 1.0]}
    graph: {y: (x * x).sum()}
    let: {step: 3 * x, moved: "batch_norm(c, step, v, training=True, momentum=1.0)"}
    checks: ["batch_norm(c, RUNNING, v, training=True, momentum=1.0).sum() == 0", "grad(x) == 3 * x"]
"""


@pytest.mark.parametrize("running", ["grad(x)", "x", "grad(x)[:]", "step", "jacobian(y, x)"])
def test_no_claim_changes_the_numbers_of_others(running: str) -> None:
    point = point_of(RUNNING_STATISTICS.replace("RUNNING", running))
    scope = point.scope(0)
    before = scope.value_of(parse(running)).copy()
    scope.value_of(point.problem.case.checks[0].expr)
    assert scope.value_of(parse(running)).tolist() == before.tolist()
    assert scope["step"].tolist() == [3, 6]
    assert scope["x"].tolist() == [1, 2]
    assert scope.array_of(parse("grad(x)")).tolist() == [2, 4]
    assert scope["v"].tolist() == [1, 1]
