"""Several passes: accumulation, zeroing, forward again, and errors that a case asks for."""

from __future__ import annotations

import pytest

from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, failed, those

STEPS = """
    inputs: {{x: [1.0, 2.0]}}
    graph: {{y: x * x, z: y * 3}}
    steps:
{}
"""


def steps(*lines: str) -> str:
    return STEPS.format("\n".join(f"      - {line}" for line in lines))


def test_gradients_accumulate_in_inputs_and_in_intermediates(check: Check) -> None:
    case = check(
        steps(
            "{backward: {z: [1, 1]}, expected: {x: [6, 12], y: [3, 3], z: [1, 1]}}",
            "{backward: {z: [1, 2]}, expected: {x: [12, 36], y: [6, 9], z: [2, 3]}}",
        )
    )
    assert case.status == "passed", failed(case)
    assert {c.step for c in those(case, "gradient")} == {0, 1}


def test_zero_grad_forgets_one_several_or_all(check: Check) -> None:
    case = check(
        steps(
            "backward: {z: [1, 1]}",
            "{zero_grad: y, expected: {x: [6, 12], y: null}}",
            "{zero_grad: [x, z], expected: {x: null, z: null}}",
            "{backward: {z: [1, 1]}, expected: {x: [6, 12]}}",
            "{zero_grad: all, expected: {x: null, y: null, z: null}}",
        )
    )
    assert case.status == "passed", failed(case)


def test_forward_keeps_what_inputs_have_accumulated_and_makes_new_intermediates(check: Check) -> None:
    case = check(
        steps(
            "backward: {z: [1, 1]}",
            "{forward: {x: [3, 4]}, values: {y: [9, 16]}, expected: {x: [6, 12], y: null}}",
            "{backward: {z: [1, 1]}, expected: {x: [24, 36], y: [3, 3]}}",
            "{forward: {}, values: {y: [9, 16]}, expected: {x: [24, 36]}}",
        )
    )
    assert case.status == "passed", failed(case)


def test_several_roots_in_one_pass(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1.0, 2.0]}
        graph: {y: x * x, s: x.sum()}
        backward: {y: [1, 10], s: 1}
        expected: {x: [3, 41], s: 1}
        """
    )
    assert case.status == "passed", failed(case)


def test_expected_errors_pass_and_leave_everything_as_it_was(check: Check) -> None:
    case = check(
        steps(
            "{backward: z, raises: non_scalar_backward}",
            "{backward: {z: [1, 1]}, expected: {x: [6, 12]}}",
        )
    )
    assert case.status == "passed", failed(case)
    assert those(case, "raises")[0].status == "passed"


def test_a_freed_graph_raises_in_every_engine(check: Check) -> None:
    case = check(
        steps(
            "{backward: {z: [1, 1]}, retain_graph: false}",
            "{backward: {z: [1, 1]}, raises: backward_twice, expected: {x: [6, 12]}}",
            "forward: {}",
            "{backward: {z: [1, 1]}, expected: {x: [12, 24]}}",
        )
    )
    assert case.status == "passed", failed(case)


def test_a_freed_graph_that_saved_nothing_raises_too_with_a_note(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1.0, 2.0]}
        graph: {loss: (x + x).sum()}
        steps:
          - {backward: loss, retain_graph: false}
          - {backward: loss, raises: backward_twice, expected: {x: [2, 2]}}
        """
    )
    assert case.status == "passed", failed(case)
    assert "torch itself would go on" in say(those(case, "raises")[0].notes[0])


def test_a_pass_beside_a_freed_graph_is_allowed(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1.0, 2.0]}
        graph: {a: (x * x).sum(), b: (x * 3).sum()}
        steps:
          - {backward: a, retain_graph: false}
          - {backward: b, expected: {x: [5, 7]}}
        """
    )
    assert case.status == "passed", failed(case)


def test_an_error_that_nobody_asked_for_fails_the_case_once(check: Check) -> None:
    case = check("{inputs: {x: [1, 2]}, graph: {y: x * 2}}")
    assert case.status == "failed"
    (error,) = case.errors
    assert error.kind == "non_scalar_backward"
    assert [engine for engine, _ in error.own_words] == ["torch"]
    assert {(c.engine, c.reference, c.status) for c in those(case, "raises")} == {
        ("core", "torch", "passed"), ("core", "case", "failed"), ("torch", "case", "failed"),
    }  # fmt: skip


def test_an_error_that_is_asked_for_in_vain_fails_the_case(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1, 2]}
        graph: {loss: x.sum()}
        steps:
          - {backward: loss, raises: non_scalar_backward}
        """
    )
    assert case.status == "failed"
    assert case.errors[0].kind == "not_raised"
    assert case.errors[0].place.line == 5
    core, torch = sorted(failed(case, "raises"), key=lambda c: c.engine)
    assert (core.engine, core.reference, core.place.line) == ("core", "case", 5)
    assert say(core.mismatch) == "core raises nothing; step 1 should raise non_scalar_backward"
    assert say(torch.mismatch).startswith("torch raises nothing")


def test_another_error_than_the_one_asked_for_fails_the_case(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1.0, 2.0]}
        graph: {y: x.detach() * 2}
        steps:
          - {backward: {y: [1, 1]}, raises: backward_twice}
        """
    )
    assert case.status == "failed"
    assert case.errors[0].kind == "no_grad_required"


def test_a_forward_pass_that_must_fail(check: Check) -> None:
    case = check(
        """
        inputs: {x: "randn(2, 3)"}
        graph: {y: x @ x, loss: y.sum()}
        steps:
          - {backward: loss, raises: shape_mismatch}
        """
    )
    assert case.status == "passed", failed(case)


def test_a_forward_pass_that_fails_is_placed_at_its_entry(check: Check) -> None:
    case = check(
        """
        inputs: {x: "randn(2, 3)"}
        graph:
          s: x.sum()
          y: x @ x
        """
    )
    assert case.status == "failed"
    (error,) = case.errors
    assert (error.kind, error.place.line) == ("shape_mismatch", 5)


def test_detached_entries_have_no_gradient(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1.0, 2.0]}
        graph: {d: x.detach(), n: no_grad(x * 3), loss: (x * d + n).sum()}
        expected: {d: null, n: null, x: [1, 2]}
        """
    )
    assert case.status == "passed", failed(case)


def test_an_entry_that_hands_its_input_on_has_a_gradient_of_its_own(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1.0, 2.0]}
        graph: {f: x.flatten(), r: x.real, loss: (f * 2).sum() + (r * 5).sum() + x.sum()}
        expected: {x: [8, 8], f: [2, 2], r: [5, 5]}
        """
    )
    assert case.status == "passed", failed(case)


def test_what_the_reference_cannot_differentiate_is_unsupported_and_nothing_else(check: Check) -> None:
    case = check("{inputs: {x: [1, 2]}, graph: {y: (x // 2).sum() + x.sum()}, expected: {x: [1, 1]}}")
    assert case.status == "unsupported", case.errors
    assert [c.status for c in those(case, "raises")] == ["unsupported"]
    assert not failed(case, "gradient")


@pytest.mark.parametrize(
    "claim",
    [
        "expected: {x: [1, 1]}",
        "values: {x: [1, 2]}",
        "formulas: {x: ones(2)}",
        "wrong_formulas: {x: ones(3)}",
        'checks: ["x == x"]',
    ],
)
def test_claims_that_nobody_can_hear_fail(check: Check, claim: str) -> None:
    broken = "{inputs: {x: [1, 2]}, graph: {y: 'x[5]'}, steps: [{backward: y, raises: index_out_of_range}], %s}"
    assert check(broken % "expected: {x: null}").status == "passed"
    case = check(broken % claim)
    assert case.status == "failed"
    assert [say(c.mismatch) for c in failed(case)] == ["not compared: y could not be evaluated"]


def test_steps_behind_a_forward_pass_that_failed_are_missed(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1, 2]}
        graph: {y: "x[5]"}
        steps: [{backward: y, raises: index_out_of_range}, {backward: y}]
        """
    )
    assert case.status == "failed"
    assert [error.kind for error in case.errors] == ["not_run"]


def test_a_tensor_may_be_called_all(check: Check) -> None:
    text = "{inputs: {x: [1, 2], all: [3, 4]}, graph: {y: (x * all).sum()}, steps: [{backward: y}, %s]}"
    assert check(text % "{zero_grad: [all], expected: {x: [3, 4], all: null}}").status == "passed"
    assert check(text % "{zero_grad: all, expected: {x: null, all: null}}").status == "passed"


def test_a_complex_number_has_no_obvious_gradient(check: Check) -> None:
    text = "{{dtype: complex128, inputs: {{x: 1 + 2j}}, graph: {{y: x * x}}, steps: [{}]}}"
    case = check(text.format("{backward: y, raises: non_scalar_backward}"))
    assert case.status == "passed", case.errors
    assert check(text.format("{backward: {y: 1}}")).status == "passed"


@pytest.mark.parametrize("entry", ["\"'text'\"", "x.dtype", "None"])
def test_a_graph_entry_that_is_no_tensor_is_a_mistake_and_no_crash(check: Check, entry: str) -> None:
    case = check(f"{{inputs: {{x: [1, 2]}}, graph: {{y: {entry}, z: x.sum()}}}}")
    assert case.status in ("failed", "invalid")
    assert "y" in say(case.errors[0].message)
