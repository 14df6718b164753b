"""Code that does not give the same where it is asked again."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.checks.implementations.nondeterminism import largest_difference
from gradcheck.checks.scheduling.run import run
from gradcheck.engines.base import Evaluation, State
from tests.engines.implementation import functions
from tests.engines.implementation.build import TANH, with_code


def _evaluation(*numbers: float) -> Evaluation:
    return Evaluation("mine", (State({}, {"x": np.array(numbers)}, None),))


@pytest.mark.parametrize("as_a_whole", [True, False])
def test_how_far_two_answers_are_apart(as_a_whole: bool) -> None:
    assert largest_difference(_evaluation(1.0, np.nan), _evaluation(1.0, np.nan), as_a_whole) == 0
    size = largest_difference(_evaluation(8.0, 2.0), _evaluation(8.0, 1.0), as_a_whole)
    assert size == (0.125 if as_a_whole else 0.5)
    assert largest_difference(_evaluation(1.0), _evaluation(1.0, 2.0)) == np.inf


def test_what_is_wrong_by_chance_is_no_rounding_and_told_as_the_cause() -> None:
    (found,) = run(with_code(TANH, functions.Chancy.apply), allow_code=True).cases
    assert found.status == "failed"
    kinds = {one.kind for c in found.comparisons if c.status == "failed" for one in c.diagnoses}
    assert kinds <= {"not_deterministic"}
    assert any(c.mismatch and c.mismatch.kind == "not_the_same_again" for c in found.comparisons)


def test_a_layer_that_keeps_its_own_cache_is_asked_one_call_at_a_time() -> None:
    layer = functions.Summing()
    case = with_code(TANH.replace("tanh(x)", "2 * x.sum(0)"), (layer.forward, layer.backward))
    (found,) = run(case, allow_code=True).cases
    assert found.status == "passed"
    assert any(c.has_note("keeps_state") for c in found.comparisons)
