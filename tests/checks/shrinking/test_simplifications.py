"""Each way to make a case smaller, by itself."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.shrinking.case_edits import count_operations
from gradcheck.checks.shrinking.simplifications import (
    count_up,
    drop_aliases,
    drop_unused,
    earlier_roots,
    entries_as_numbers,
    fewer_steps,
    integers,
    plain_dtype,
    simpler_numbers,
    simpler_parts,
    small_parts,
    smaller_sizes,
    without_unused,
)
from tests.checks.shrinking.build import entries, pinned, shapes
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
    assert list(drop_unused(case)) == [left]


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


CHAIN = "{inputs: {x: [1, 2]}, graph: {a: x * 2, b: exp(a), c: b.sum()}}"


def test_the_pass_starts_further_up() -> None:
    found = list(earlier_roots(pinned(CHAIN)))
    assert [list(case.graph) for case in found] == [["a"], ["a", "b"]]
    (root,) = found[0].steps[0].roots.values()
    assert root is not None
    np.testing.assert_array_equal(np.asarray(root.array), [1, 2])


def test_what_cannot_be_differentiated_is_no_end() -> None:
    case = pinned("{inputs: {x: [1, 2]}, graph: {m: x > 1, y: 'where(m, x, x * 2).sum()'}}")
    assert list(earlier_roots(case)) == []


def test_entries_are_given_as_numbers_the_last_first() -> None:
    found = list(
        entries_as_numbers(pinned("{inputs: {x: [1, 2]}, graph: {a: x * 2, b: exp(a), c: b.sum()}, backward: c}"))
    )
    assert entries(found[1]) == {"c": "b.sum()"}
    assert shapes(found[1]) == {"b": (2,)}
    assert entries(found[2]) == {"b": "exp(a)", "c": "b.sum()"}


def test_another_name_for_a_tensor_goes() -> None:
    (found,) = drop_aliases(pinned("{inputs: {x: [1, 2]}, graph: {a: x * 2, b: a, c: b * b}, backward: {c: [1, 1]}}"))
    assert entries(found) == {"a": "x * 2", "c": "a * a"}
    (root,) = drop_aliases(pinned("{inputs: {x: [1, 2]}, graph: {a: x * 2, b: a}, backward: {b: [1, 1]}}"))
    assert list(root.steps[0].roots) == ["a"]


def test_one_step_or_root_less() -> None:
    text = """
        inputs: {x: 1}
        graph: {a: x * 2, b: x * 3}
        steps: [{backward: {a: 1, b: 1}}, {zero_grad: x}]
    """
    found = [[(step.action, list(step.roots)) for step in case.steps] for case in fewer_steps(pinned(text))]
    assert [("zero_grad", [])] in found
    assert [("backward", ["a", "b"])] in found
    assert [("backward", ["b"]), ("zero_grad", [])] in found
    assert len(found) == 4


def test_long_expressions_are_cut_in_few_steps() -> None:
    case = pinned(f"{{inputs: {{x: [1, 2]}}, graph: {{y: 'x{' + x' * 500}'}}, backward: {{y: [1, 1]}}}}")
    sizes = [count_operations(smaller) for smaller in small_parts(case)]
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


def test_equal_sizes_shrink_together() -> None:
    case = pinned("{inputs: {a: 'randn(4, 5)', b: 'randn(5, 4)'}, graph: {c: a @ b, d: c.sum()}}")
    found = [shapes(smaller) for smaller in smaller_sizes(case)]
    assert {"a": (4, 1), "b": (1, 4)} in found
    assert {"a": (1, 5), "b": (5, 1)} in found


def test_sizes_with_names_follow() -> None:
    case = pinned("{dims: {n: 4, m: 3}, inputs: {a: 'randn(n, m)'}, graph: {d: a.sum()}}")
    found = [(shapes(smaller)["a"], dict(smaller.dims)) for smaller in smaller_sizes(case)]
    assert ((1, 3), {"n": 1, "m": 3}) in found
    assert ((4, 2), {"n": 4, "m": 2}) in found


def test_numbers_become_small_and_round_and_only_then() -> None:
    found = [np.asarray(c.inputs["x"].array).tolist() for c in simpler_numbers(pinned(
        "{inputs: {x: [1.23456, 2.5]}, graph: {y: x.sum()}}"
    ))]  # fmt: skip
    assert found == [[1, 2], [1, 1], [1, 2], [1.2, 2.5], [1.23, 2.5]]
    assert list(simpler_numbers(pinned("{inputs: {x: [3, 2]}, graph: {y: x.sum()}}"))) == []


def test_what_is_not_zero_is_not_rounded_to_it() -> None:
    """At 0 functions have kinks and poles; and a minus stays."""
    cases = simpler_numbers(pinned("{inputs: {x: [-0.3, 0.02, 0.0]}, graph: {y: x.sum()}}"))
    found = [np.asarray(c.inputs["x"].array).tolist() for c in cases]
    assert found[2:] == [
        [-1, 1, 0],
        [-0.3, 0.1, 0],
    ]


def test_counting_starts_anew_after_nine() -> None:
    assert count_up(np.zeros((3, 4), np.float32)).ravel().tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3]
    assert count_up(np.zeros(2, np.float32)).dtype == np.float32


def test_whole_numbers_lose_their_decimal_point_where_it_means_nothing() -> None:
    case = pinned("{inputs: {x: [1, 2], w: [0.5, 2]}, constants: {c: [1.0, 2.0]}, graph: {y: (x * w * c).sum()}}")
    (found,) = integers(case)
    assert np.asarray(found.inputs["x"].array).dtype == np.int64


def test_other_floats_become_doubles_complex_numbers_stay() -> None:
    (found,) = plain_dtype(pinned("{dtype: float16, inputs: {x: [1, 2]}, graph: {y: x.sum()}}"))
    assert (found.dtype, np.asarray(found.inputs["x"].array).dtype) == ("float64", np.float64)
    assert list(plain_dtype(pinned("{dtype: complex64, inputs: {x: [1, 2]}, graph: {y: x.sum()}, backward: y}"))) == []
