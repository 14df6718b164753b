"""A crash over a file is an error of that file: what it was, where in gradcheck, and that it should be reported."""

from __future__ import annotations

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.crash import Crash, crash_at
from gradcheck.language.expr.parser import parse

PLACE = Place("a.yaml", 3, 1)


def raised(error: Exception | None = None) -> Exception:
    try:
        if error is None:
            parse(None)  # type: ignore[arg-type]
        else:
            raise error
    except Exception as caught:
        return caught
    raise AssertionError("it is raised")


def test_it_says_what_and_where_and_what_to_do() -> None:
    found = crash_at(raised(), PLACE)
    assert isinstance(found, Crash)
    assert isinstance(found, InvalidCase)
    assert (found.kind, found.place) == ("crash", PLACE)
    assert str(found).startswith("a.yaml:3:1: gradcheck crashed while reading this case: AttributeError: 'NoneType'")
    assert "(gradcheck/language/expr/syntax.py:" in found.message
    assert found.hint == "this is a bug in gradcheck: please report it, with the file"
    assert found.details.startswith("Traceback")
    assert "in parse\n" in found.details


def test_what_an_exception_says_is_one_short_line() -> None:
    long = crash_at(raised(ValueError("a\nb " * 1_000)), PLACE, "explaining this case")
    assert "\n" not in long.message
    assert len(long.message) < 300
    assert crash_at(raised(KeyError()), PLACE).message == "gradcheck crashed while reading this case: KeyError (?:0)"


def test_want_of_memory_is_no_bug() -> None:
    found = crash_at(raised(MemoryError()), PLACE)
    assert (found.kind, found.message) == ("memory", "ran out of memory while reading this case")
    assert found.hint == "make its tensors smaller"
