"""What may stand at a key: each kind reads, tells what is odd, and says itself as a schema."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from gradcheck.language.loader.schema_types import (
    Choice,
    Flag,
    Integer,
    ListType,
    MappingType,
    RecordType,
    SchemaRecord,
    SchemaType,
    Shorthand,
    Text,
    Violation,
    key,
)


class Point(SchemaRecord):
    """Of this test."""

    x: int = key(Integer(0, 9), "How far.", [1])
    tags: list[str] = key(ListType(Text(least=1)), "Words.", [["a"]], list)


#: A kind, a value, and what is odd about it, with the way there.
READ: list[tuple[SchemaType, Any, list[tuple[str, tuple[Any, ...]]]]] = [
    (Text(), "", []),
    (Text(), 1, [("text", ())]),
    (Text(least=1), "", [("empty", ())]),
    (Text(pattern=r"^\d+$"), "1a", [("pattern", ())]),
    (Choice(("a", "b")), "a", []),
    (Choice(("a", "b")), ["a"], [("choice", ())]),
    (Flag(), 1, [("flag", ())]),
    (Integer(), 10**30, []),
    (Integer(0), True, [("integer", ())]),
    (Integer(0), 0.0, [("integer", ())]),
    (Integer(0, 3), -1, [("low", ())]),
    (Integer(0, 3), 4, [("high", ())]),
    (ListType(Integer(), 2, 2), [1, "a", 2.5], [("long", ())]),
    (ListType(Integer(), 2, 2), [1, "a"], [("integer", (1,))]),
    (ListType(Integer(), 2, 2), [1], [("short", ())]),
    (ListType(Integer()), {}, [("list", ())]),
    (MappingType(Integer(0)), {"a": 1, "b": -1, "c": "x"}, [("low", ("b",)), ("integer", ("c",))]),
    (MappingType(Integer(), least=1), {}, [("short", ())]),
    (MappingType(Integer()), [], [("mapping", ())]),
    (RecordType(Point), {"x": 3, "tags": ["", "b"]}, [("empty", ("tags", 0))]),
    (RecordType(Point), {"y": 1}, [("lacking", ("x",)), ("unknown", ("y",))]),
    (RecordType(Point), 3, [("mapping", ())]),
]


@pytest.mark.parametrize(("kind", "found", "odd"), READ)
def test_what_is_odd_is_told_with_the_way_there(kind: SchemaType, found: Any, odd: list[Any]) -> None:
    noted: list[Violation] = []
    kind.read(found, (), noted)
    assert [(one.what, one.at) for one in noted] == odd


def test_the_schema_takes_what_is_not_odd() -> None:
    for kind, found, odd in READ:
        said = Point.schema() if isinstance(kind, RecordType) else kind.schema()
        if isinstance(found, (dict, list, str)) or type(found) is int:
            assert jsonschema.Draft7Validator(said).is_valid(found) == (not odd), (said, found)


def test_what_is_read_is_a_copy() -> None:
    said: dict[str, Any] = {"a": [1]}
    for kind in (MappingType(SchemaType()), MappingType(ListType(Integer()))):
        read = kind.read(said, (), [])
        read["b"] = 1
        assert "b" not in said


def test_a_record_holds_what_was_said_and_knows_what_was_given() -> None:
    point = RecordType(Point).read({"x": 3}, (), [])
    assert (point.x, point.tags, point.given) == (3, [], {"x"})


class Track(SchemaRecord):
    """Of this test."""

    start: Point = key(RecordType(Point), "Where.", [{"x": 1}], Point)
    points: list[Point] = key(ListType(RecordType(Point)), "Points.", [[]], list)
    name: str = key(Text(), "Its name.", ["a"], str)
    anything: Any = key(SchemaType("Value"), "Read elsewhere.", [1], list)


def test_plain_values_are_those_that_a_case_takes_as_they_are() -> None:
    point = RecordType(Point).read({"x": 3, "tags": ["a"]}, (), [])
    assert point.plain_values() == {"x": 3, "tags": ("a",)}
    assert Track({"name": "b"}).plain_values() == {"name": "b"}


def test_the_records_below_a_record_are_found_by_key() -> None:
    assert Track.records_below() == {"start": Point, "points": Point}


def test_a_shorthand_describes_its_own_forms() -> None:
    usage = ("text or a mapping", "write x")
    noted: list[Violation] = []
    Shorthand(Text(), lambda value: value, RecordType(Point), usage).read(["a"], ("p",), noted)
    Shorthand(Text(), lambda value: value, RecordType(Point), usage).read({"x": "a"}, ("p",), noted)
    assert [(one.at, one.usage) for one in noted] == [(("p",), usage), (("p", "x"), None)]
