"""Sides of comparisons that no slope leads to, and those that only numbers with a structure are on."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gradcheck.checks.branches.branch_sites import SearchBudget
from gradcheck.checks.claims import branch_coverage_trials
from gradcheck.checks.claims.branch_coverage_trials import ChoiceTrials
from gradcheck.checks.points.drawing import Points
from gradcheck.checks.points.point import Point, is_informative
from gradcheck.reports.passed_case import is_qualified, passed_remarks
from gradcheck.reports.phrases import say
from tests.checks.build import context_of
from tests.checks.conftest import Check
from tests.sampling import evenly_spread

CASE = """{{dims: {{n: 4}}, inputs: {{x: 'randn(n)'}}, constants: {{t: 'randint(0, 9, (n,))'}}, graph: {{y: {graph}}},
backward: {{y: 'randn(n)'}}, formulas: {{x: '2 * x * grad(y) * {factor}'}}}}"""


def visited(factor: str, graph: str = "x * x") -> tuple[list[Point], list[Mapping[str, int]]]:
    """The points that are looked at, of which those that tell something are trials."""
    context = context_of(CASE.format(graph=graph, factor=factor))
    looked_at: list[Point] = []

    def look(point: Point | None) -> bool:
        if point is not None:
            looked_at.append(point)
        return point is not None

    choices = ChoiceTrials(context.case, context.points, look, 0)
    choices.visit()
    return looked_at, choices.choice_sizes


def test_where_nothing_is_chosen_nothing_is_looked_at() -> None:
    assert visited("1") == ([], [])


def test_sizes_and_draws_that_decide() -> None:
    by_size, _ = visited("(1 + (n == 6))")
    assert 6 in {point.problem.sizes["n"] for point in by_size}
    by_draw, of_sizes = visited("(1 + (t == 7).all())")
    assert any((point.problem.constants["t"] == 7).all() for point in by_draw)
    assert not of_sizes


@pytest.mark.parametrize("factor", ["(n % 13 + 1)", "(t.max() % 5 + 1)"])
def test_there_are_few_of_them(factor: str) -> None:
    assert 4 < len(visited(factor)[0]) <= 4 + 8 * 3


def test_a_size_at_which_all_gradients_are_0_is_tried_several_times() -> None:
    points, _ = visited("(1 + (n == 6))", graph="x * x * 0")
    assert not any(map(is_informative, points))
    assert sum(point.problem.sizes["n"] == 6 for point in points) <= 3


SUM = "dims: {n: 4}, inputs: {x: 'randn(n)'}, graph: {y: relu(x).sum()}, backward: {y: 'randn([])'}"


@pytest.mark.parametrize(
    "wrong",
    ["(x.argmax() == 0)", "(x.argmax() == n - 1) * (n > 5)", "(x == sort(x)[0]).all()", "isnan(sqrt(x + 3)).any()"],
)
def test_what_is_wrong_on_a_rare_side_fails(check: Check, wrong: str) -> None:
    assert check(f"{{{SUM}, formulas: {{x: 'grad(y) * (x > 0) * (1 + {wrong})'}}}}", corrected=False).status == "failed"


def test_what_labels_and_numbers_are_together(check: Check) -> None:
    case = check(
        "{dims: {n: 4, c: 3}, inputs: {z: 'randn(n, c)'}, constants: {t: 'randint(0, c, [n])'}, "
        "graph: {loss: 'cross_entropy(z, t)'}, "
        "formulas: {z: '(softmax(z, 1) - one_hot(t, c)) / n * (1 + (t == z.argmax(1)).all())'}}",
        corrected=False,
    )
    assert case.status == "failed"


def test_a_proof_knows_nothing_of_single_points(check: Check) -> None:
    graph = "dims: {n: 3}, inputs: {x: 'randn(n)'}, graph: {y: x * x}, backward: {y: 'randn(n)'}"
    assert check(f"{{{graph}, formulas: {{x: '2 * x * grad(y) + 5 * (x == 0)'}}}}").status == "failed"


def test_a_right_one_passes(check: Check) -> None:
    assert check(f"{{{SUM}, formulas: {{x: 'grad(y) * where(sign(x) == 1, 1, 0)'}}}}").status == "passed"


@pytest.mark.parametrize("size", [1, 3])
def test_stated_bounds_are_kept(check: Check, size: int) -> None:
    graph = (
        f"dims: {{n: {size}}}, inputs: {{x: 'uniform(-3, -0.5, [n])'}}, graph: {{y: x**3}}, backward: {{y: 'randn(n)'}}"
    )
    assert check(f"{{{graph}, formulas: {{x: 'where(sqrt(x*x) == x, 5 + 0*x, 3*x**2) * grad(y)'}}}}").status == "passed"


@pytest.mark.parametrize("dtype", ["float64", "float16"])
@pytest.mark.parametrize("wrong", ["where(x == floor(x), 0*x, %s)", "%s * (1 + (2*x == floor(2*x)))"])
def test_whole_numbers_within_a_clamp_are_looked_at(check: Check, wrong: str, dtype: str) -> None:
    case = (
        f"{{dtype: {dtype}, inputs: {{x: [0.8, -0.3, 2.0, -1.0]}}, graph: {{y: 'clamp(x, -0.5, 0.8)'}}, "
        "backward: {y: [1.0, 2.0, 3.0, 4.0]}, formulas: {x: '%s'}}"
    )
    right = "grad(y) * ((x >= -0.5) & (x <= 0.8))"
    assert check(case % (wrong % right), corrected=False).status == "failed"
    assert check(case % (wrong % right).replace("1 +", "1 + 0 *").replace("0*x", right)).status == "passed"


STEPS = "let: {m: 'x > 0'}, formulas: {x: 'grad(y) * m'}, checks: ['y == (x * m).sum()']"
STRUCTURED = ("lowest", "huge")


@pytest.fixture
def structures(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Those with which points were drawn."""
    drawn: list[object] = []
    sized = Points.point_of_sizes
    monkeypatch.setattr(Points, "point_of_sizes", lambda *a: drawn.append(a[-1] if len(a) > 4 else None) or sized(*a))
    return drawn


@pytest.mark.parametrize(
    "claims",
    [
        "formulas: {x: 'grad(y) * (x > 0)'}",
        "wrong_formulas: {x: 'grad(y) * (x > 0) * (1 + (x > -9))'}, generalize: {}",  # refuted
        STEPS,  # a check compares what it states, and is not looked at there
    ],
)
def test_what_is_settled_needs_no_structure(check: Check, structures: list[object], claims: str) -> None:
    assert check(f"{{{SUM}, {claims}}}").status == "passed"
    assert not {*STRUCTURED} & {*structures}


@pytest.mark.parametrize(
    "claims",
    [
        "formulas: {x: 'grad(y) * relu(x) / relu(x).abs().clamp(min=1e-300)'}",
        "wrong_formulas: {x: 'grad(y) * (x > 0)'}, generalize: {}",  # right, and so never refuted
    ],
)
def test_what_is_open_is_looked_at_with_structures(check: Check, structures: list[object], claims: str) -> None:
    check(f"{{{SUM}, {claims}}}")
    assert {*STRUCTURED} <= {*structures}


TIE = "inputs: {x: [1.0, 3.0, 3.0, 2.0]}, graph: {y: amax(x)}, backward: {y: 2.0}"
SHARES = "grad(y) * (x == y) / (x == y).sum()"
BOTH = "inputs: {a: [1.0, 2.0, 3.0], b: [1.0, 5.0, 3.0]}, graph: {y: 'maximum(a, b)'}, backward: {y: [1.0, 2.0, 4.0]}"
QUOTIENT = (
    "dims: {n: 4}, inputs: {a: 'randn(n)', b: 'uniform(0.5, 2, [n])'}, graph: {y: 'a / (a * a + b)'},"
    " backward: {y: 'randn(n)'}"
)
ABOVE = "dims: {n: 3}, inputs: {x: 'randn(n)'}, graph: {h: x * x, loss: h.sum()}, backward: {h: 'randn(n)', loss: 1}"
DET = "dims: {n: 3}, inputs: {a: 'randn(n, n)'}, graph: {y: det(a)}, backward: {y: 'randn([])'}"
SCALE = "dims: {n: 3, d: 2}, inputs: {x: 'randn(n, d)', w: 'randn(d)'}, graph: {y: x * w}, backward: {y: 'randn(n, d)'}"
POOL = (
    "dims: {n: 2, h: 2}, inputs: {x: 'randn(n, 2 * h)'}, graph: {r: 'x.reshape(n, h, 2)', y: 'amax(r, 2)'},"
    " backward: {y: 'randn(n, h)'}"
)
SATURATED = (
    "dims: {n: 4, m: 3, k: 2}, inputs: {x: 'randn(n, m)', w: 'randn(m, k)'}, graph: {h: x @ w, y: sigmoid(h)},"
    " backward: {y: 'ones_like(y)'}"
)
FAINT = "inputs: {x: [1e-200, -3e-200]}, graph: {y: x.norm()}"
LARGEST = "(r == y[:, :, None])"
POOLED = f"(grad(y)[:, :, None] * {LARGEST} / {LARGEST}.sum(2, keepdim=True)).reshape(n, 2 * h)"
WHOLE = f"(grad(y)[:, :, None] * {LARGEST}).reshape(n, 2 * h)"
TABLE = [
    ("small incoming gradients", TIE, "x", f"where(abs({SHARES}) < 1e-5, 0 * x, {SHARES})", "failed"),
    ("equal but for their signs", TIE, "x", SHARES.replace("x ==", "sqrt(x * x) =="), "failed"),
    ("all negative, where gradients are not 0", BOTH, "a",
     "grad(y) * ((a > b) + 0.5 * (a == b)) * (1 + (a < 0).all())", "failed"),
    ("incoming gradients alone", QUOTIENT, "b", "clamp(-grad(y) * a / (a * a + b)**2, -10, 10)", "failed"),
    ("what arrives in an inner root", ABOVE, "x", "2 * x * grad(h) + (grad(h) == 0).all()", "failed"),
    ("a determinant of 1", DET, "a", "grad(y) * y * inv(a).T * (1 + (y == 1))", "failed"),
    ("a place at a size", SUM, "x", "grad(y) * (x > 0) * (1 + (x.argmin() == 1) * (n > 6))", "failed"),
    ("neither above nor below", SCALE, "w", "(grad(y) * x).sum(0) * ((w > 0.7) | (w < 0.7))", "failed"),
    ("the sign of 0", SCALE, "w", "(grad(y) * x).sum(0) * sign(w)**2", "failed"),
    ("where it matters", POOL, "x", f"{POOLED} * (1 + (x < -2.5))", "failed"),
    ("where much is saturated", SATURATED, "w", "where(w > 100, (x.T @ grad(h)) * w, x.T @ grad(h))", "failed"),
    ("from numbers whose squares are 0", FAINT, "x", "x / clamp(x.norm(), -10, 10)", "failed"),
    ("a choice that makes no difference", SCALE, "w", "where(w > 0.7, (grad(y) * x).sum(0), (x * grad(y)).sum(0))",
     "passed"),
    ("either side of all numbers", SCALE, "w", "(grad(y) * x).sum(0) * ((w > 0.7) | (w <= 0.7))", "passed"),
    ("a pool", POOL, "x", POOLED, "passed"),
    ("the whole to each of two that tie", POOL, "x", WHOLE, "failed"),
]  # fmt: skip


def test_sides_that_show(check: Check) -> None:
    """What is wrong on one side alone, where elements on it matter, fails; what is right on all passes."""
    came_out = {
        what: check(f"{{{graph}, formulas: {{{tensor}: '{formula}'}}}}", explained=False).status
        for what, graph, tensor, formula, _ in TABLE
    }
    assert came_out == {what: status for what, *_, status in TABLE}


@pytest.mark.parametrize("seed", evenly_spread(list(range(6)), 3))
@pytest.mark.parametrize(
    ("graph", "formula"),
    [
        ("F.max_pool1d(x, 2)", "where(x == repeat_interleave(y, 2, 1), repeat_interleave(grad(y), 2, 1), 0 * x)"),
        ("amax(x, 1)", "(x == y[:, None]) * grad(y)[:, None]"),
        ("amin(x, 0)", "(x <= y) * grad(y)"),
    ],
)
def test_ties_are_met_at_every_seed(check: Check, graph: str, formula: str, seed: int) -> None:
    """The whole gradient goes to each of two that are the largest; the half to each is right."""
    text = f"""
        dims: {{n: 3, m: 2}}
        inputs: {{x: "randn(m, 2 * n)"}}
        graph: {{y: "{graph}"}}
        backward: {{y: "randn_like(y)"}}
        wrong_formulas: {{x: "{formula}"}}
    """
    assert check(text, seed=seed).status == "passed"


def test_sides_without_a_search_are_said(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = "dims: {n: 3}, inputs: {x: 'randn(n)'}, graph: {y: 'sort(x * x)[0].sum()'}, backward: {y: 'randn([])'}"
    wrong = f"{{{graph}, formulas: {{x: '2 * x * grad(y) * where(x > 60, 2, 1)'}}}}"
    assert check(wrong).status == "failed"
    monkeypatch.setattr(branch_coverage_trials, "SearchBudget", lambda: SearchBudget(0))
    case = check(wrong)
    assert case.status == "passed"
    note = next(n for c in case.comparisons if c.tensor == "x" for n in c.notes if n.kind == "sides_not_searched")
    assert say(note).startswith(
        "not decided for 1 side of comparisons, since the budget of their search is spent: x > 60"
    )
    assert is_qualified(case)
    assert say(note) in " ".join(passed_remarks(case))


SQUARE = "dims: {n: 4}, inputs: {x: 'randn(n)'}, graph: {y: (x * x).sum()}"


@pytest.mark.parametrize(
    "wrong",
    [
        *("round(x / 1000)", "trunc(x / 64)", "floor(abs(x) / 100)", "(x / 200).int()", "abs(x) // 100"),
        *("x - fmod(x, 100)", "trunc(x.sum() / 100)", 'div(x, 70, rounding_mode="trunc")', "(x.long() // 200) * 1.0"),
        *("isinf(exp(x))", "~isfinite(exp(x))", "isinf(exp(x * x))", "isinf(1e300 * x)", "isnan(exp(x) / exp(x))"),
        "nan_to_num(exp(x) - exp(x), nan=1)",
        *("argmax(cat([zeros(1) + 90, x])) * 1.0", "sort(cat([x, zeros(1) + 300]))[0][-1] - 300"),
        "cummax(cat([zeros(1) + 400, x]), 0)[0][-1] - 400",
    ],
)
def test_steps_overflow_and_choices_are_visited(check: Check, wrong: str) -> None:
    assert check(f"{{{SQUARE}, formulas: {{x: '2 * x + {wrong}'}}}}", corrected=False).status == "failed"


@pytest.mark.parametrize(
    "factor", ["(1 + trunc(x / 500))", "(1 + floor(abs(x) / 100))", "(1 + (x.long() // 200) * (x > 0))"]
)
def test_roundings_of_the_graph_are_visited(check: Check, factor: str) -> None:
    case = (
        f"{{dims: {{n: 4}}, inputs: {{x: 'randn(n)'}}, graph: {{y: (x * {factor}).sum()}}, formulas: {{x: ones(n)}}}}"
    )
    assert check(case, corrected=False).status == "failed"


def test_a_place_among_more_elements_than_there_are_is_named(check: Check) -> None:
    case = check("{dims: {n: 4}, inputs: {x: 'randn(n)'}, graph: {y: x.sum() * (1 + (x.argmax() > 20))}, "
                 "formulas: {x: ones(n)}}")  # fmt: skip
    assert is_qualified(case)


@pytest.mark.parametrize("formula", ["floor(x)", "where(isfinite(x), floor(x), 0)"])
def test_right_ones_with_steps_pass(check: Check, formula: str) -> None:
    graph = "inputs: {x: 'randn(n)'}, graph: {y: (floor(x) * x).sum()}"
    assert check(f"{{dims: {{n: 4}}, {graph}, formulas: {{x: '{formula}'}}}}").status == "passed"


@pytest.mark.parametrize(
    ("graph", "formula"),
    [
        ("sqrt(x)", "0.5 / sqrt(abs(x))"),
        ("xlogy(x, x)", "1 + log(abs(x))"),
        ("acosh(1 + x)", "1 / sqrt(abs(x * (x + 2)))"),
    ],
)
def test_sides_are_visited_where_the_graph_is_defined(check: Check, graph: str, formula: str) -> None:
    claim = f"graph: {{y: '{graph}.sum()'}}, formulas: {{x: '{formula} + (x < 1e-3)'}}"
    case = f"{{dims: {{n: 4, m: 3}}, inputs: {{x: 'randn(n)'}}, {claim}}}"
    assert check(case, corrected=False).status == "failed"


def test_a_side_where_nothing_is_defined_is_no_limit(check: Check) -> None:
    case = check("{dims: {n: 4}, inputs: {x: 'randn(n)'}, graph: {y: sqrt(x).sum()}, "
                 "formulas: {x: 'where(x > 0, 0.5 / sqrt(x), nan)'}}")  # fmt: skip
    assert not any(c.has_note("branch_not_visited") for c in case.comparisons if c.formula)


@pytest.mark.parametrize(
    "identity",
    ["where(x > 40, grad(x) * 2, grad(x)) == ones(n)", "(y == x.clamp(max=40).sum()) & (x == x).all()"],
)
def test_sides_within_checks_are_visited(check: Check, identity: str) -> None:
    case = f"{{dims: {{n: 4}}, inputs: {{x: 'randn(n)'}}, graph: {{y: x.sum()}}, checks: ['{identity}']}}"
    assert check(case).status == "failed"


@pytest.mark.parametrize("identity", ["abs(y - x.sum()).max() < 1e-9", "(x ** 2 >= 0).all() | (y > 0)"])
def test_the_comparison_that_a_check_states_has_no_other_side(check: Check, identity: str) -> None:
    case = check(f"{{dims: {{n: 4}}, inputs: {{x: 'randn(n)'}}, graph: {{y: x.sum()}}, checks: ['{identity}']}}")
    assert case.status == "passed"
    assert not is_qualified(case)


def test_a_side_within_a_check_that_is_out_of_reach_is_named(check: Check) -> None:
    case = check("{dims: {n: 4}, inputs: {x: 'uniform(0, 1, [n])'}, graph: {y: x.sum()}, "
                 "checks: ['where(x > 40, 2 * grad(x), grad(x)) == ones(n)']}")  # fmt: skip
    assert is_qualified(case)
