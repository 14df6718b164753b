"""Problems written out as cases, and cases with nothing said but what fails."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.result import ClaimKind
from gradcheck.checks.shrinking.failure_signature import Signature
from gradcheck.checks.shrinking.pinning import bare, literal
from gradcheck.language.loader import load
from gradcheck.language.sampling import draw
from gradcheck.language.trials import is_general
from tests.checks.shrinking.build import pin, pinned
from tests.from_text import case_of
from tests.paths import CASES

CLAIMS = """
    description: all kinds of claims
    tags: [a]
    xfail: known
    dims: {n: 2}
    inputs: {x: "randn(n)"}
    graph: {y: x * x, loss: y.sum()}
    steps:
      - {backward: loss, values: {loss: 1}, checks: [y >= 0], expected: {y: [1, 1]}}
    values: {y: [0, 0]}
    expected: {x: [0, 0]}
    let: {g: 2 * x}
    formulas: {x: [g, 2 * x]}
    wrong_formulas: {x: 3 * x}
    checks: [y == x * x, y >= 0]
    tolerance: {rtol: 0.1}
"""


def test_pinned_cases_come_out_the_same() -> None:
    cases, _ = load(CASES / "nn")
    for case in cases:
        problem = draw(case)
        again = draw(pin(problem))
        assert again.dtype == problem.dtype
        for name, array in {**problem.inputs, **problem.constants}.items():
            other = again.inputs.get(name, again.constants.get(name))
            assert other is not None
            assert other.dtype == array.dtype
            np.testing.assert_array_equal(other, array)
        for mine, theirs in zip(problem.seeds, again.seeds, strict=True):
            assert mine.keys() == theirs.keys()


def test_nothing_varies_any_more() -> None:
    case = pinned("{dims: {n: 2}, seed: 3, inputs: {x: 'randn(n)'}, graph: {y: x.sum()}, generalize: true}")
    assert not is_general(case)
    assert (dict(case.dims), case.seed, case.generalize) == ({"n": 2}, 0, None)


@pytest.mark.parametrize(
    ("dtype", "leaf", "stated"),
    [("float32", True, ""), ("float64", True, "float64"), ("int64", False, ""), ("int32", False, "int32")],
)
def test_a_dtype_is_stated_where_the_file_would_give_another(dtype: str, leaf: bool, stated: str) -> None:
    assert literal(np.ones(2, dtype), np.dtype("float32"), leaf=leaf).dtype == stated


def test_where_an_engine_fails_nothing_is_claimed() -> None:
    left = bare(case_of(CLAIMS), Signature(ClaimKind.GRADIENT, ("numbers",), "core"))
    (step,) = left.steps
    said = [left.values, left.expected, left.formulas, left.wrong_formulas, left.checks, left.let, left.tolerance]
    said += [left.tags, left.description, left.xfail, step.values, step.expected, step.checks]
    assert not any(said)


def test_of_claims_the_one_that_fails_is_kept_with_its_tolerance() -> None:
    case = case_of(CLAIMS)
    left = bare(case, Signature(ClaimKind.FORMULA, (), "case", "x", "2 * x"))
    assert [claim.text for claim in left.formulas["x"]] == ["2 * x"]
    assert not any([left.wrong_formulas, left.checks, left.expected, left.values])
    assert (left.tolerance, left.let) == (case.tolerance, case.let)
    wrong = bare(case, Signature(ClaimKind.WRONG_FORMULA, (), "case", "x", "3 * x"))
    assert (list(wrong.wrong_formulas), dict(wrong.formulas)) == (["x"], {})


def test_checks_and_known_numbers_are_kept_where_they_stand() -> None:
    case = case_of(CLAIMS)
    check = bare(case, Signature(ClaimKind.CHECK, (), "case", "", "y >= 0"))
    assert [claim.text for claim in check.checks] == ["y >= 0"]
    assert [claim.text for claim in check.steps[0].checks] == ["y >= 0"]
    value = bare(case, Signature(ClaimKind.EXPECTED_VALUE, (), "core", "loss"))
    assert (dict(value.values), list(value.steps[0].values), dict(value.expected)) == ({}, ["loss"], {})
    expected = bare(case, Signature(ClaimKind.EXPECTED, (), "core", "x"))
    assert (list(expected.expected), dict(expected.steps[0].expected)) == (["x"], {})


def test_that_numbers_vary_goes_without_saying() -> None:
    case = case_of("{inputs: {x: [1, 2]}, graph: {y: x.sum()}, formulas: {x: 2 * x}, generalize: false}")
    assert case.generalize is None
    assert bare(case, Signature(ClaimKind.FORMULA, (), "case", "x", "2 * x")).generalize is not None
    assert bare(case, Signature(ClaimKind.GRADIENT, (), "core")).generalize is None
