"""Planted mistakes: each stands in the place of its line, in six styles at least, and is told."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.planted import Version, outcome, versions
from benchmarks.planted.planting import CLASSES, MISTAKES, STYLES, mistakes_in, planted, source_of

TEXT = """\
def f(x):
    if x:
        # early: if True:
        return g(x)
        # early: return None
        # early: x = 3
        # twice: return 2 * g(x)
"""


def test_a_mistake_stands_in_the_place_of_its_line_and_others_are_left_out() -> None:
    assert mistakes_in(TEXT) == ("early", "twice")
    assert planted(TEXT, "") == "def f(x):\n    if x:\n        return g(x)\n"
    assert planted(TEXT, "twice") == "def f(x):\n    if x:\n        return 2 * g(x)\n"
    assert planted(TEXT, "early") == "def f(x):\n    if True:\n        return None\n        x = 3\n"


def test_every_mistake_is_planted_in_six_styles_and_compiles() -> None:
    assert {path.stem for path in STYLES.glob("*.py")} == CLASSES.keys()
    found = versions()
    for one in found:
        compile(planted(source_of(one.style), one.mistake), one.name, "exec")
    assert min(Counter(one.mistake for one in found).values()) >= 6
    assert {one.mistake for one in found} == {"", *MISTAKES}


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        (Version("counted", ""), []),
        (Version("counted", "early"), ["passed_on_early"]),
        (Version("heaped", "broadcast"), ["broadcast_not_undone"]),
    ],
    ids=lambda value: value.name if isinstance(value, Version) else "",
)
def test_what_is_told(version: Version, kinds: list[str]) -> None:
    found = outcome(version)
    assert [kind for _, kind in found.told] == kinds
    assert found.passed > 10
    assert found.is_alone is bool(version.mistake)
