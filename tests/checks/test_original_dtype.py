"""A run in another dtype than a case's own: what that dtype cannot show, and what fails in it all the same."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.failures import blame_assignment
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.original_dtype import excuse_dtype_failures, has_failures
from gradcheck.checks.pipeline import check_case, examine
from gradcheck.checks.result import CaseResult
from gradcheck.engines.core import Core
from gradcheck.errors import DtypeMismatch, InvalidCase
from gradcheck.reports.phrases import say
from tests.from_text import case_of

SQUARES = "{inputs: {x: [1.5, -2, 3]}, graph: {y: x * x, loss: y.sum()}, %s}"


def checked(text: str, dtype: str, engine: object = "core", corrected: bool = True) -> CaseResult:
    options = Options(dtype=dtype, engines=(engine,), shrink=None, corrected=corrected)  # type: ignore[arg-type]
    return check_case(case_of(text), options, engines_of(options))


def told(result: CaseResult) -> str:
    """All that is said of what could not be shown."""
    listed = [say(c.mismatch) for c in result.comparisons if c.status == "unsupported"]
    return "; ".join([*listed, *(say(error.message) for error in result.errors)])


@pytest.mark.parametrize(
    ("text", "dtype", "why"),
    [
        # no kernel, no conversion, no numbers
        ("{inputs: {x: 'randn(3, 3)'}, graph: {y: inv(x), z: y.sum()}}", "float16", "Low precision dtypes"),
        ("{inputs: {x: 'randn(3, 3)'}, graph: {y: det(x)}, formulas: {x: grad(y) * y * inv(x).T}}", "bfloat16", "lu"),
        ("{inputs: {x: [1, 2]}, graph: {y: 'masked_fill(x, x > 1, 1e9)', z: y.sum()}}", "float16", "overflow"),
        ("{inputs: {x: [1, 2]}, graph: {y: relu(x), z: y.sum()}}", "complex128", "complex types"),
        ("{inputs: {x: [1, 2]}, graph: {y: relu(x)}, backward: {y: [1, 2]}}", "complex128", "complex types"),
        ("{inputs: {x: 'relu(randn(3))'}, graph: {y: x * x, z: y.sum()}}", "complex64", "relu"),
        # what a file says of its own dtype
        (SQUARES % "checks: [grad(x).dtype == torch.float64]", "float32", "is not true"),
        (SQUARES % "values: {loss: 15.25}, expected: {x: [3, -4, 6]}", "complex128", "real scalar"),
        ("{inputs: {x: 'randn(2)'}, graph: {y: x * x}, backward: {y: [1, 2]}, formulas: {x: 2 * x * grad(y)}}",
         "complex128", "written for real numbers"),
        # what only more digits, or larger numbers, show
        (SQUARES % "wrong_formulas: {x: 2.0001 * x}, generalize: false", "float16", "should be refuted"),
        ("{inputs: {x: [300, 2]}, graph: {y: x.sum()}, checks: [x * x / x == x]}", "float16", "overflows"),
    ],
)  # fmt: skip
def test_what_another_dtype_cannot_show_is_unsupported_and_says_why(text: str, dtype: str, why: str) -> None:
    found = checked(text, dtype)
    assert (found.status, found.errors and found.errors[0].kind) in (("unsupported", ()), ("unsupported", "invalid"))
    assert why in told(found)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "complex128"])
@pytest.mark.parametrize("claim", ["formulas: {x: 3 * x}", "expected: {x: [3, -4, 7]}", "checks: [loss == 16]"])
def test_what_is_wrong_in_the_case_s_own_dtype_is_wrong_in_any(claim: str, dtype: str) -> None:
    text = "{inputs: {x: [1.5, -2, 3]}, graph: {y: x * x, loss: y.sum()}, backward: {loss: '1.0'}, %s}"
    assert checked(text % claim, dtype, corrected=False).status == "failed"


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_a_right_formula_is_not_refuted_in_any_precision(dtype: str) -> None:
    assert checked(SQUARES % "wrong_formulas: {x: x + x}", dtype).status == "failed"
    assert (
        checked("{inputs: {x: 'randn(3)'}, graph: {y: (x * x).sum()}, wrong_formulas: {x: x}}", dtype).status
        == "passed"
    )


class Halved(Core):
    """Wrong in half precision alone."""

    name = "halved"

    def backward(self, roots: list, seeds: list, retain_graph: bool) -> None:
        if roots[0].data.dtype == np.float16:
            seeds = [np.full(root.data.shape, 0.5, root.data.dtype) for root in roots]
        super().backward(roots, seeds, retain_graph)


def test_an_engine_that_is_wrong_in_the_run_s_dtype_fails() -> None:
    text = SQUARES % "expected: {x: [3, -4, 6]}"
    assert checked(text, "float16", Halved()).status == "failed"
    assert checked(text, "float32", Halved()).status == "passed"


class Refuses(Core):
    """Takes no half precision, which the reference takes."""

    name = "refuses"

    def backward(self, roots: list, seeds: list, retain_graph: bool) -> None:
        if roots[0].data.dtype == np.float16:
            raise DtypeMismatch("no half precision")
        super().backward(roots, seeds, retain_graph)


def test_an_engine_that_refuses_what_the_reference_takes_fails() -> None:
    assert checked(SQUARES % "tags: []", "float16", Refuses()).status == "failed"


def test_a_case_that_is_invalid_in_its_own_dtype_is_invalid() -> None:
    with pytest.raises(InvalidCase):
        checked("{inputs: {x: 'inv(zeros(2, 2))'}, graph: {y: x.sum()}}", "float16")


def test_what_is_settled_stays_as_it_is() -> None:
    options = Options(dtype="float32")
    context = examine(case_of(SQUARES % "formulas: {x: 2 * x}"), options, engines_of(options))
    assert not has_failures(context)
    before = list(context.found)
    excuse_dtype_failures(context, context, explained=True)
    assert context.found == before


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_at_kinks_another_convention_is_none_of_a_dtype(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more elements than are looked at one by one."""
    monkeypatch.setattr(blame_assignment, "MAX_KINKED_ELEMENTS", 24)
    text = "{inputs: {x: 'zeros(30)'}, graph: {y: abs(x)}, backward: {y: 'randn(30)'}, formulas: {x: '%s'}}"
    found = checked(text % "grad(y) * where(x < 0, -1.0, 1.0)", dtype)
    assert found.status in ("passed", "unsupported")
    assert checked(text % "grad(y) * where(x < 0, -1.0, 1.5)", dtype, corrected=False).status == "failed"


def test_a_proof_needs_no_more_digits() -> None:
    assert checked(SQUARES % "wrong_formulas: {x: 2.0001 * x}", "float16").status == "passed"
