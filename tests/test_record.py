"""Records write themselves as other dataclasses do."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradcheck.errors import Place
from gradcheck.record import Record


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
