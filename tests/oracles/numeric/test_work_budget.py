"""Work is counted: by ops and elements, products of matrices by their multiply-adds."""

from __future__ import annotations

import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.oracles.numeric.work_budget import PER_OP, Work, WorkBudget


@pytest.mark.parametrize(
    ("name", "operands", "result", "elements"),
    [
        ("exp", [50], 50, 50),
        ("sum", [50], 1, 50),
        ("add", [50, 1], 50, 50),
        ("matmul", [64 * 32, 32 * 16], 64 * 16, 64 * 32),  # the largest array costs more than the products
        ("matmul", [320 * 320] * 2, 320 * 320, 320**3 // 32),
        ("einsum", [320 * 320] * 2, 320 * 320, 320**3 // 32),
        ("linalg.inv", [30 * 30], 30 * 30, 30**3),
        ("exp", [], 0, 1),
    ],
)
def test_elements(name: str, operands: list[int], result: int, elements: int) -> None:
    work = Work()
    work.add(TABLE[name], operands, result)
    assert (work.ops, work.elements) == (1, elements)


def test_slower_arithmetic_costs_more_an_element_but_not_an_op() -> None:
    work = Work(ops=3, elements=1000)
    assert work.cost() == 3 * PER_OP + 1000
    assert work.cost(evaluations=2, slowdown=4) == 2 * (3 * PER_OP + 4000)


def test_a_budget_within_another_spends_both() -> None:
    whole = WorkBudget(10)
    part = WorkBudget(5, within=whole)
    part.spend(4)
    assert not part.is_spent
    part.spend(4)
    assert part.is_spent
    assert (part.left, whole.left) == (-3, 2)
    other = WorkBudget(5, within=whole)
    assert not other.is_spent
    whole.spend(2)
    assert other.is_spent
