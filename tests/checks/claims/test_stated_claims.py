"""What a file states: known values, formulas right and wrong, identities."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.core import Core
from gradcheck.reports.phrases import say
from tests.checks.conftest import Check, TorchWith, failed, those
from tests.conftest import WithForward


def test_expected_gradients_are_held_against_every_engine(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1, 2]}
        graph: {loss: (x * x).sum()}
        values: {loss: 5}
        expected: {x: [2, 4], loss: 1}
        """
    )
    assert case.status == "passed"
    assert {(c.tensor, c.engine) for c in those(case, "expected")} == {
        ("x", "core"), ("x", "torch"), ("loss", "core"), ("loss", "torch"),
    }  # fmt: skip
    assert {c.engine for c in those(case, "expected_value")} == {"core", "torch"}


def test_a_wrong_expectation_fails_at_its_line(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1, 2]}
        graph: {loss: (x * x).sum()}
        expected:
          x: [2, 5]
        """
    )
    assert case.status == "failed"
    for comparison in failed(case):
        assert (comparison.what, comparison.place.line) == ("expected", 5)
        assert (comparison.worst_index, comparison.got, comparison.want) == ((1,), 4.0, 5.0)


def test_a_tiny_gradient_with_an_error_of_a_thousandth_fails(check: Check) -> None:
    text = """
        inputs: {{x: [1, 2]}}
        graph: {{loss: (x * 1e-12).sum()}}
        expected: {{x: [{0}, {0}]}}
    """
    assert check(text.format("1e-12")).status == "passed"
    assert check(text.format("1.001e-12")).status == "failed"


def test_expected_null_means_none_or_zeros(check: Check) -> None:
    text = """
        inputs: {{x: [1.0, 2], y: [3, 4], z: [5, 6]}}
        graph: {{loss: (x.detach() * y + 0 * z).sum()}}
        expected: {{{0}: null}}
    """
    assert check(text.format("x")).status == "passed"
    assert check(text.format("z")).status == "passed"
    case = check(text.format("y"))
    assert case.status == "failed"
    assert "none was expected" in say(failed(case)[0].mismatch)


def test_expected_is_strict_about_shapes(check: Check) -> None:
    case = check("{inputs: {x: [1, 2]}, graph: {loss: x.sum()}, expected: {x: [[1, 1]]}}")
    assert case.status == "failed"
    assert "shape [2], expected [1, 2]" in say(failed(case)[0].mismatch)


@pytest.mark.parametrize(("stated", "status"), [("[0, 0]", "passed"), ("[[0, 0]]", "failed"), ("0", "failed")])
def test_expected_zeros_of_a_tensor_without_a_gradient_have_its_shape(check: Check, stated: str, status: str) -> None:
    case = check(f"{{inputs: {{x: [1, 2], z: [3, 4]}}, graph: {{loss: x.sum()}}, expected: {{z: {stated}}}}}")
    assert case.status == status, failed(case)


def test_tolerances_of_the_case_and_of_a_tensor(check: Check) -> None:
    text = """
        inputs: {{x: [1, 3], y: [1, 3]}}
        graph: {{loss: (x / 3 + y / 7).sum()}}
        expected: {{x: [0.3333, 0.3333], y: [0.1429, 0.1429]}}
        {0}
    """
    assert check(text.format("")).status == "failed"
    assert check(text.format("tolerance: {rtol: 1e-3}")).status == "passed"
    case = check(text.format("tolerance: {x: {rtol: 1e-3}}"))
    assert {c.tensor for c in failed(case)} == {"y"}
    assert check(text.format(""), rtol=1e-3).status == "passed"


def test_checks_are_tolerant_where_they_say_equal_and_exact_elsewhere(check: Check) -> None:
    text = """
        inputs: {{x: [0.1, 0.2, 0.3], y: [[1, 2], [3, 4]]}}
        graph: {{loss: x.sum() + y.sum()}}
        checks: ["{0}"]
    """
    for holds in ("x.sum() == 0.6", "x * 3 == tensor([0.3, 0.6, 0.9])", "(x > 0) & (x < 1)", "x.shape[0] == 3",
                  "grad(y) == 1", "x[0] + x[1] != 0.3", "(x.sum() == 0.6) & (loss > 0)"):  # fmt: skip
        assert check(text.format(holds)).status == "passed", holds
    for fails in ("x.sum() == 0.600001", "x > 0.15", "x == y", "grad(y) == x", "x.shape[0] == 2"):
        case = check(text.format(fails))
        assert case.status == "failed", fails
        assert failed(case)[0].formula == fails
        assert failed(case)[0].place.line == 4


@pytest.mark.parametrize("text", ["'grad(x) == 5'", "grad(x) - 5", "x.shape", "x.dtype", "[]", "(1, 2)", "None"])
def test_a_check_that_is_no_comparison_fails(check: Check, text: str) -> None:
    """Text in two pairs of quotation marks is true in Python, whatever it says."""
    case = check(f'inputs: {{x: [1, 2]}}\ngraph: {{loss: (x * x).sum()}}\nchecks: ["{text}"]')
    (comparison,) = those(case, "check")
    assert (comparison.status, say(comparison.mismatch)) == ("failed", "is neither true nor false; write left == right")


def test_a_failed_equality_says_where_and_by_how_much(check: Check) -> None:
    case = check("{inputs: {x: [1, 2]}, graph: {loss: x.sum()}, checks: ['x == tensor([1, 2.5])']}")
    (wrong,) = failed(case)
    assert (wrong.worst_index, wrong.got, wrong.want) == ((1,), 2.0, 2.5)


def test_sums_that_cancel_to_rounding_noise_equal_zero(check: Check) -> None:
    case = check(
        """
        inputs: {x: "randn(6, 9)"}
        constants: {w: "randn(6, 9)"}
        graph: {p: "softmax(x, dim=1)", loss: (p * w).sum()}
        checks:
          - grad(x).sum(dim=1) == 0
          - "p.sum(dim=1) - 1 == 0"
        """
    )
    assert case.status == "passed", failed(case)


def test_but_a_sum_that_does_not_cancel_is_no_noise(check: Check) -> None:
    case = check(
        """
        inputs: {x: "randn(6, 9)"}
        graph: {loss: "(softmax(x, dim=1) * x).sum()"}
        checks: ["grad(x).sum(dim=1) == 1 + 1e-9"]
        """
    )
    assert case.status == "failed"


def test_parts_of_a_tuple_are_compared_and_claimed(check: Check) -> None:
    case = check(
        """
        inputs: {x: [[1, 5, 2], [7, 3, 4]]}
        graph: {m: "torch.max(x, 1)", loss: "(m[0] * m[0]).sum()"}
        values: {loss: 74}
        checks: ["m[1] == tensor([1, 0])", "grad(loss) == 1"]
        formulas: {loss: "1.0"}
        """
    )
    assert case.status == "passed", failed(case)
    assert {"m[0]", "m[1]"} <= {c.tensor for c in those(case, "value")}
    assert {"m[0]", "m[1]"} <= {c.tensor for c in those(case, "gradient")}


class Greedy(Core):
    """A core that gives every floating leaf a gradient, constants too."""

    name = "greedy"

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Tensor:
        return super().leaf(array, array.dtype.kind == "f")


@pytest.mark.parametrize("claim", ["", ", expected: {c: null}"])
def test_a_gradient_that_arrives_in_a_constant_is_seen(check: Check, claim: str) -> None:
    text = f"{{inputs: {{x: [1, 2]}}, constants: {{c: [3.0, 4.0]}}, graph: {{y: (x * c).sum()}}{claim}}}"
    assert check(text).status == "passed"
    case = check(text, engines=[Greedy()])
    assert case.status == "failed"
    wrong = failed(case)
    assert not any(c.verdict for c in wrong)  # a derivative is there, but none was asked for
    assert {(c.what, c.tensor) for c in wrong} == {("gradient", "c"), *([("expected", "c")] if claim else [])}
    assert {say(c.mismatch) for c in wrong} == {"a gradient arrived, none was expected"}


def test_a_check_in_bfloat16_is_allowed_what_rounding_explains(check) -> None:  # type: ignore[no-untyped-def]
    text = (
        "{dims: {n: 3, d: 35}, inputs: {x: 'randn(n, d)'}, graph: {y: 'layer_norm(x, [d])', z: y.sum()}, checks: "
        "['y == (x - x.mean(-1, keepdim=True)) / sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5)']}"
    )
    assert check(text, dtype="bfloat16").status == "passed"
    assert check(text.replace("]}", " * 1.1]}").replace("' * 1.1", " * 1.1'"), dtype="bfloat16").status == "failed"


def test_nothing_is_claimed_of_what_the_reference_lacks(check: Check, torch_with: TorchWith) -> None:
    """Neither that it holds nor that it fails; and what must fail has not failed yet."""
    torch_with("sinc", None)
    claims = """
        inputs: {x: [1.0, 2.0]}
        graph: {y: sinc(x), loss: y.sum()}
        values: {loss: 0}
        expected: {x: [1, 2]}
        formulas: {x: x}
        wrong_formulas: {x: 2 * x}
        checks: [loss == 1]
    """
    for text in (claims, f"{claims}\n        xfail: torch is old"):
        case = check(text)
        assert (case.status, case.errors) == ("unsupported", ())
        assert {c.what for c in failed(case)} >= {"expected_value", "expected", "formula", "wrong_formula", "check"}
        assert {c.status for c in failed(case)} == {"unsupported"}
        assert {say(c.mismatch) for c in those(case, "formula")} == {"not compared: y could not be evaluated"}


def test_an_error_that_is_asked_for_is_not_raised_by_what_is_lacking(check: Check, torch_with: TorchWith) -> None:
    """Both sides of a claim that something is refused: the core refuses it, torch cannot be asked."""
    text = "{inputs: {x: [1.0]}, graph: {y: 'mm(x, x)'}, steps: [{backward: y, raises: shape_mismatch}]}"
    assert check(text).status == "passed"
    torch_with("mm", None)
    assert check(text).status == "unsupported"


def test_a_mistake_of_an_engine_is_one_where_the_reference_lacks_something(
    check: Check, torch_with: TorchWith, with_forward: WithForward
) -> None:
    def mistaken(input: object) -> object:
        raise ValueError("a slip")

    torch_with("sinc", None)
    with_forward("sinc", lambda _: mistaken)
    case = check("{inputs: {x: [1.0]}, graph: {y: sinc(x)}}")
    assert case.status == "failed"
    assert [error.kind for error in case.errors] == ["shape_mismatch"]


def test_a_check_that_compares_an_expression_with_itself_has_a_note(check: Check) -> None:
    case = check(
        """
        inputs: {x: [1, 2]}
        graph: {loss: (x * x).sum()}
        let: {d: 2 * x, e: d}
        checks: [e == 2 * x, e == grad(x), grad(x) == 2 * x]
        """
    )
    assert case.status == "passed"
    noted = [c.formula for c in those(case, "check") if c.has_note("same_sides")]
    assert noted == ["e == 2 * x"]


def test_a_check_whose_two_sides_are_nan_everywhere_is_undecided(check: Check) -> None:
    case = check(
        """
        inputs: {x: [-1.0, -2.0], y: [-1.0, 4.0]}
        graph: {loss: (x * y).sum()}
        checks: [log(x) * 3 == sqrt(x), log(y) == log(y * 1.0)]
        """
    )
    checks = {c.formula: c for c in those(case, "check")}
    assert checks["log(x) * 3 == sqrt(x)"].status == "undecided"
    assert checks["log(y) == log(y * 1.0)"].status == "passed"
