"""What a formula of a case may be made of."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.correction import operands
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.checks.failures.correction.operands import Operands, operands_of
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from tests.from_text import case_of

LAYER = """
dims: {n: 4, k: 3}
inputs: {x: "randn(n, k)", b: "randn(k)"}
constants: {i: "randint(0, 3, [2])"}
graph: {y: x + b, z: tanh(y)}
backward: {z: "randn(n, k)"}
"""
SHAPES = {"x": (4, 3), "b": (3,), "y": (4, 3), "z": (4, 3)}


def layer() -> tuple[Case, ExpressionPool]:
    arrays = {name: np.ones(shape) for name, shape in SHAPES.items()}
    return case_of(LAYER), ExpressionPool({**arrays, "i": np.zeros(2, int), "n": 4, "k": 3}, dict(arrays))


def texts(pool: ExpressionPool, parts: tuple[int, ...]) -> list[str]:
    return [to_text(pool.exprs[part]) for part in parts]


def found(target: str, *derived: Expr) -> tuple[ExpressionPool, Operands]:
    case, pool = layer()
    return pool, operands_of(pool, case, target, derived)


def test_tensors_are_names_and_gradients_of_others_with_their_shapes() -> None:
    pool, known = found("y")
    named = dict(zip(texts(pool, tuple(part for part, _ in known.tensors)), known.tensors, strict=True))
    assert {name: shape for name, (_, shape) in named.items()} == {**SHAPES, "grad(z)": (4, 3)}
    assert texts(pool, tuple(known.of_shape((4, 3), pool.add(parse("x"))))) == ["y", "z", "grad(z)"]


def test_sizes_are_different_numbers_symbolic_ones_first() -> None:
    pool, known = found("b")
    assert texts(pool, known.sizes) == ["n", "k", "x.numel()", "i.numel()"]
    assert known.all


def test_terms_are_those_of_the_derived_formula_with_their_signs() -> None:
    pool, known = found("x", parse("grad(y) - x * (y + z)"), parse("grad(z)"))
    assert texts(pool, known.terms) == ["-(x * z)", "-(x * y)", "grad(y)"]


@pytest.mark.parametrize(("name", "limit"), [("MOST_SIZES", 2), ("MOST_NAMES", 1), ("MOST_TERMS", 0)])
def test_what_is_left_out_is_told(name: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case, pool = layer()
    assert operands_of(pool, case, "x", [parse("x + y")]).all
    monkeypatch.setattr(operands, name, limit)
    assert not operands_of(pool, case, "x", [parse("x + y")]).all
