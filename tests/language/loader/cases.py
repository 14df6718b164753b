"""Small cases, and how tests of the loader read them."""

from __future__ import annotations

from gradcheck.errors import InvalidCase
from gradcheck.language.case import Case
from gradcheck.language.loader import load_text
from gradcheck.language.loader.compose import Composer
from gradcheck.language.loader.name_scope import NameScope
from gradcheck.language.loader.yaml_document import DEFAULT_LIMITS, Document

VALID = "inputs:\n  x: [1, 2, 3]\ngraph:\n  y: x * 2\n  z: y.sum()\n"


def one(text: str, file: str = "f.yaml") -> Case:
    """The one case of a text without errors."""
    cases, errors = load_text(text, file)
    assert [str(e) for e in errors] == []
    (case,) = cases
    return case


def with_x(**sections: str) -> Case:
    """The valid case with further sections."""
    return one(VALID + "".join(f"{name}: {text}\n" for name, text in sections.items()))


def wrong(text: str) -> list[tuple[str, str]]:
    """The messages and hints of a text's errors."""
    return [(error.message, error.hint) for error in load_text(text, "f.yaml")[1]]


def document(text: str) -> Document:
    """The YAML document that a text is."""
    composer = Composer("f.yaml", DEFAULT_LIMITS)
    found = composer.compose(text, 1)
    assert found is not None
    assert composer.errors == []
    return found


def scope(text: str, sizes: dict[str, int] | None = None) -> tuple[NameScope, list[InvalidCase]]:
    """The names of a document's sections, and the errors that gather."""
    found, errors = document(text), list[InvalidCase]()
    made = NameScope(found, errors, set(), sizes or {})
    for section, entries in found.data.items():
        made.define(section, entries)
    return made, errors
