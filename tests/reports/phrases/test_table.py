"""A fact is said by the phrase of its kind."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import table
from gradcheck.reports.phrases.table import listed, named, phrases, say


@pytest.fixture(autouse=True)
def _own_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of the test's own."""
    monkeypatch.setattr(table, "PHRASES", {})


def test_a_template_is_filled_with_the_facts_data() -> None:
    phrases({"off_by": "off by {amount:.2g}, in {where}"})
    assert say(fact("off_by", amount=1 / 3, where="x")) == "off by 0.33, in x"


def test_a_fact_within_a_fact_is_said_first() -> None:
    phrases({"noted": "note: {what}", "odd": "{number} is odd"})
    assert say(fact("noted", what=fact("odd", number=3))) == "note: 3 is odd"


def test_a_function_says_what_a_template_cannot() -> None:
    phrases({"many": lambda found: " and ".join(found["names"])})
    assert say(fact("many", names=("a", "b"))) == "a and b"


def test_braces_in_the_data_are_text() -> None:
    phrases({"said": "{text}"})
    assert say(fact("said", text="{0} {x}")) == "{0} {x}"


def test_nothing_is_said_of_nothing_and_unknown_kinds_are_errors() -> None:
    assert say(None) == ""
    with pytest.raises(KeyError, match="unheard_of"):
        say(fact("unheard_of"))


def test_a_kind_has_one_phrase() -> None:
    phrases({"one": "1"})
    with pytest.raises(ValueError, match="phrases already for one"):
        phrases({"one": "one", "two": "2"})
    assert table.PHRASES == {"one": "1"}


@pytest.mark.parametrize(
    ("names", "sentence"),
    [(("torch",), "torch"), (("torch", "core"), "torch and core"), (("a", "b", Fact("the_file")), "a, b and the file")],
)
def test_names_are_listed(names: tuple[str | Fact, ...], sentence: str) -> None:
    phrases({"the_file": "the file"})
    assert listed(names) == sentence
    assert named(names[-1]) == sentence.split()[-1] or named(names[-1]) == "the file"
