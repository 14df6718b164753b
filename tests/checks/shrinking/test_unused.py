"""What leads nowhere goes; what something depends on stays."""

from __future__ import annotations

from gradcheck.checks.shrinking.unused import unused, without_unused
from tests.checks.shrinking.build import entries, pinned
from tests.from_text import case_of


def test_what_leads_nowhere_goes() -> None:
    case = pinned("""
        dims: {n: 2, m: 3}
        inputs: {x: randn(n), w: randn(m)}
        graph: {y: x * 2, dead: w + 1, z: y.sum()}
        backward: z
    """)
    left = without_unused(case)
    assert (list(left.inputs), list(left.graph), list(left.dims)) == (["x"], ["y", "z"], [])
    assert list(unused(case)) == [left]


def test_what_claims_speak_of_stays() -> None:
    case = case_of("""
        inputs: {x: [1, 2], w: [1, 2]}
        constants: {c: [1, 2], d: [1, 2]}
        graph: {y: x * 2, seen: w * 3, dead: w + 1, z: y.sum()}
        backward: z
        let: {g: c * 2, idle: d}
        formulas: {x: g}
        checks: ["(seen == w * 3)"]
    """)
    left = without_unused(case)
    assert list(entries(left)) == ["y", "seen", "z"]
    assert (list(left.inputs), list(left.constants), list(left.let)) == (["x", "w"], ["c"], ["g"])


def test_steps_forget_what_is_gone() -> None:
    case = case_of("""
        inputs: {x: [1, 2], w: [1, 2]}
        graph: {y: x.sum(), z: w.sum()}
        steps:
          - {backward: y}
          - {zero_grad: [x, w]}
          - {forward: {x: [3, 4], w: [3, 4]}}
          - {backward: y}
    """)
    left = without_unused(case)
    assert (left.steps[1].names, list(left.steps[2].inputs)) == (("x",), ["x"])
