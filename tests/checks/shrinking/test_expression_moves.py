"""Parts of expressions in their place."""

from __future__ import annotations

from gradcheck.checks.shrinking.case_edits import operations
from gradcheck.checks.shrinking.expression_moves import simpler_parts, small_parts
from tests.checks.shrinking.build import entries, pinned, shapes


def test_long_expressions_are_cut_in_few_steps() -> None:
    case = pinned(f"{{inputs: {{x: [1, 2]}}, graph: {{y: 'x{' + x' * 500}'}}, backward: {{y: [1, 1]}}}}")
    sizes = [operations(smaller) for smaller in small_parts(case)]
    assert sizes == sorted(sizes)
    assert len(sizes) < 12
    assert sizes[0] <= 2


def test_a_part_takes_the_place_of_the_whole_or_becomes_a_number() -> None:
    case = pinned("{inputs: {x: [1, 2], w: [3, 4]}, graph: {y: exp(x) * sin(w)}, backward: {y: [1, 1]}}")
    found = [(entries(smaller)["y"], sorted(shapes(smaller))) for smaller in simpler_parts(case)]
    assert ("exp(x)", ["x"]) in found
    assert ("x * sin(w)", ["w", "x"]) in found
    assert ("t0 * sin(w)", ["t0", "w"]) in found
    assert all(text != "t0" for text, _ in found)  # the whole as a number would be nothing to check


def test_what_is_no_tensor_takes_no_place() -> None:
    case = pinned("{inputs: {x: [[1, 2], [3, 4]]}, graph: {y: 'x.sum(dim=1)'}, backward: {y: [1, 1]}}")
    assert [entries(smaller)["y"] for smaller in simpler_parts(case)] == ["x"]
