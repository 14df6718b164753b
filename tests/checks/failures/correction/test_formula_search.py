"""The search for formulas near a wrong one that come to the right numbers."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures.correction import formula_search as searching
from gradcheck.checks.failures.correction.edit_position import Operands
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.checks.failures.correction.formula_search import FormulaSearch
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text

X, Y = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[2.0, -1.0], [0.5, 4.0]])
PLENTY = 1_000_000


def search(text: str, want: np.ndarray, budget: int = PLENTY, everything: bool = True) -> FormulaSearch:
    pool = ExpressionPool({"x": X, "y": Y}, {})
    tensors = tuple((pool.add(parse(name)), (2, 2)) for name in ("x", "y"))
    return FormulaSearch(pool, Operands(tensors, (), (), everything), pool.add(parse(text)), want, budget)


def found(hunt: FormulaSearch) -> list[list[str]]:
    return [[to_text(hunt.pool.exprs[candidate.part]) for candidate in stage] for stage in hunt.fits_by_edit_count()]


def test_one_edit_comes_before_two_and_the_likeliest_first() -> None:
    one, two = found(search("x @ y", X @ Y.T))
    assert one == ["x @ y.T"]
    assert "x @ y.T" not in two
    one, two = found(search("x", -X.T))
    assert one == []
    assert two[0] == "-x.T"


def test_what_fits_costs_what_its_edits_cost() -> None:
    hunt = search("x", -X.T)
    one, two = hunt.fits_by_edit_count()
    assert one == []
    best = two[0]
    assert (best.edits, best.cost) == (2, 2.05)


def test_a_formula_costs_what_its_likeliest_edit_costs() -> None:
    hunt = search("x - y", Y - X)
    one = next(hunt.fits_by_edit_count())
    costs = [c.cost for c in one if to_text(hunt.pool.exprs[c.part]) == "y - x"]
    assert min(costs) == 1.0  # not as an exchange throughout


def test_the_search_is_complete_when_all_within_two_edits_was_tried() -> None:
    hunt = search("x", np.full((2, 2), 7.0))
    assert found(hunt) == [[], []]
    assert hunt.is_complete
    assert 0 < hunt.spent < PLENTY


@pytest.mark.parametrize("budget", [0, 5, 100])
def test_a_budget_ends_the_search_which_is_not_complete_then(budget: int) -> None:
    hunt = search("x", np.full((2, 2), 7.0), budget)
    assert found(hunt) == [[], []]
    assert not hunt.is_complete
    assert budget < hunt.spent < budget + 20


def test_work_is_the_same_each_time() -> None:
    hunts = [search("x @ y + x", X @ Y.T - X) for _ in range(2)]
    assert found(hunts[0]) == found(hunts[1])
    assert hunts[0].spent == hunts[1].spent


def test_operands_left_out_leave_it_incomplete() -> None:
    hunt = search("x", np.full((2, 2), 7.0), everything=False)
    assert found(hunt) == [[], []]
    assert not hunt.is_complete


def test_long_formulas_are_not_searched() -> None:
    hunt = search(" + ".join(["x"] * searching.MAX_PARTS), X)
    assert found(hunt) == []
    assert not hunt.is_complete


def test_it_lingers_only_a_little_once_something_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searching, "_LINGER", 10)
    hunt = search("x", -X.T)
    found(hunt)
    lingering = hunt.spent
    assert not hunt.is_complete
    monkeypatch.setattr(searching, "_LINGER", 10_000)
    longer = search("x", -X.T)
    found(longer)
    assert longer.spent > lingering


def test_shapes_and_nan_must_agree() -> None:
    hunt = search("x + y", np.where(X > 4, np.nan, X - Y))
    assert found(hunt)[0] == []
    assert "sum(x, dim=0)" not in [text for stage in found(search("x", X.sum(0, keepdims=True))) for text in stage]


def test_halves_need_not_fit_as_closely() -> None:
    nearly = (X @ Y.T * 1.01).astype(np.float16)
    assert found(search("x @ y", nearly))[0] == ["x @ y.T"]
    assert found(search("x @ y", nearly.astype(float)))[0] == []
