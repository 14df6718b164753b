"""What serves an op is what its parts say, and what its samples show."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd.op import TABLE
from gradcheck.checks.op_oracles import op_oracles
from tests.conftest import WithRules


@pytest.mark.parametrize(
    ("name", "numeric"),
    [("sin", "complex step"), ("amax", "differences"), ("linalg.inv", "complex step"), ("linalg.svd", "differences")],
)
def test_what_is_analytic_takes_complex_steps(name: str, numeric: str) -> None:
    assert numeric in op_oracles(TABLE[name]).names


def test_what_is_composed_is_served_by_what_serves_all_parts() -> None:
    asked = op_oracles(TABLE["pixel_shuffle"])
    assert TABLE["pixel_shuffle"] not in asked.parts
    assert asked.uses_complex_step
    assert not op_oracles(TABLE["normalize"]).uses_complex_step  # it has a norm in it


def test_what_has_no_derivative_has_no_witness() -> None:
    for name in ("argmax", "randn", "eq", "one_hot"):
        assert op_oracles(TABLE[name]).names == ()


def test_dtypes_are_those_that_can_be_differentiated() -> None:
    assert op_oracles(TABLE["mul"]).dtypes == ("float64", "float32", "float16", "bfloat16", "complex128", "complex64")
    assert "complex128" not in op_oracles(TABLE["amax"]).dtypes
    assert "complex128" in op_oracles(TABLE["sgn"]).dtypes


def test_a_rule_that_cannot_be_differentiated_again_is_told(with_rules: WithRules) -> None:
    with_rules("exp", lambda g, y, x: np.asarray(g) * np.asarray(y))
    assert "order 2" not in op_oracles(TABLE["exp"]).names
