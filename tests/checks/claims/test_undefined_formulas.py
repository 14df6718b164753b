"""Formulas that are undefined where the graph is defined."""

from __future__ import annotations

import pytest

from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed

OWN = "{inputs: {x: [1.5, -2, 3, -0.5, 2.5, 1]}, graph: {y: x * x}, backward: {y: 'randn(6)'}, formulas: {x: %s}}"
DRAWN = "{dims: {n: 5}, inputs: {x: randn(n)}, graph: {y: x * x}, backward: {y: randn(n)}, formulas: {x: %s}}"
POSITIVE = "{inputs: {x: [1.5, 2, 3]}, graph: {y: x * x}, backward: {y: [1.0, 2, 3]}, formulas: {x: %s}}"


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (DRAWN, "undefined (NaN) at 4 of 5 elements: where x < 0"),
        (POSITIVE, "undefined (NaN) at 1 of 3 elements elsewhere: where x < 0"),
    ],
)
def test_right_where_it_is_defined_passes_with_that_said(check: Check, case: str, words: str) -> None:
    found = check(case % "2 * exp(log(x)) * grad(y)")
    assert found.status == "passed", failed(found)
    (own,) = [c for c in found.comparisons if c.what == "formula" and c.trial is None]
    assert words in [say(note) for note in own.notes]


@pytest.mark.parametrize("case", [OWN, DRAWN, POSITIVE])
@pytest.mark.parametrize("formula", ["2 * x * grad(y) * isfinite(log(x))", "2.001 * exp(log(x)) * grad(y)"])
def test_defined_and_wrong_fails(check: Check, case: str, formula: str) -> None:
    assert check(case % formula, corrected=False).status == "failed"


def test_defined_nowhere_fails(check: Check) -> None:
    graph = "inputs: {x: [-1.5, -2]}, graph: {y: x * x}, backward: {y: [1.0, 2]}"
    assert check(f"{{{graph}, formulas: {{x: 2 * exp(log(x)) * grad(y)}}}}").status == "failed"


@pytest.mark.parametrize(
    "formula", ["where((x == 1) | (x == 2), 2 * x, nan)", "2 * x + 0 * log(1 - (x - x.round()) ** 2 * 1e30)"]
)
def test_defined_at_the_own_numbers_alone_fails(check: Check, formula: str) -> None:
    """At drawn numbers it is NaN, and close by too: nothing shows that it is right."""
    case = f"{{inputs: {{x: [1.0, 2]}}, graph: {{y: (x * x).sum()}}, formulas: {{x: '{formula}'}}}}"
    assert check(case, corrected=False).status == "failed"


def test_a_domain_that_no_drawn_point_is_in_is_one(check: Check) -> None:
    """Of ten drawn numbers some are negative, so that no element is defined; close by all are."""
    graph = "inputs: {x: [1.5, 2, 3, 0.5, 2.5, 1, 1.25, 0.75, 2.25, 3.5]}, graph: {y: prod(x)}"
    found = check(f"{{{graph}, formulas: {{x: grad(y) * exp(log(x).sum()) / x}}}}")
    assert found.status == "passed", failed(found)


@pytest.mark.parametrize("written", ["[1.5, 0, 3]", "'linspace(0, 2, 3)'"])
def test_undefined_at_a_point_that_the_author_wrote_down_fails(check: Check, written: str) -> None:
    case = "{inputs: {x: %s}, graph: {y: prod(x)}, formulas: {x: grad(y) * prod(x) / x}}"
    assert check(case % written, corrected=False).status == "failed"
    assert check(OWN % "2 * exp(log(x)) * grad(y)", corrected=False).status == "failed"


def test_a_single_point(check: Check) -> None:
    inputs = "inputs: {x: 'tensor([1.5, 0, 3]) * rand(3)'}"
    found = check(f"{{{inputs}, graph: {{y: prod(x)}}, formulas: {{x: grad(y) * prod(x) / x}}}}")
    assert found.status == "passed"
    assert any("where x == 0" in say(note) for c in found.comparisons for note in c.notes)


def test_what_drawn_tensors_make_undefined_passes_beside_written_ones(check: Check) -> None:
    case = """
        dims: {n: 5}
        inputs: {x: randn(n), w: %s}
        graph: {y: "(w * x ** 2).sum()"}
        let: {root: exp(log(x))}
        formulas: {x: 2 * w * root}
        """
    assert check(case % "3").status == "passed"
    assert (
        check(
            "{inputs: {x: [-1.0, 2], w: 'randn(2)'}, graph: {y: (w * x).sum()}, formulas: {w: exp(log(x))}}",
            corrected=False,
        ).status
        == "failed"
    )


def test_a_formula_that_raises_at_other_numbers_is_undefined_there(check: Check) -> None:
    """A matrix of one zero has a determinant and no inverse."""
    case = check(
        """
        dims: {n: 2}
        inputs: {a: "randn(n, n)"}
        graph: {d: det(a)}
        formulas: {a: d * inv(a).T * grad(d)}
        """,
        seed=4,
    )
    assert case.status == "passed", failed(case)


UNSTABLE = "{inputs: {x: %s}, graph: {y: %s}, backward: {y: [1.0, 2, 3]}, formulas: {x: '%s'}}"


@pytest.mark.parametrize(
    ("x", "graph", "formula", "where"),
    [
        ([800.0, 1, -3], "-logsigmoid(-x)", "grad(y) * exp(x) / (1 + exp(x))", "x > "),
        ([-800.0, 1, -3], "logsigmoid(x)", "grad(y) * exp(-x) / (1 + exp(-x))", "x < "),
        ([400.0, 1, -3], "tanh(x)", "grad(y) * (1 - ((exp(2*x) - 1) / (exp(2*x) + 1)) ** 2)", "x > "),
        (
            [-800.0, 1, -3],
            "logsigmoid(x) + x",
            "grad(y) * (1 / (1 + exp(x)) + exp(-relu(-x)) / exp(-relu(-x)))",
            "x < ",
        ),
    ],
)
def test_a_formula_that_overflows_where_the_graph_does_not_is_unstable_not_wrong(
    check: Check, x: list[float], graph: str, formula: str, where: str
) -> None:
    drawn = f"'tensor({x}) * uniform(0.95, 1, [3])'"
    found = check(UNSTABLE % (drawn, graph, formula))
    assert found.status == "passed", failed(found)
    (own,) = [c for c in found.comparisons if c.what == "formula" and c.trial is None]
    told = [say(note) for note in own.notes if note.kind == "undefined_at"]
    assert told
    assert told[0].startswith("overflows on the way at 1 of 3 elements")
    assert where in told[0]
    assert check(UNSTABLE % (drawn, graph, f"1.001 * {formula}"), corrected=False).status == "failed"
    assert check(UNSTABLE % (x, graph, formula), corrected=False).status == "failed"  # the author wrote that point down


def test_a_formula_that_is_infinite_by_itself_or_overflows_everywhere_fails(check: Check) -> None:
    assert (
        check(
            UNSTABLE % ([800.0, 900, 850], "-logsigmoid(-x)", "grad(y) * exp(x) / (1 + exp(x))"), corrected=False
        ).status
        == "failed"
    )
    pole = check(UNSTABLE % ([0.0, 1, 2], "x * x", "2 * x * grad(y) + where(x == 0, 1 / x, 0 * x)"), corrected=False)
    assert pole.status == "failed"


def test_a_check_that_cannot_be_asked_at_some_drawn_numbers_holds_at_the_others(check: Check) -> None:
    case = """
        dims: {n: 3}
        inputs: {A: "randn(n, n) + 4 * eye(n)", u: "randn(n)", v: "randn(n)"}
        graph: {f: "linalg.det(A + outer(u, v))"}
        checks: ["f == %s * linalg.det(A) * (1 + v @ linalg.inv(A) @ u)"]
        """
    right = check(case % 1, seed=5)  # where a matrix of one zero is drawn
    assert right.status == "passed", failed(right)
    notes = [say(note) for c in right.comparisons for note in c.notes]
    assert "undefined at 1 other point" in notes
    assert check(case % 2, seed=5).status == "failed"
