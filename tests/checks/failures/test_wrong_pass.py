"""What an engine does in a small graph of single numbers is named; what is right there is nothing."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.checks.failures.wrong_pass import is_right_on_small_graph, of_small_graph
from gradcheck.engines.core import Core
from gradcheck.engines.resolve import adapt
from gradcheck.engines.torch import Torch
from tests.engines.dialects import bare, diseases, figures, sound


def asked(kind: Any, passes: int = 1) -> str:
    found = of_small_graph(adapt(kind, "mine"), Torch(), passes)
    return "" if found is None else found.kind


@pytest.mark.parametrize(
    ("disease", "kind"),
    [
        ("Overwrites", "overwritten"),
        ("PassesOnEarly", "passed_on_early"),
        ("CountsTwice", "passed_on_early"),
        ("SharesArrays", "mutated"),
    ],
)
def test_every_disease_of_a_pass_is_named(disease: str, kind: str) -> None:
    sick = type("Sick", (getattr(diseases, disease), sound.Tensor), {})
    assert asked(sick) == kind
    assert not is_right_on_small_graph(adapt(sick, "mine"), Torch())


def test_what_is_left_over_shows_in_a_second_pass() -> None:
    sick = type("Sick", (diseases.KeepsStale, sound.Tensor), {})
    assert (asked(sick), asked(sick, 2)) == ("", "stale")


class Doubles(sound.Tensor):
    """Everything that arrives is added twice."""

    def fit(self, gradient: Any, shape: Any) -> Any:
        return 2 * super().fit(gradient, shape)


def test_what_is_added_twice_is_counted_twice() -> None:
    assert asked(Doubles) == "counted_twice"


@pytest.mark.parametrize("kind", [sound.Tensor, figures.Value, figures.Shuffled], ids=lambda kind: kind.__name__)
def test_what_is_right_is_no_disease(kind: type) -> None:
    assert asked(kind) == ""
    assert of_small_graph(Core(), Torch()) is None


def test_of_what_cannot_be_asked_nothing_is_said() -> None:
    assert asked(bare.Overwriting) == ""
    assert is_right_on_small_graph(adapt(bare.Overwriting, "mine"), Torch())
