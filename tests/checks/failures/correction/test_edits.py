"""The slips of a derivation: each edit, by the formulas that it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from gradcheck.checks.failures.correction import edits as slips
from gradcheck.checks.failures.correction import further_edits
from gradcheck.checks.failures.correction.edit_position import EditPosition, Operands
from gradcheck.checks.failures.correction.edits import EDITS, EditRule, all_single_edits
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text

NAMES = {"x": np.ones((2, 3)), "y": np.full((2, 3), 2.0), "A": np.ones((3, 3)), "v": np.ones(3), "n": 5}


def made(
    edit: EditRule,
    text: str,
    path: tuple[int, ...] = (),
    parts: Sequence[str] = (),
    before: Mapping[str, str] | None = None,
) -> list[str]:
    """What an edit makes of one part of a formula, as the part would be written."""
    pool = ExpressionPool(NAMES, {"x": NAMES["x"]})
    root = pool.add(parse(text))
    names = ("x", "y", "A", "v")
    tensors = tuple((pool.add(parse(name)), NAMES[name].shape) for name in names)  # type: ignore[union-attr]
    terms = (pool.add(parse("x * y")), pool.add(parse("-y")))
    conditions = ((pool.add(parse("x < 9")), False), (pool.add(parse("v == 0")), True))
    known = tuple((pool.add(parse(text)), (2, 3)) for text in parts)
    steps = {pool.add(parse(later)): pool.add(parse(earlier)) for later, earlier in (before or {}).items()}
    sizes = (pool.add(parse("n")),)
    operands = Operands(
        tensors, sizes, terms, True, functions=("abs",), conditions=conditions, parts=known, before=steps
    )
    for where, part, parent in pool.positions(root):
        if where == path:
            position = EditPosition(pool, operands, part, None if parent < 0 else pool.exprs[parent])
            return [to_text(pool.exprs[other]) for other in edit(position)]
    raise LookupError(path)


@pytest.mark.parametrize(
    ("edit", "text", "path", "expected"),
    [
        (slips.toggle_transpose, "x", (), ["x.T"]),
        (slips.toggle_transpose, "x.T", (), ["x"]),
        (slips.toggle_transpose, "x.T", (0,), []),
        (slips.toggle_transpose, "v", (), []),
        (slips.swap_operands, "x - y", (), ["y - x"]),
        (slips.swap_operands, "x + y", (), []),
        (slips.swap_operands, "x @ A", (), ["A @ x", "A.T @ x.T"]),
        (slips.swap_operands, "cat([x, -y])", (0,), ["[-y, x]"]),
        (slips.swap_operands, "where(x > 0, x, y)", (), ["where(x > 0, y, x)"]),
        (slips.replace_similar_op, "sum(x)", (), ["mean(x)", "trace(x)"]),
        (slips.replace_similar_op, "trace(A)", (), ["sum(A)"]),
        (slips.replace_similar_op, "sum(x, dtype=float64)", (), ["mean(x, dtype=float64)"]),
        (slips.replace_similar_op, "x * y", (), ["x / y", "x @ y"]),
        (slips.change_dim, "sum(x)", (), ["sum(x, dim=0)", "sum(x, dim=1)"]),
        (slips.change_dim, "x.sum(1, True)", (), ["sum(x, dim=0, keepdim=True)", "sum(x)"]),
        (slips.change_dim, "softmax(x, 1)", (), ["softmax(x, dim=0)"]),
        (slips.toggle_keepdim, "sum(x, dim=1)", (), ["sum(x, dim=1, keepdim=True)"]),
        (slips.toggle_keepdim, "sum(x, dim=1, keepdim=True)", (), ["sum(x, dim=1)"]),
        (slips.toggle_keepdim, "sum(x)", (), []),
        (slips.toggle_sign, "x", (), ["-x"]),
        (slips.toggle_sign, "-x", (), ["x"]),
        (slips.toggle_sign, "x + y", (0,), []),
        (slips.change_number, "3 * x", (0,), ["4", "2", "6", "1.5", "-3"]),
        (slips.change_number, "x ** 2", (1,), ["3", "4", "-2"]),
        (slips.change_number, "x.sum(dim=1)", (1,), []),
        (slips.scale_by_constant, "x", (), ["2 * x", "x / 2", "x / n", "x * n"]),
        (slips.scale_by_constant, "x * y", (0,), []),
        (slips.keep_one_operand, "x * y", (), ["x", "y"]),
        (slips.keep_one_operand, "x.T", (), []),
        (slips.change_tensor, "x", (), ["y"]),
        (slips.change_size, "x.shape[0] * x", (0,), ["x.shape[0] - 1", "x.shape[0]", "x.shape[1]", "n", "2"]),
        (slips.change_size, "n", (), ["n"]),
        (slips.toggle_square, "x", (), ["x ** 2"]),
        (slips.toggle_square, "x ** 2", (), ["x"]),
        (slips.move_power, "(x - y) ** 2", (), ["x ** 2 - y", "x - y ** 2"]),
        (slips.move_power, "x - y ** 2", (), ["(x - y) ** 2"]),
        (slips.move_power, "sum(x ** 3)", (), ["sum(x) ** 3"]),
        (slips.move_power, "x ** 2", (), []),
        (slips.toggle_complement, "v * x", (0,), ["1 - v"]),
        (slips.toggle_complement, "(1 - v) * x", (0,), ["v"]),
        (slips.toggle_complement, "v + x", (0,), []),
        (slips.toggle_complement, "exp(v) * x", (0,), ["1 - exp(v)", "exp(v) - 1"]),
        (slips.change_number, "x - 1", (1,), ["2", "2", "0.5", "-1", "x", "y", "A", "v"]),
        (slips.toggle_sign, "x + y", (), ["x - y", "y - x", "-(x + y)"]),
        (slips.toggle_sign, "x - y", (), ["x + y", "-(x - y)"]),
        (slips.change_dim, "x.sum(dim=[0, 1])", (), ["sum(x, dim=0)", "sum(x, dim=1)", "sum(x, dim=[0, 1])", "sum(x)"]),
        (slips.replace_similar_op, "A @ v", (), ["A * v", "linalg.solve(A, v)"]),
        (slips.swap_operands, "A @ v", (), []),  # the transpose is meant
        (slips.toggle_square, "x / (x + y)", (1,), ["(x + y) ** 2"]),
        (further_edits.add_missing_factor, "-1", (), []),
    ],
)  # fmt: skip
def test_what_an_edit_makes(edit: EditRule, text: str, path: tuple[int, ...], expected: list[str]) -> None:
    assert made(edit, text, path) == expected


def test_every_edit_has_its_cost() -> None:
    names = {edit.__name__ for edit, _ in EDITS}
    homes = (slips, further_edits)
    public = {
        n for home in homes for n, value in vars(home).items() if getattr(value, "__module__", "") == home.__name__
    }
    assert {name for name in public if not name.startswith("_")} == names | {"all_single_edits"}
    assert all(cost >= 1 for _, cost in EDITS)


def test_edits_are_made_everywhere_in_a_formula() -> None:
    pool = ExpressionPool(NAMES, {})
    root = pool.add(parse("x * exp(y)"))
    operands = Operands(((pool.add(parse("x")), (2, 3)), (pool.add(parse("y")), (2, 3))), (), (), True)
    found = {to_text(pool.exprs[part]): (path, cost) for part, path, cost in all_single_edits(pool, operands, root)}
    assert found["x * log(y)"] == ((1,), 1.2)
    assert found["y * exp(y)"] == ((0,), 1.6)
    assert found["x * exp(x)"] == ((1, 0), 1.6)
    assert found["-(x * exp(y))"] == ((), 1.0)
    assert found["x * exp(y).T"] == ((1,), 1.05)
    assert "x * exp(y)" not in found
