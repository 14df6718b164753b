"""Sizes at which what claims make of sizes comes out otherwise."""

from __future__ import annotations

import pytest

from gradcheck import run
from gradcheck.checks.branches.size_branches import SizeBranches, drawn_integers
from gradcheck.language.sampling import draw
from gradcheck.reports.passed_case import is_qualified
from gradcheck.reports.phrases import say
from tests.checks.build import context_of
from tests.checks.conftest import Check
from tests.from_text import case_of

GRAPH = "dims: {n: 4, m: 3}, inputs: {x: 'randn(n, m)'}, graph: {y: x * x}, backward: {y: 'randn(n, m)'}"


def branches(factor: str) -> SizeBranches:
    return SizeBranches(context_of(f"{{{GRAPH}, formulas: {{x: '2 * x * grad(y) * {factor}'}}}}").case)


def test_what_is_smooth_in_sizes_has_no_branches() -> None:
    assert branches("(n * m / n / m)").nodes == []


def test_the_smallest_sizes_at_which_something_else_comes_out() -> None:
    found = branches("(1 + (n == 6))")
    assert found.mark_seen({"n": 4, "m": 3})
    assert not found.mark_seen({"n": 5, "m": 3})
    assert next(found.unseen_sizes({"n": 4, "m": 3}, ())) == {"n": 6, "m": 3}  # of m nothing asks
    assert next(found.unseen_sizes({"n": 4, "m": 3}, ("m",))) == {"n": 6, "m": 3}


@pytest.mark.parametrize(("factor", "asked"), [("(n == 6)", {"n"}), ("(x.shape[1] > 5)", {"n", "m"}), ("n", set())])
def test_words_that_nothing_asks_for_stay(factor: str, asked: set[str]) -> None:
    """Of x, whose shape is asked for, both are."""
    own = {"n": 4, "m": 3}
    listed = list(branches(f"(1 + {factor})").unseen_sizes(own, ()))
    assert {word for sizes in listed for word in own if sizes[word] != own[word]} <= asked
    assert bool(listed) is bool(asked)


@pytest.mark.parametrize(
    "wrong", ["(n == 6)", "(n == m + 1) * (m > 5)", "(n % 5 == 0)", "(n > 20)", "(arange(m) > 9)", "(n + m == 12)"]
)
def test_a_formula_that_is_wrong_for_some_sizes_fails(check: Check, wrong: str) -> None:
    case = check(f"{{{GRAPH}, formulas: {{x: '2 * x * grad(y) * (1 + {wrong})'}}}}", corrected=False)
    assert case.status == "failed"


def test_one_that_is_right_for_all_passes(check: Check) -> None:
    assert check(f"{{{GRAPH}, formulas: {{x: '2 * x * grad(y) * max(n, 7) / max(7, n)'}}}}").status == "passed"


@pytest.mark.parametrize(
    "condition", ["x.shape[0] > 11", "x.size(0) == 9", "x.numel() == 6", "len(x) == 5", "grad(y).shape[0] == 9"]
)
def test_shapes_are_sizes(check: Check, condition: str) -> None:
    case = check(
        f"{{dims: {{n: 4}}, inputs: {{x: 'randn(n)'}}, graph: {{y: x * x}}, backward: {{y: 'randn(n)'}}, "
        f"formulas: {{x: '2 * x * grad(y) * (1 + ({condition}))'}}}}",
        corrected=False,
    )
    assert case.status == "failed"


def test_sizes_apart_are_looked_at_where_claims_choose() -> None:
    """`roll(x, k % 2, 0)` is `roll(x, k, 0)` where n = k, and where k is 1."""
    case = case_of("""
        dims: {n: 5, k: 1}
        inputs: {x: randn(n)}
        graph: {y: "roll(x, k, 0) * x"}
        backward: {y: randn(n)}
        formulas: {x: "grad(y) * roll(x, k % 2, 0)"}
    """)
    found = [*SizeBranches(case).generic_sizes({"n": 5, "k": 1}, ())]
    assert all(min(sizes.values()) > 1 and sizes["n"] % sizes["k"] and sizes["k"] % sizes["n"] for sizes in found)
    assert {sizes["k"] % 2 for sizes in found} == {0, 1}
    assert all(sizes["n"] == 5 for sizes in SizeBranches(case).generic_sizes({"n": 5, "k": 1}, ("n",)))


def test_sizes_at_which_the_graph_is_undefined_show_nothing(check: Check) -> None:
    """The variance of one number is none: that the smaller size came up there leaves 2 and 3 to be looked at."""
    case = check("""
        dims: {n: 5}
        inputs: {x: randn(n)}
        graph: {y: x.var()}
        backward: {y: "randn(())"}
        formulas: {x: "grad(y) * 2 * (x - x.mean()) / max(n - 1, 3)"}
        """)
    assert case.status == "failed"
    suggested = [d.formula for c in case.comparisons for d in c.diagnoses if d.edit]
    assert not suggested  # `x.mean(dim=0)`, which is right for more than 3, is none


@pytest.mark.parametrize("wrong", ["1 / (m - 7)", "log(n - 3)", "1 / (n - m - 4)", "sqrt(11 - n)"])
def test_where_a_formula_is_undefined_for_some_sizes_is_told(check: Check, wrong: str) -> None:
    case = check(f"{{{GRAPH}, formulas: {{x: '2 * x * grad(y) + 0 * {wrong}'}}}}")
    told = {note.kind for c in case.comparisons for note in c.notes}
    assert case.status == "passed"
    assert "undefined_at" in told


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


@pytest.mark.parametrize(
    "condition",
    [
        *("n**2 > 500", "n * m >= 400", "x.numel() > 300", "2**n > 1e9", "sqrt(n) > 6", "n // 7 > 3", "n // 100 == 1"),
        *("round(n / 100) == 1", "arange(n)[:, None] == 17", "arange(n)[:, None] > 19", "n >= 500"),
    ],
)
def test_conditions_of_far_sizes(check: Check, condition: str) -> None:
    """They are evaluated at sizes, not solved."""
    formula = f"{{{GRAPH}, formulas: {{x: '2 * x * grad(y) * where({condition}, 2, 1)'}}}}"
    assert check(formula, corrected=False).status == "failed"


def test_sizes_in_the_graph_choose_too(check: Check) -> None:
    case = "{{dims: {{n: 4}}, inputs: {{x: 'randn(n)'}}, graph: {{y: 'x.sum() * {}'}}, formulas: {{x: ones(n)}}}}"
    assert check(case.format("(1 + n // 100)"), corrected=False).status == "failed"
    assert check(case.format("(1 + (n * n > 500))"), corrected=False).status == "failed"


@pytest.mark.parametrize(("condition", "sizes"), [("n < 100000", "n = 100000"), ("n * m < 100000", "n = 99999")])
def test_sizes_that_cost_too_much_are_named(check: Check, condition: str, sizes: str) -> None:
    case = check(f"{{{GRAPH}, formulas: {{x: '2 * x * grad(y) * ({condition})'}}}}")
    assert case.status == "passed"
    told = [say(note) for c in case.comparisons for note in c.notes]
    assert f"not decided for {sizes}: too large to be tried" in told
    assert is_qualified(case)


def test_bounds_of_sizes_hold(check: Check) -> None:
    case = check(f"{{{GRAPH}, formulas: {{x: '2 * x * grad(y) * (n < 100000)'}}, generalize: {{dims: {{n: [1, 9]}}}}}}")
    assert not any(c.has_note("sizes_not_tried") for c in case.comparisons)
