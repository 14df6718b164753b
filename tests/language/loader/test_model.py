"""The shape of a case: short forms, defaults, nothing unknown."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.language.loader.model import EVERYTHING, Case, Generalize, Step
from gradcheck.language.loader.schema_types import RecordType, SchemaRecord, Violation


def read(record: type[SchemaRecord], said: Any) -> tuple[Any, list[str]]:
    """What becomes of it, and what is odd about it."""
    odd: list[Violation] = []
    return RecordType(record).read(said, (), odd), [one.what for one in odd]


def test_short_forms() -> None:
    assert read(Step, {"backward": "z"})[0].backward == {"z": None}
    assert read(Step, {"zero_grad": "x"})[0].zero_grad == ["x"]
    assert read(Step, {"zero_grad": "all"})[0].zero_grad == [EVERYTHING]
    assert vars(read(Case, {"generalize": True})[0].generalize) == vars(Case().generalize)


def test_cases_share_no_defaults() -> None:
    one, other = Case(), Case()
    one.graph["y"] = "x"
    one.tags.append("a")
    one.generalize.dims["n"] = [1, 2]
    assert (other.graph, other.tags, other.generalize.dims) == ({}, [], {})


@pytest.mark.parametrize(
    ("said", "odd"),
    [
        ({"wibble": 1}, "unknown"),
        ({"seed": "1"}, "integer"),
        ({"seed": True}, "integer"),
        ({"steps": [{"raises": None}]}, "choice"),
        ({"steps": []}, "short"),
        ({"steps": ["backward"]}, "mapping"),
        ({"dims": {"n": 1.0}}, "integer"),
        ({"xfail": {"only": ["x"]}}, "lacking"),
        ({"xfail": {"reason": "a", "until": "soon"}}, "pattern"),
    ],
)
def test_nothing_unknown_and_nothing_converted(said: dict[str, object], odd: str) -> None:
    assert read(Case, said)[1] == [odd]


def test_bounds() -> None:
    assert read(Generalize, {"trials": 1000})[0].trials == 1000
    assert read(Generalize, {"trials": 0})[1] == ["low"]
    assert read(Generalize, {"trials": 1001})[1] == ["high"]
