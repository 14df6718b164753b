"""Records write themselves as other dataclasses do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from gradcheck.errors import Place
from gradcheck.record import Record, record


@dataclass(frozen=True, slots=True, repr=False)
class _Mine(Record):
    one: int
    hidden: int = field(default=0, repr=False)
    place: Place = field(default_factory=Place)


def test_a_record_writes_itself_as_a_dataclass_does() -> None:
    @dataclass(frozen=True)
    class _Other:
        one: int
        hidden: int = field(default=0, repr=False)
        place: Place = field(default_factory=Place)

    name = "test_a_record_writes_itself_as_a_dataclass_does.<locals>._Other"
    assert repr(_Mine(1, place=Place("f.yaml", 2))) == repr(_Other(1, place=Place("f.yaml", 2))).replace(name, "_Mine")
    assert repr(Place("f.yaml", 2, 3)) == "Place(file='f.yaml', line=2, column=3)"
    assert _Mine.__slots__ == ("one", "hidden", "place")


@record(frozen=True, slots=True, order=True, repr=False)
class _Quick(Record):
    one: int
    place: Place = field(default_factory=Place, compare=False)


@record(slots=True, eq=False, repr=False)
class _Itself(Record):
    one: int


def test_what_only_type_checkers_keep_from_being_changed_is_as_a_frozen_one_in_all_else() -> None:
    made = _Quick(1, Place("f.yaml", 2))
    assert made == replace(made, place=Place()) != replace(made, one=2)
    assert hash(made) == hash(replace(made, place=Place()))
    assert sorted([_Quick(2), made]) == [made, _Quick(2)]
    assert repr(made) == "_Quick(one=1, place=Place(file='f.yaml', line=2, column=0))"
    with pytest.raises(AttributeError, match="two"):
        made.two = 2  # type: ignore[attr-defined]
    assert _Itself(1) != _Itself(1)
    assert len({_Itself(1), _Itself(1)}) == 2
