"""Numbers in a line: how many differ, where most, what was allowed; nothing where they say nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.facts import fact
from gradcheck.reports.phrases.comparison_numbers import (
    differing_count_text,
    has_numbers,
    numbers_text,
    shape_mismatch_text,
)

ONE, TWO = np.ones(3), np.array([1.0, 2.0, 2.0])


def test_how_many_and_where_most(failed: Any) -> None:
    found = failed(ONE, TWO, atol=None)
    assert differing_count_text(found) == "2 of 3 elements differ"
    assert numbers_text(found, False) == "2 of 3 elements differ, at [1] core 1, torch 2; allowed: 1e-10 * |torch|"
    assert numbers_text(found, True) == "2 of 3 elements differ; allowed: 1e-10 * |torch|"


def test_of_a_single_number_there_is_nothing_to_count(failed: Any) -> None:
    found = failed(1.0, 2.0, atol=None)
    assert differing_count_text(found) == ""
    assert numbers_text(found, False) == "core 1, torch 2; allowed: 1e-10 * |torch|"


def test_beside_a_shape_or_an_error_numbers_say_nothing(failed: Any) -> None:
    wrong = replace(failed(ONE, TWO), mismatch=fact("shapes_differ", got=(3,), want=(2,)))
    assert not has_numbers(wrong)
    assert numbers_text(wrong, False) == ""
    alone = fact("gradient_of_op", op="add", number=1, mismatch=wrong.mismatch)
    assert shape_mismatch_text(replace(wrong, mismatch=alone)) == "shape [3], expected [2]"
    assert numbers_text(replace(wrong, mismatch=alone), True).startswith("shape [3], expected [2]; ")
