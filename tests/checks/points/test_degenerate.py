"""Drawn points that say nothing, and those that do."""

from __future__ import annotations

import pytest

from gradcheck.checks.points.degenerate import are_sizes_informative, degeneracy
from gradcheck.checks.result import Subject
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.phrases import say
from tests.checks.build import context_of, point_of
from tests.checks.conftest import Check

FAILED = Subject(ClaimKind.FORMULA, "x").failed()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("{inputs: {x: 'randn(5, 2)'}, graph: {y: logdet(x @ x.T)}}", "ill_conditioned_here"),
        ("{inputs: {x: 'randn(5, 2)'}, graph: {z: inv(x @ x.T), y: z.sum()}}", "ill_conditioned_here"),
        ("{inputs: {x: [-1, 2]}, graph: {y: sqrt(x).sum()}}", "not_finite_here"),
        ("{inputs: {x: [800, 2]}, graph: {y: exp(x).sum()}}", "not_finite_here"),
        ("{inputs: {x: 'randn(2, 5)'}, graph: {y: logdet(x @ x.T)}}", None),
        ("{inputs: {x: [0, 1, 1]}, graph: {y: relu(x).sum() + amax(x)}}", None),
    ],
)
def test_where_something_differs(text: str, kind: str | None) -> None:
    point = point_of(text)
    found = degeneracy(point, [FAILED])
    assert (found and found.kind) == kind
    assert degeneracy(point, [FAILED.subject.passed()]) is None


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_in_few_digits_numbers_say_something_all_the_same(dtype: str) -> None:
    """Inputs that have few digits are numbers like others: what cancels among them is told by double precision."""
    assert degeneracy(point_of("{inputs: {x: [0.3, 2]}, graph: {y: (x * x).sum()}}", dtype=dtype), [FAILED]) is None
    assert degeneracy(point_of("{inputs: {x: [100.5, -100]}, graph: {y: x.sum()}}", dtype=dtype), [FAILED]) is None
    found = degeneracy(point_of("{inputs: {x: 'randn(5, 2)'}, graph: {y: logdet(x @ x.T)}}", dtype=dtype), [FAILED])
    assert found is not None


@pytest.mark.parametrize("seed", range(4))
def test_a_drawn_point_that_says_nothing_is_drawn_again(check, seed: int) -> None:  # type: ignore[no-untyped-def]
    """`logdet(X @ X.T)` is any textbook's; of more rows than columns the matrix is singular."""
    text = "{dims: {n: 2, m: 4}, inputs: {X: 'randn(n, m)'}, graph: {y: logdet(X @ X.T)}, formulas: {X: %s}}"
    right = check(text % "2 * grad(y) * inv(X @ X.T) @ X", seed=seed)
    assert right.status == "passed"
    notes = [say(note) for c in right.comparisons for note in c.notes]
    drawn_again = any("needs n <= m" in note for note in notes)
    trials = [c.trial for c in right.comparisons if c.trial is not None]
    assert drawn_again or trials  # where nobody happens to differ, a singular matrix is no worse than another
    assert check(text % "grad(y) * inv(X @ X.T) @ X", seed=seed, corrected=False).status == "failed"


@pytest.mark.parametrize(
    ("graph", "sizes", "says"),
    [
        ("logdet(x @ x.T)", {"n": 2, "m": 3}, True),
        ("logdet(x @ x.T)", {"n": 5, "m": 3}, False),
        ("(x[:2] * x[1:]).sum()", {"n": 5, "m": 3}, None),  # the shapes do not go together
    ],
)
def test_other_sizes_are_tried(graph: str, sizes: dict[str, int], says: bool | None) -> None:
    points = context_of(f"{{dims: {{n: 3, m: 4}}, inputs: {{x: 'randn(n, m)'}}, graph: {{y: '{graph}'}}}}").points
    assert are_sizes_informative(points, sizes) is says


MASKED = (
    "dims: {t: 4, d: 3}, inputs: {q: 'randn(t, d)', k: 'randn(t, d)'}, graph: {s: '(q @ k.T) / sqrt(d)',"
    " m: 'masked_fill(s, triu(ones(t, t), 1) == 1, -inf)', p: 'softmax(m, 1)'}, backward: {p: 'randn(t, t)'},"
    " let: {ds: 'p * (grad(p) - (grad(p) * p).sum(1, keepdim=True))'}"
)


@pytest.mark.parametrize(
    ("formula", "status"),
    [
        ("ds @ k / sqrt(d)", "passed"),
        ("ds @ k / sqrt(3)", "failed"),
        ("ds @ k / sqrt(d) * (1 + (t == d))", "failed"),
        ("ds @ k / sqrt(d) * (1 + (s > 40).any())", "failed"),
    ],
)
def test_what_a_mask_leaves_out_may_be_infinite(check: Check, formula: str, status: str) -> None:
    assert check(f"{{{MASKED}, formulas: {{q: '{formula}'}}}}", explained=False).status == status


def test_where_a_rule_is_bounded_for_numbers_sake_nothing_is_said(check: Check) -> None:
    """Torch divides by no less than 1e-12; under this seed a trial has sigmoid(34)."""
    graph = "graph: {p: sigmoid(w), L: 'binary_cross_entropy(p, t)'}"
    stated = f"dims: {{n: 6}}, inputs: {{w: 'randn(n)'}}, constants: {{t: 'rand(n)'}}, {graph}"
    assert check(f"{{{stated}, formulas: {{w: (p - t) / n}}}}", seed=21).status == "passed"
    assert check(f"{{{stated}, formulas: {{w: (p - t * t) / n}}}}", seed=21, corrected=False).status == "failed"
