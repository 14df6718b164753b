"""What may be written into a file: the reference's gradients, of cases in which all else holds."""

from __future__ import annotations

import time

import numpy as np
import pytest

from gradcheck.checks.gradient_snapshot import snapshots
from gradcheck.checks.options import Options
from tests.engines.implementation.build import with_code
from tests.from_text import case_of

CASE = "inputs: {x: [1, 2], z: [1, 1]}\ngraph: {y: (x * x).sum()}\n"


def test_inputs_of_which_nothing_is_expected_get_their_gradients() -> None:
    (found,) = snapshots([case_of(CASE + "expected: {z: null}")], Options())
    assert {name: array.tolist() for name, array in found.gradients.items() if array is not None} == {"x": [2.0, 4.0]}
    assert list(found.gradients) == ["x"]


def test_anew_what_is_expected_does_not_count() -> None:
    (found,) = snapshots([case_of(CASE + "expected: {x: [9, 9]}")], Options(), anew=True)
    assert found.result.status == "passed"
    assert np.array_equal(found.gradients["x"], [2.0, 4.0])
    assert found.gradients["z"] is None


def test_a_case_in_which_something_else_is_wrong_gets_nothing() -> None:
    (found,) = snapshots([case_of(CASE + "formulas: {x: 3 * x}")], Options())
    assert (found.gradients, found.result.status) == ({}, "failed")


def test_what_has_too_many_numbers_is_left_out() -> None:
    (found,) = snapshots([case_of('inputs: {x: "randn(40, 40)", z: 2}\ngraph: {y: (x * z).sum()}')], Options())
    assert (list(found.gradients), found.large) == (["z"], ("x",))


def test_code_that_may_not_run_is_not_asked() -> None:
    case = with_code("inputs: {x: [1.0, 2.0]}\ngraph: {y: tanh(x).sum()}\n", lambda x: 2 * x)
    (found,), (asked,) = snapshots([case], Options()), snapshots([case], Options(allow_code=True))
    assert (list(found.gradients), found.result.status) == (["x"], "passed")
    assert (asked.gradients, asked.result.status) == ({}, "failed")


def test_the_time_limit_holds_for_the_reference_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradcheck.checks.gradient_snapshot.draw", lambda case, seed: time.sleep(60))
    (found,) = snapshots([case_of(CASE)], Options(timeout=5.0))
    assert (found.gradients, [error.kind for error in found.result.errors]) == ({}, ["timeout"])
