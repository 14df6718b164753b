"""`gradcheck list`: ids, one a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def test_list_shows_ids(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("list")
    assert outcome.out == "cases/good.yaml::squares\ncases/good.yaml::a product\n"
    assert outcome.code == 0


@pytest.mark.parametrize(
    "arguments",
    [("-k", "squares"), ("-t", "easy"), ("cases/good.yaml::squares",), ("-k", "not product", "cases/good.yaml")],
)
def test_list_selects(cases: Path, gradcheck: Any, arguments: tuple[str, ...]) -> None:
    assert gradcheck("list", *arguments).out == "cases/good.yaml::squares\n"


def test_list_adds_tags_on_demand(cases: Path, gradcheck: Any) -> None:
    assert gradcheck("list", "-v").out == "cases/good.yaml::squares  [easy]\ncases/good.yaml::a product\n"


def test_list_names_files_that_are_no_cases(bad: Path, gradcheck: Any) -> None:
    outcome = gradcheck("list")
    assert outcome.code == 2
    assert outcome.out.count("\n") == 2
    assert outcome.err.startswith("cases/bad.yaml:")
