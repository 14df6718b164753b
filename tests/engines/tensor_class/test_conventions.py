"""What a class does otherwise by design, as facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gradcheck.engines.tensor_class.capabilities import UNKNOWN
from gradcheck.engines.tensor_class.conventions import conventions_of
from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import say


def test_a_class_that_does_as_torch_does_has_none() -> None:
    assert conventions_of(UNKNOWN, False) == ()


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"dtype": "float32"}, fact("computes_in", dtype="float32")),
        ({"total_shape": (1,)}, fact("totals_have_shape", shape=(1,))),
        ({"tracks_constants": True}, fact("constants_are_tracked")),
        ({"keeps_intermediates": False}, fact("keeps_no_intermediates")),
        ({"keeps_roots": False, "adds_to_roots": False}, fact("keeps_no_roots")),
        ({"adds_to_roots": False}, fact("sets_roots_anew")),
        ({"adds_to_intermediates": False, "adds_to_roots": False}, fact("sets_intermediates_anew")),
        ({"keeps_graph": False}, fact("keeps_no_graph")),
        ({"seed": "none"}, fact("takes_no_incoming_gradient")),
    ],
)
def test_each_is_one_line(changed: dict[str, Any], found: Fact) -> None:
    assert conventions_of(replace(UNKNOWN, **changed), False) == (found,)
    assert say(found)


def test_numbers_take_no_incoming_gradient_by_nature() -> None:
    assert conventions_of(replace(UNKNOWN, seed="none"), True) == ()


def test_of_what_is_not_understood_nothing_else_is_said() -> None:
    (told,) = conventions_of(replace(UNKNOWN, not_understood="it raises", dtype="float32"), False)
    assert say(told) == "it is not understood, so nothing is checked: it raises"
