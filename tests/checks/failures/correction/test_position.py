"""One part of a formula in its place."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.checks.failures.correction.operands import Operands
from gradcheck.checks.failures.correction.position import Position
from gradcheck.language.expr.parser import parse


def at(text: str, *path: int) -> Position:
    pool = ExpressionPool({"x": np.ones((2, 3)), "n": 2}, {})
    places = {where: (part, parent) for where, part, parent in pool.positions(pool.add(parse(text)))}
    part, parent = places[path]
    return Position(pool, Operands((), (), (), True), part, None if parent < 0 else pool.exprs[parent])


def test_the_whole_formula_stands_in_nothing() -> None:
    whole = at("x + n")
    assert whole.parent is None
    assert whole.node == parse("x + n")
    assert [whole.pool.exprs[part] for part in whole.below] == [parse("x"), parse("n")]
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
