"""A fact is said by the phrase of its kind."""

from __future__ import annotations

import pytest

from gradcheck.facts import Fact, fact
from gradcheck.reports.phrases import phrase_table
from gradcheck.reports.phrases.phrase_table import add_phrases, join_names, name_of_source, say


@pytest.fixture(autouse=True)
def _own_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of the test's own."""
    monkeypatch.setattr(phrase_table, "PHRASES", {})


def test_a_template_is_filled_with_the_facts_data() -> None:
    add_phrases({"off_by": "off by {amount:.2g}, in {where}"})
    assert say(fact("off_by", amount=1 / 3, where="x")) == "off by 0.33, in x"


def test_a_fact_within_a_fact_is_said_first() -> None:
    add_phrases({"noted": "note: {what}", "odd": "{number} is odd"})
    assert say(fact("noted", what=fact("odd", number=3))) == "note: 3 is odd"


@pytest.mark.parametrize(
    ("template", "data", "sentence"),
    [
        ("{names:list}", ("a", "b", Fact("the_file")), "a, b and the file"),
        ("{names:and}", ("a", "b", "c"), "a and b and c"),
        ("{names:commas}", ("a", "b"), "a, b"),
        ("{names:ordinal}", 1, "second"),
        ("{names:ordinals}", (0, 2), "first and third"),
        ("{names:number}", 1, "2"),
        ("{names} point{names:s}", 1, "1 point"),
        ("{names} point{names:s}", 0, "0 points"),
        ("{names:shape}", (2, 3), "[2, 3]"),
        ("{names:shape}", (), "[]"),
        ("{names:sizes}", (("n", 2), ("m", 3)), "n = 2, m = 3"),
        ("{names:axes}", (0,), "axis 0"),
        ("{names:axes}", (0, 1, 2), "axes 0, 1 and 2"),
        ("alike{names:closeness}", 2e-16, "alike to 2e-16"),
        ("alike{names:closeness}", 0.0, "alike exactly"),
        ("{names:if for {names}|for nobody}", "a|b", "for a|b"),
        ("{names:if for {names}|for nobody}", "", "for nobody"),
        ("all{names:given  along {names}}", 0, "all along 0"),
        ("all{names:given  along {names}}", None, "all"),
        ("{names:one is|are}", ("a",), "is"),
        ("{names:finite to {names:.1g}|anywhere}", 0.25, "to 0.2"),
        ("{names:finite to {names:.1g}|anywhere}", float("inf"), "anywhere"),
        ("{names:one is|are}", 2, "are"),
        ("{names:ranges} are left out", (0, 4, 5, 6), "0, 4 to 6 are left out"),
    ],
)
def test_forms_of_data_and_choices(template: str, data: object, sentence: str) -> None:
    add_phrases({"made": template, "the_file": "the file"})
    assert say(fact("made", names=data)) == sentence


def test_a_function_says_what_a_template_cannot() -> None:
    add_phrases({"many": lambda found: " and ".join(found["names"])})
    assert say(fact("many", names=("a", "b"))) == "a and b"


def test_braces_in_the_data_are_text() -> None:
    add_phrases({"said": "{text}"})
    assert say(fact("said", text="{0} {x}")) == "{0} {x}"


def test_nothing_is_said_of_nothing_and_unknown_kinds_are_errors() -> None:
    assert say(None) == ""
    with pytest.raises(KeyError, match="unheard_of"):
        say(fact("unheard_of"))


def test_a_kind_has_one_phrase() -> None:
    add_phrases({"one": "1"})
    with pytest.raises(ValueError, match="phrases already for one"):
        add_phrases({"one": "one", "two": "2"})
    assert phrase_table.PHRASES == {"one": "1"}


@pytest.mark.parametrize(
    ("names", "sentence"),
    [(("torch",), "torch"), (("torch", "core"), "torch and core"), (("a", "b", Fact("the_file")), "a, b and the file")],
)
def test_names_are_listed(names: tuple[str | Fact, ...], sentence: str) -> None:
    add_phrases({"the_file": "the file"})
    assert join_names(names) == sentence
    assert name_of_source(names[-1]) == sentence.split()[-1] or name_of_source(names[-1]) == "the file"
