"""Rules for forward mode and for `vmap`, held to what the code comes to."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.checks.scheduling.run import run
from gradcheck.testing import check_function
from tests.engines.implementation import functions
from tests.engines.implementation.build import TANH, with_code

SUMMED = TANH.replace("tanh(x)", "2 * x.sum(0)")


def test_right_rules_are_noted() -> None:
    (found,) = run(with_code(SUMMED, functions.Doubled.apply), allow_code=True).cases
    assert found.status == "passed"
    assert any(c.has_note("rules_right") for c in found.comparisons)


def test_wrong_ones_fail_each_with_its_name() -> None:
    (found,) = run(with_code(SUMMED, functions.WrongRules.apply), allow_code=True).cases
    told = {(c.mismatch.kind, dict(c.mismatch.data).get("manner", "")) for c in found.comparisons if c.mismatch}
    assert {("jvp_wrong", ""), ("otherwise", "vmap_last")} <= told
    (jvp,) = (c.mismatch for c in found.comparisons if c.mismatch and c.mismatch.kind == "jvp_wrong")
    assert jvp["factor"] == -1


@pytest.mark.parametrize("spec", ["2 * x.sum(0)", None])
def test_code_alone_is_held_to_its_gradients(spec: Any) -> None:
    check_function(functions.Doubled.apply, x=(3, 2), spec=spec)
    with pytest.raises(AssertionError, match="it has the wrong sign"):
        check_function(functions.WrongRules.apply, x=(3, 2), spec=spec)
