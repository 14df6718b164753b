"""The shape of a case: short forms, defaults, nothing unknown."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from gradcheck.language.loader.model import EVERYTHING, Case, Generalize, Step


def test_short_forms() -> None:
    assert Step.model_validate({"backward": "z"}).backward == {"z": None}
    assert Step.model_validate({"zero_grad": "x"}).zero_grad == ["x"]
    assert Step.model_validate({"zero_grad": "all"}).zero_grad == [EVERYTHING]
    assert Case.model_validate({"generalize": True}).generalize == Case().generalize


def test_cases_share_no_defaults() -> None:
    one, other = Case(), Case()
    one.graph["y"] = "x"
    one.tags.append("a")
    one.generalize.dims["n"] = [1, 2]
    assert (other.graph, other.tags, other.generalize.dims) == ({}, [], {})


@pytest.mark.parametrize("said", [{"wibble": 1}, {"seed": "1"}, {"raises": None}, {"steps": []}, {"dims": {"n": 1.0}}])
def test_nothing_unknown_and_nothing_converted(said: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Case.model_validate(said)


def test_bounds() -> None:
    assert Generalize.model_validate({"trials": 1000}).trials == 1000
    with pytest.raises(ValidationError):
        Generalize.model_validate({"trials": 0})
