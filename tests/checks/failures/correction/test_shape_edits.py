"""Edits of what cannot be computed: each by what it makes of one part."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.correction import shape_edits as slips
from gradcheck.checks.failures.correction.edit_position import EditPosition, Operands
from gradcheck.checks.failures.correction.edits import EditRule
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text

NAMES = {"X": np.ones((2, 3)), "W1": np.ones((3, 4)), "W2": np.ones((4, 5)), "v": np.ones(3), "b": np.ones(2)}


def made(edit: EditRule, text: str, path: tuple[int, ...] = ()) -> list[str]:
    pool = ExpressionPool(NAMES, {})
    root = pool.add(parse(text))
    for where, part, parent in pool.positions(root):
        if where == path:
            at = EditPosition(
                pool, Operands((), (), (), is_complete=True), part, None if parent < 0 else pool.exprs[parent]
            )
            return [to_text(pool.exprs[other]) for other in edit(at)]
    raise LookupError(path)


@pytest.mark.parametrize(
    ("edit", "text", "path", "expected"),
    [
        (slips.wrap_in_list, "cat(X, W1)", (), ["cat([X, W1])"]),
        (slips.wrap_in_list, "cat([X, W1])", (), []),
        (slips.use_matmul, "dot(X, W1)", (), ["X @ W1"]),
        (slips.use_matmul, "X * W1", (), []),
        (slips.swap_arguments, "cross_entropy(v, X)", (), ["cross_entropy(X, v)"]),
        (slips.swap_arguments, "v + X", (), []),
        (slips.use_column, "X + b", (1,), ["b[:, None]"]),
        (slips.use_column, "v + b", (1,), []),
        (slips.use_similar_name, "X @ W2", (1,), ["W1"]),
        (slips.use_similar_name, "v", (), []),
        (slips.change_product, "X * W1", (), ["X @ W1"]),
        (slips.change_product, "X @ W1", (), ["X * W1"]),
        (slips.swap_factors, "W1 @ X", (), ["X @ W1"]),
        (slips.transpose_factor, "X @ W1", (1,), ["W1.T"]),
        (slips.transpose_factor, "X * W1", (1,), []),
    ],
)
def test_what_an_edit_makes(edit: EditRule, text: str, path: tuple[int, ...], expected: list[str]) -> None:
    assert made(edit, text, path) == expected


def test_a_part_in_a_sentence() -> None:
    assert slips.shortened_text(parse("X @ W1")) == "X @ W1"
    assert len(slips.shortened_text(parse(" + ".join(["X"] * 100)))) == 40
