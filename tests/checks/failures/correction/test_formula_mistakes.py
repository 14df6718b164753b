"""The slips of code: what each makes of a formula."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.failures.correction.edit_position import Operands
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.checks.failures.correction.formula_mistakes import with_one_mistake
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text

NAMES = {"x": np.arange(6.0).reshape(2, 3) + 1, "m": np.array([True, False, True]), "w": np.ones((2, 3)), "n": 2}
#: A formula, and one that a slip makes of it.
MADE = {
    "exp(x) * w": ("expm1(x) * w", "exp(w) * x", "exp(x)", "x * w"),
    "round(x)": ("floor(x)", "x"),
    "where(m, x, w)": ("where(logical_not(m), x, w)", "where(m, w, x)", "where(m, x, 0)", "where(m, 1, w)"),
    "clamp(x, -1, 1)": ("maximum(x, -1)", "minimum(x, 1)"),
    "sum(x, dim=0)": ("select(x, 0, 0)", "select(x, 0, -1)", "mean(x, dim=0)"),
    "1 + x * (1 - w)": ("1 - w", "w"),
    "x * (1 + w)": ("x * 1 + w", "1 + x * w"),
    "2.5 * x * (1 - w)": ("2.5 * (x * 1 - w)", "2.5 * x * 1 - w"),
    "0.75 * x": ("0.25 * x", "1.5 * x"),
    "flip(cumsum(flip(x, (0,)), dim=0), (0,))": ("cumsum(x, dim=0)",),
    "constant_pad_nd(x, (-1, -2))": ("constant_pad_nd(x, (-2, -1))", "constant_pad_nd(x, (0, -3))"),
    "softmax(x, dim=1)": ("exp(x)", "exp(x) / sum(exp(x))", "softmax(x, dim=1) * (1 - softmax(x, dim=1))"),
    "gelu(x)": ("gelu(input=x, approximate='tanh')",),
    "x / w.sum() - x * w": ("w / w.sum() - w * w", "-x / w.sum() - -x * w", "exp(x) / w.sum() - exp(x) * w"),
}


def test_each_is_made() -> None:
    missing = []
    for right, wanted in MADE.items():
        pool = ExpressionPool(NAMES, {})
        operands = Operands((), (), (), is_complete=True, functions=("exp",))
        root = pool.add(parse(right))
        found = {to_text(pool.exprs[part]) for part in with_one_mistake(pool, operands, root)}
        missing += [(right, one) for one in wanted if to_text(parse(one)) not in found]
    assert not missing


def test_parts_are_exchanged_as_they_stood() -> None:
    pool = ExpressionPool(NAMES, {})
    root, x, w = (pool.add(parse(text)) for text in ("x / (x + w)", "x", "w"))
    assert to_text(pool.exprs[pool.replace_everywhere(root, {x: w, w: x})]) == "w / (w + x)"
