"""One part of a formula in its place, and what may be put there."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.correction import edit_position
from gradcheck.checks.failures.correction.edit_position import EditPosition, Operands, operands_of
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
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
    assert {name: shape for name, (_, shape) in named.items()} == {**SHAPES, "i": (2,), "grad(z)": (4, 3)}
    assert texts(pool, tuple(known.of_shape((4, 3), pool.add(parse("x"))))) == ["y", "z", "grad(z)"]


def test_a_gradient_that_nothing_arrives_at_is_no_operand() -> None:
    case, pool = layer()
    cut_off = ExpressionPool(pool.names, {**pool.gradients, "z": np.zeros((4, 3))})
    operands = operands_of(cut_off, case, "y", ())
    assert "grad(z)" not in texts(cut_off, tuple(part for part, _ in operands.tensors))


def test_short_parts_of_the_graph_are_operands() -> None:
    pool, known = found("x")
    assert texts(pool, tuple(part for part, _ in known.parts)) == []
    pool = ExpressionPool({"x": np.ones(3), "y": np.ones(3), "z": np.ones(3)}, {})
    known = operands_of(pool, case_of("{inputs: {x: [1.0]}, graph: {y: x * log(x), z: exp(y / 2)}}"), "x", ())
    assert texts(pool, tuple(part for part, _ in known.parts)) == ["log(x)", "y / 2"]


def test_sizes_are_different_numbers_symbolic_ones_first() -> None:
    pool, known = found("b")
    assert texts(pool, known.sizes) == ["n", "k", "x.numel()", "i.numel()"]
    assert known.is_complete


def test_terms_are_those_of_the_derived_formula_with_their_signs() -> None:
    pool, known = found("x", parse("grad(y) - x * (y + z)"), parse("grad(z)"))
    assert texts(pool, known.terms) == ["grad(y)", "-(x * (y + z))", "-(x * y)", "-(x * z)"]


def test_conditions_choose_between_0_and_something_else() -> None:
    pool, known = found("x", parse("where(x < 5, grad(y), 0) + where(b == 0, 0, y) + where(x > 1, x, y)"))
    listed = [(to_text(pool.exprs[condition]), is_zero) for condition, is_zero in known.conditions]
    assert sorted(listed) == [("b == 0", True), ("x < 5", False)]


@pytest.mark.parametrize(("name", "limit"), [("MOST_SIZES", 2), ("MOST_NAMES", 1), ("MOST_TERMS", 0)])
def test_what_is_left_out_is_told(name: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case, pool = layer()
    assert operands_of(pool, case, "x", [parse("x + y")]).is_complete
    monkeypatch.setattr(edit_position, name, limit)
    assert not operands_of(pool, case, "x", [parse("x + y")]).is_complete


def at(text: str, *path: int) -> EditPosition:
    pool = ExpressionPool({"x": np.ones((2, 3)), "n": 2}, {})
    places = {where: (part, parent) for where, part, parent in pool.positions(pool.add(parse(text)))}
    part, parent = places[path]
    return EditPosition(pool, Operands((), (), (), True), part, None if parent < 0 else pool.exprs[parent])


def test_the_whole_formula_stands_in_nothing() -> None:
    whole = at("x + n")
    assert whole.parent is None
    assert whole.node == parse("x + n")
    assert [whole.pool.exprs[part] for part in whole.children] == [parse("x"), parse("n")]
    assert at("x + n", 1).parent == whole.node


@pytest.mark.parametrize(
    ("text", "path", "ndim", "is_tensor"),
    [
        ("x", (), 2, True),
        ("x.sum()", (), 0, True),
        ("n * 2", (), -1, False),
        ("x @ x", (), -1, True),  # it cannot be evaluated, and may be meant for a tensor
        ("y", (), -1, False),
        ("x.shape", (0,), 2, True),
    ],
)
def test_tensors(text: str, path: tuple[int, ...], ndim: int, is_tensor: bool) -> None:
    position = at(text, *path)
    assert (position.ndim, position.is_tensor) == (ndim, is_tensor)


@pytest.mark.parametrize(
    ("text", "path", "is_term", "is_summand"),
    [
        ("x * x", (), True, False),
        ("x * x", (0,), False, False),  # a factor here is one of the product
        ("x + x", (0,), True, True),
        ("x - x", (1,), True, True),
        ("exp(x)", (0,), True, False),
        ("x.sum()", (0,), False, False),
        ("x.T", (0,), False, False),
        ("x.shape", (0,), False, False),
    ],
)
def test_terms_and_summands(text: str, path: tuple[int, ...], is_term: bool, is_summand: bool) -> None:
    position = at(text, *path)
    assert (position.is_term, position.is_summand) == (is_term, is_summand)
