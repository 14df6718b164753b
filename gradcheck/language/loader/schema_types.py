"""What may stand at a key, and what is odd about what does: the words that `model` is written in.

A `Kind` reads a value: it notes every oddity with its way, and gives what becomes of the value, a copy where it holds
others. Nothing is converted. It also says itself in JSON Schema (draft-07).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

#: The way to a value: keys of mappings and indices of lists.
KeyPath: TypeAlias = tuple["str | int", ...]
#: What is odd: another type than the first five; text of another form; none of the words; an empty text; a number
#: below or above its bounds; too few or too many entries; a key that must be there and is not; one that is none.
What: TypeAlias = Literal[
    "text",
    "integer",
    "flag",
    "list",
    "mapping",
    "pattern",
    "choice",
    "empty",
    "low",
    "high",
    "short",
    "long",
    "lacking",
    "unknown",
]


class Violation(NamedTuple):
    """One oddity: the way there, what was found, and the bound that it is beyond."""

    what: What
    at: KeyPath
    found: Any
    bound: int = 0


class SchemaType:
    """Anything at all, which is read elsewhere; the schema has a definition of that name."""

    def __init__(self, definition: str = "") -> None:
        self.definition = definition

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        """What becomes of the value found at `at`, as it is; what is odd about it is added to `odd`."""
        return found

    def schema(self) -> dict[str, Any]:
        return {"$ref": f"#/definitions/{self.definition}"}


class Text(SchemaType):
    """Text; of at least one character, or of a form, where that is asked."""

    def __init__(self, least: int = 0, pattern: str = "", form: str = "") -> None:
        self.least, self.pattern, self.form = least, pattern, form

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if not isinstance(found, str):
            odd.append(Violation("text", at, found))
        elif len(found) < self.least:
            odd.append(Violation("empty", at, found))
        elif self.pattern and not re.fullmatch(self.pattern, found):
            odd.append(Violation("pattern", at, found))
        return found

    def schema(self) -> dict[str, Any]:
        asked = {"minLength": self.least, "pattern": self.pattern, "format": self.form}
        return {"type": "string"} | {word: value for word, value in asked.items() if value}


class Choice(SchemaType):
    """One of some words."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if found not in self.words:
            odd.append(Violation("choice", at, found))
        return found

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}


class Flag(SchemaType):
    """True or false."""

    def __init__(self) -> None:
        super().__init__()

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if not isinstance(found, bool):
            odd.append(Violation("flag", at, found))
        return found

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Integer(SchemaType):
    """An integer, within bounds where there are any."""

    def __init__(self, least: int | None = None, most: int | None = None) -> None:
        self.least, self.most = least, most

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if type(found) is not int:
            odd.append(Violation("integer", at, found))
        elif self.most is not None and found > self.most:
            odd.append(Violation("high", at, found, self.most))
        elif self.least is not None and found < self.least:
            odd.append(Violation("low", at, found, self.least))
        return found

    def schema(self) -> dict[str, Any]:
        bounds = {"minimum": self.least, "maximum": self.most}
        return {"type": "integer"} | {word: bound for word, bound in bounds.items() if bound is not None}


class ListType(SchemaType):
    """A list of entries of one kind, so many of them."""

    def __init__(self, each: SchemaType, least: int = 0, most: int | None = None) -> None:
        self.each, self.least, self.most = each, least, most

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if not isinstance(found, list):
            odd.append(Violation("list", at, found))
            return found
        before = len(odd)
        read = [self.each.read(item, (*at, i), odd) for i, item in enumerate(found)]
        if self.most is not None and len(found) > self.most:
            odd[before:] = [Violation("long", at, found, self.most)]
        elif len(found) < self.least and len(odd) == before:
            odd.append(Violation("short", at, found, self.least))
        return read

    def schema(self) -> dict[str, Any]:
        said = {"type": "array", "items": self.each.schema()}
        bounds = {"minItems": self.least or None, "maxItems": self.most}
        return said | {word: bound for word, bound in bounds.items() if bound is not None}


class MappingType(SchemaType):
    """A mapping from names of the file's own to values of one kind."""

    def __init__(self, each: SchemaType, least: int = 0) -> None:
        self.each, self.least = each, least

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if not isinstance(found, dict):
            odd.append(Violation("mapping", at, found))
            return found
        if len(found) < self.least:
            odd.append(Violation("short", at, found, self.least))
        if type(self.each) is SchemaType:
            return dict(found)
        return {name: self.each.read(value, (*at, name), odd) for name, value in found.items()}

    def schema(self) -> dict[str, Any]:
        said = {"type": "object", "additionalProperties": self.each.schema()}
        return said | ({"minProperties": self.least} if self.least else {})


class Shorthand(SchemaType):
    """A kind that a shorter form may stand for, which `spell_out` makes of it."""

    def __init__(self, form: SchemaType, spell_out: Callable[[Any], Any], kind: SchemaType) -> None:
        self.form, self.spell_out, self.kind = form, spell_out, kind

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        return self.kind.read(self.spell_out(found), at, odd)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.form.schema(), self.kind.schema()]}


class SchemaKey(NamedTuple):
    """One key of a mapping: its kind, what editors say of it, and what stands for it where it is left out: `make` it,
    for every mapping anew; None where it must be there."""

    kind: SchemaType
    description: str
    examples: list[Any]
    make_default: Callable[[], Any] | None


def key(kind: SchemaType, description: str, examples: list[Any], make: Callable[[], Any] | None = None) -> Any:
    """A key of a `Record`, of which it becomes the attribute."""
    return SchemaKey(kind, description, examples, make)


class SchemaRecord:
    """A mapping whose keys are known: its subclasses say them as attributes, and hold what stood there; `given` are the
    keys that did."""

    keys: ClassVar[dict[str, SchemaKey]] = {}

    def __init_subclass__(cls) -> None:
        cls.keys = {name: said for name, said in vars(cls).items() if isinstance(said, SchemaKey)}

    def __init__(self, said: Mapping[str, Any] | None = None) -> None:
        self.given = frozenset(said or ())
        for name, one in self.keys.items():
            setattr(self, name, said[name] if said and name in said else one.make_default and one.make_default())

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The mapping itself, as a definition of the schema's."""
        needed = [name for name, one in cls.keys.items() if one.make_default is None]
        return {
            "description": (cls.__doc__ or "").strip(),
            "type": "object",
            "additionalProperties": False,
            **({"required": needed} if needed else {}),
            "properties": {name: _said(one) for name, one in cls.keys.items()},
        }


def _said(one: SchemaKey) -> dict[str, Any]:
    default = one.make_default() if one.make_default else None
    known = {"default": default} if default and not isinstance(default, SchemaRecord) else {}
    return {"description": one.description, **one.kind.schema(), **known, "examples": one.examples}


class RecordType(SchemaType):
    """A mapping of a record's keys."""

    def __init__(self, record: type[SchemaRecord]) -> None:
        super().__init__(record.__name__)
        self.record = record

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if not isinstance(found, dict):
            odd.append(Violation("mapping", at, found))
            return found
        said, keys = {}, self.record.keys
        for name, one in keys.items():
            if name in found:
                said[name] = one.kind.read(found[name], (*at, name), odd)
            elif one.make_default is None:
                odd.append(Violation("lacking", (*at, name), found))
        odd += [Violation("unknown", (*at, name), value) for name, value in found.items() if name not in keys]
        return self.record(said)
