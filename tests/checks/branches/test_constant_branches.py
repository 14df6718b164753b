"""What claims make of labels and masks that are drawn: no formula is proved that is wrong for some of them."""

from __future__ import annotations

import pytest

from gradcheck import run
from gradcheck.checks.branches.constant_branches import drawn_integers
from gradcheck.language.sampling import draw
from tests.checks.conftest import Check
from tests.from_text import case_of

MASK = """
inputs: {x: "randn(n)"}
constants: {c: "randn(n) > 0"}
dims: {n: 5}
graph: {y: "where(c, x*x, -x)"}
backward: {y: "randn(n)"}
formulas: {x: "where(c, 2*x, -1) * grad(y){more}"}
"""
LABELS = """
inputs: {z: "randn(n, c)"}
constants: {t: "randint(0, c, [n])", fixed: [0, 1]}
dims: {n: 4, c: 3}
graph: {loss: "cross_entropy(z, t)"}
formulas: {z: "(softmax(z, 1) - one_hot(t, c)) / n{more}"}
"""


@pytest.mark.parametrize(
    "more",
    [" * (1 + c.all() * (n > 1))", " * (1 + (~c).all())", " * (1 + (c.sum() > 8))", " * c.any()"],
)
def test_a_mask_is_varied(more: str) -> None:
    assert run(case_of(MASK.replace("{more}", more)), explained=False).cases[0].status == "failed"


@pytest.mark.parametrize("more", [" * (1 + (t == t[0]).all() * (n > 2))", " * (1 + (t.max() > 3))"])
def test_labels_are_varied(more: str) -> None:
    assert run(case_of(LABELS.replace("{more}", more)), explained=False).cases[0].status == "failed"


@pytest.mark.parametrize("text", [MASK, LABELS])
def test_right_ones_pass(text: str) -> None:
    assert run(case_of(text.replace("{more}", ""))).cases[0].status == "passed"


def test_what_is_written_out_is_not_drawn() -> None:
    assert drawn_integers(draw(case_of(LABELS.replace("{more}", "")))) == {"t"}


def test_draws_that_leave_no_gradient_are_looked_at_as_well(check: Check) -> None:
    case = check("""
        dims: {n: 4}
        inputs: {x: randn(n)}
        constants: {mask: rand(n) < 0.8}
        graph: {y: x * mask}
        backward: {y: randn(n)}
        formulas: {x: "grad(y) * mask + (mask.sum() == 0) * x"}
        """)
    assert case.status == "failed"
