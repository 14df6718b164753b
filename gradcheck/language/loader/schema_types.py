"""The types of values in a case file, in which `model` is written.

Each type reads a value, notes every violation with its path, and describes itself in JSON Schema (draft-07). Values are
not converted; containers are copied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

#: The path to a value: keys of mappings and indices of lists.
KeyPath: TypeAlias = tuple["str | int", ...]
#: Wrong types; wrong text; numbers and entries beyond their bounds; keys that are missing or unknown.
What: TypeAlias = Literal[
    "text", "integer", "flag", "list", "mapping", "pattern", "choice", "empty",
    "low", "high", "short", "long", "lacking", "unknown",
]  # fmt: skip
#: The values that a type takes, in words, and what to write.
Usage: TypeAlias = tuple[str, str]


class Violation(NamedTuple):
    """A violation of a type: its path, the value found, the limits."""

    what: What
    at: KeyPath
    found: Any
    bound: int = 0
    words: tuple[str, ...] = ()  # of a `Choice`
    usage: Usage | None = None  # where the type has words of its own


class SchemaType:
    """A value of any type, which is read elsewhere."""

    is_plain = False  # whether `case.Case` takes the value as it is
    record: type[SchemaRecord] | None = None  # the record that the value is, or that it lists

    def __init__(self, definition: str = "") -> None:
        self.definition = definition

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        """Return the value found at `at`, and add its violations to `odd`."""
        return found

    def schema(self) -> dict[str, Any]:
        return {"$ref": f"#/definitions/{self.definition}"}


class Text(SchemaType):
    """Text of at least `least` characters, or of a pattern."""

    is_plain = True

    def __init__(self, least: int = 0, pattern: str = "", form: str = "", usage: Usage | None = None) -> None:
        self.least, self.pattern, self.form, self.usage = least, pattern, form, usage

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if not isinstance(found, str):
            odd.append(Violation("text", at, found, usage=self.usage))
        elif len(found) < self.least:
            odd.append(Violation("empty", at, found))
        elif self.pattern and not re.fullmatch(self.pattern, found):
            odd.append(Violation("pattern", at, found, usage=self.usage))
        return found

    def schema(self) -> dict[str, Any]:
        limits = {"minLength": self.least, "pattern": self.pattern, "format": self.form}
        return {"type": "string"} | {word: value for word, value in limits.items() if value}


class Choice(SchemaType):
    """One of some words."""

    is_plain = True

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if found not in self.words:
            odd.append(Violation("choice", at, found, words=self.words))
        return found

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}


class Flag(SchemaType):
    """True or false."""

    is_plain = True

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if not isinstance(found, bool):
            odd.append(Violation("flag", at, found))
        return found

    def schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


class Integer(SchemaType):
    """An integer within bounds."""

    is_plain = True

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
    """A list of `least` to `most` entries of one type."""

    def __init__(self, each: SchemaType, least: int = 0, most: int | None = None) -> None:
        self.each, self.least, self.most = each, least, most
        self.is_plain, self.record = each.is_plain, each.record

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
    """A mapping from names of the file to values of one type."""

    def __init__(self, each: SchemaType, least: int = 0, usage: Usage | None = None) -> None:
        self.each, self.least, self.usage, self.is_plain = each, least, usage, each.is_plain

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if not isinstance(found, dict):
            odd.append(Violation("mapping", at, found, usage=self.usage))
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
    """A type that also has a shorter form, which `spell_out` expands."""

    def __init__(self, form: SchemaType, spell_out: Callable[[Any], Any], kind: SchemaType, usage: Usage) -> None:
        self.form, self.spell_out, self.kind, self.usage = form, spell_out, kind, usage
        self.record = kind.record

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        before = len(odd)
        read = self.kind.read(self.spell_out(found), at, odd)
        odd[before:] = [one._replace(usage=self.usage) if one.at == at else one for one in odd[before:]]
        return read

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.form.schema(), self.kind.schema()]}


class SchemaKey(NamedTuple):
    """A key of a record: its type, its description and examples for editors.

    `make_default` makes its value in each record that leaves it out; it is None for a required key.
    """

    kind: SchemaType
    description: str
    examples: list[Any]
    make_default: Callable[[], Any] | None

    def schema(self) -> dict[str, Any]:
        default = self.make_default() if self.make_default else None
        known = {"default": default} if default and not isinstance(default, SchemaRecord) else {}
        return {"description": self.description, **self.kind.schema(), **known, "examples": self.examples}


def key(kind: SchemaType, description: str, examples: list[Any], make: Callable[[], Any] | None = None) -> Any:
    """Declare a key of a `SchemaRecord`, whose attribute it becomes."""
    return SchemaKey(kind, description, examples, make)


class SchemaRecord:
    """A mapping of known keys, which subclasses declare as attributes.

    An instance holds the values; `given` are the keys that were in the file.
    """

    keys: ClassVar[dict[str, SchemaKey]] = {}
    plain_keys: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.keys = {name: said for name, said in vars(cls).items() if isinstance(said, SchemaKey)}
        cls.plain_keys = tuple(name for name, said in cls.keys.items() if said.kind.is_plain)

    def __init__(self, said: Mapping[str, Any] | None = None) -> None:
        self.given = frozenset(said or ())
        for name, one in self.keys.items():
            setattr(self, name, said[name] if said and name in said else one.make_default and one.make_default())

    def plain_values(self) -> dict[str, Any]:
        """Return the values of the plain keys, lists as tuples."""
        values = ((name, getattr(self, name)) for name in self.plain_keys)
        return {name: tuple(value) if isinstance(value, list) else value for name, value in values}

    @classmethod
    def records_below(cls) -> dict[str, type[SchemaRecord]]:
        """Return the records that stand below keys of this one, by key."""
        return {name: one.kind.record for name, one in cls.keys.items() if one.kind.record is not None}

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """Return the definition of the mapping itself."""
        needed = [name for name, one in cls.keys.items() if one.make_default is None]
        return {
            "description": (cls.__doc__ or "").strip(),
            "type": "object",
            "additionalProperties": False,
            **({"required": needed} if needed else {}),
            "properties": {name: one.schema() for name, one in cls.keys.items()},
        }


class RecordType(SchemaType):
    """A mapping with the keys of a record."""

    def __init__(self, record: type[SchemaRecord]) -> None:
        super().__init__(record.__name__)
        self.keys, self.record = record.keys, record

    def read(self, found: Any, at: KeyPath, odd: list[Violation]) -> Any:
        if not isinstance(found, dict):
            odd.append(Violation("mapping", at, found))
            return found
        said = {}
        for name, one in self.keys.items():
            if name in found:
                said[name] = one.kind.read(found[name], (*at, name), odd)
            elif one.make_default is None:
                odd.append(Violation("lacking", (*at, name), found))
        odd += [Violation("unknown", (*at, name), value) for name, value in found.items() if name not in self.keys]
        assert self.record is not None
        return self.record(said)
