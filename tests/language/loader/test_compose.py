"""YAML becomes plain data with the place of everything, strictly."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.loader import compose, load, load_text
from gradcheck.language.loader.compose import Composer
from gradcheck.language.loader.yaml_document import BROKEN, DEFAULT_LIMITS, Document, Limits
from tests.language.loader.cases import document

CORPUS = sorted((Path(__file__).parent / "malformed").glob("*.yaml"))


@pytest.mark.parametrize("path", [p for p in CORPUS if "not valid YAML" not in p.read_text()], ids=lambda p: p.stem)
def test_the_parser_in_python_alone_agrees(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [str(e) for e in load(path).errors]
    monkeypatch.setattr(compose, "Parser", compose.PythonParser)
    assert [str(e) for e in load(path).errors] == expected


def composed(text: str, limits: Limits = DEFAULT_LIMITS) -> tuple[Document | None, list[str]]:
    composer = Composer("f.yaml", limits)
    return composer.compose(text, 1), [str(error) for error in composer.errors]


def test_scalars_sequences_and_mappings_are_plain_data() -> None:
    found = document("a: 1\nb: [x, {c: .5}, null]\n'd': '2'\n")
    assert found.data == {"a": 1, "b": ["x", {"c": 0.5}, None], "d": "2"}
    assert (found.broken, found.incomplete) == (False, False)


def test_everything_has_its_place() -> None:
    found = document("a: 1\nb:\n  - x\n  - c: 5\n")
    assert found.place(("b", 1, "c")) == Place("f.yaml", 4, 8)
    assert found.key_place(("b", 1, "c")) == Place("f.yaml", 4, 5)
    assert found.place() == Place("f.yaml", 1, 1)


@pytest.mark.parametrize(
    ("text", "data", "message"),
    [
        ("a: &b 1", {"a": 1}, "f.yaml:1:4: anchors are not allowed, found '&b'"),
        ("a: !!str 1", {"a": "1"}, "f.yaml:1:4: tags are not allowed, found '!!str'"),
        ("a: *b", {"a": BROKEN}, "f.yaml:1:4: aliases are not allowed, found '*b'"),
        ("a: 1e999", {"a": BROKEN}, "f.yaml:1:4: the number 1e999 is too large for a float64"),
        ("a: 1\na: 2", {"a": 1}, "f.yaml:2:1: the key 'a' stands here twice"),
        ("<<: {a: 1}", {}, "f.yaml:1:1: merge keys are not allowed, found '<<'"),
    ],
)
def test_what_yaml_has_and_case_files_have_not(text: str, data: object, message: str) -> None:
    found, (error,) = composed(text)
    assert found is not None
    assert found.data == data
    assert error.startswith(message)
    assert found.broken


def test_keys_that_are_left_out_make_a_document_incomplete() -> None:
    for text in ("<<: {a: 1}", "*a : 1"):
        found, _ = composed(text)
        assert found is not None
        assert found.incomplete


def test_of_one_kind_of_abuse_only_the_first_few_are_told() -> None:
    _, errors = composed("a: [&a 1, &b 2, &c 3, &d 4, !x 5]")
    assert [error.split("found ")[1][:4] for error in errors] == ["'&a'", "'&b'", "'&c'", "'!x'"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]: 3", "a key must be a word, not a list or a mapping"),
        ("a: [", "is never closed"),
        ("a: [[[1]]]", "nested more than 3 deep"),
        ("a: [1, 2, 3, 4, 5, 6]", "the file writes out more than 5 values"),
        ("a: \ud800", "'\\\\ud800' is half of a character"),
    ],
)
def test_what_ends_a_document(text: str, message: str) -> None:
    with pytest.raises(InvalidCase, match=message):
        composed(text, Limits(depth=3, numbers=5))


def test_an_empty_document_is_none() -> None:
    assert composed("# nothing\n") == (None, [])


def test_a_document_that_begins_behind_another_kind_of_line_break_is_an_error() -> None:
    cases, errors = load_text("a: 1\u2028--- {b: 1}\n", "f.yaml")
    assert not cases
    assert [(error.message, error.place) for error in errors] == [
        ("a second document begins without its '---'", Place("f.yaml", 2, 5))
    ]


def test_a_wrong_item_has_its_place() -> None:
    text = "inputs: {x: [[1, 2],\n [3]]}\ngraph: {y: x.sum()}\n"
    _, (error,) = load_text(text, "f.yaml")
    assert str(error).startswith("f.yaml:2:2: ")
