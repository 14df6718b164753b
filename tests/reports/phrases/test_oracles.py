"""What the oracles found, in words."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say

SAID = {
    fact("exact_dtype", dtype="complex128"): "complex128 is no field of real numbers",
    fact("exact_steps"): "its steps are more than backward passes",
    fact("exact_error", message="sort: {x} is no operation"): "sort: {x} is no operation",
    fact("exact_uninterpreted", functions=("exp", "sqrt")): "it differs where exp, sqrt may take any value",
    fact("exact_degree", degree=123456, points=10): "its degree is 123,456, too large for 10 points",
    fact("exact_core_gradient", tensor="h"): "the core's own gradient of h is not proved",
    fact("no_complex_step", message="abs is not analytic"): "abs is not analytic",
}


@pytest.mark.parametrize("found", SAID, ids=lambda found: found.kind)
def test_each_fact_has_its_sentence(found: Fact) -> None:
    assert say(found) == SAID[found]
