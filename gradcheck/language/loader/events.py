"""From YAML's event stream to a Document, strictly: no anchors, aliases, tags, merge keys or duplicate keys."""

from __future__ import annotations

from collections import Counter
from typing import Any

import yaml
from yaml import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.loader import pure
from gradcheck.language.loader.limits import Limits
from gradcheck.language.loader.scalars import resolve
from gradcheck.language.loader.tree import BROKEN, Branch, Document, Mark, Spot

Parser: Any = pure.Parser
if yaml.__with_libyaml__:
    from yaml import cyaml

    Parser = vars(cyaml)["CParser"]

#: Stands for a key whose value is not kept, since the key is wrong.
_DROPPED = object()


class Composer:
    """Builds the document of one piece of a file. `errors` are those after which it could go on."""

    def __init__(self, file: str, limits: Limits) -> None:
        self.file = file
        self.limits = limits
        self.errors: list[InvalidCase] = []
        self.values = 0  # in all the documents of the file so far

    def compose(self, text: str, first: int) -> Document | None:
        """The document that `text`, which begins on line `first`, holds; None if it is empty. Raises InvalidCase."""
        self.first = first
        self.incomplete = False
        self.told: Counter[str] = Counter()
        try:
            data, root = self._build(Parser(text))
        except yaml.YAMLError as error:
            raise self._syntax_error(error) from None
        if root is None:
            return None
        document = Document(self.file, text, first, data, root)
        document.broken, document.incomplete = bool(self.errors), self.incomplete
        return document

    def _build(self, parser: Any) -> tuple[Any, Spot | None]:
        """The loop over the events, with its own stack: nothing recursive, however deep the nesting."""
        next_event = parser.get_event
        top: list[Any] = []
        spots: list[Spot] = []
        data: Any = top  # the innermost open container
        branch = Branch(None, None, spots)  # type: ignore[arg-type]
        key: Any = None
        is_map = False
        stack: list[tuple[Any, Branch, Any, bool]] = []
        values, most = self.values, self.limits.numbers
        while True:
            event = next_event()
            kind = type(event)
            if kind is ScalarEvent:
                if event.anchor is not None or event.tag is not None:
                    self._refuse_decoration(event)
                if is_map and key is None:
                    key = self._key(event, branch)
                    continue
                value, child = event.value, event.start_mark
                if event.implicit[0]:
                    try:
                        value = resolve(value)
                    except OverflowError as error:
                        self._note(str(error), child, hint="infinity is written .inf")
                        value = BROKEN
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                data, branch, key, is_map = stack.pop()
                continue
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                value, child = self._container(event, kind, is_map and key is None, len(stack))
            elif kind is AliasEvent:
                value, child = self._alias(event, is_map and key is None)
                if is_map and key is None:
                    key = _DROPPED
                    continue
            elif kind is StreamEndEvent:
                break
            else:
                if kind is DocumentStartEvent and event.tags:
                    self._note("tags are not allowed, found %TAG", event.start_mark)
                continue
            values += 1
            if values > most:
                raise self._error(f"the file writes out more than {most:,} values", event.start_mark, hint=_TOO_MANY)
            if not is_map:
                data.append(value)
                branch.children.append(child)
            elif key is not _DROPPED:
                data[key] = value
                branch.children[key] = child
            if type(child) is Branch:
                stack.append((data, branch, None, is_map))
                data, branch, is_map = value, child, kind is MappingStartEvent
            key = None
        self.values = values
        if len(spots) > 1:
            raise self._error("a second document begins without its '---'", spots[1])
        return (top[0], spots[0]) if spots else (None, None)

    def _container(self, event: Any, kind: type, is_key: bool, depth: int) -> tuple[Any, Branch]:
        """An empty mapping or list, and the branch for its positions. Raises InvalidCase."""
        mark = event.start_mark
        if event.anchor is not None or event.tag is not None:
            self._refuse_decoration(event)
        if is_key:
            raise self._error("a key must be a word, not a list or a mapping", mark, hint=_BRACES)
        if depth >= self.limits.depth:
            raise self._error(f"nested more than {self.limits.depth} deep", mark)
        return ({}, Branch(mark, {}, {})) if kind is MappingStartEvent else ([], Branch(mark, None, []))

    def _alias(self, event: Any, is_key: bool) -> tuple[Any, Mark]:
        self._note(f"aliases are not allowed, found '*{event.anchor}'", event.start_mark, hint=_STAR)
        self.incomplete |= is_key
        return BROKEN, event.start_mark

    def _key(self, event: Any, branch: Branch) -> Any:
        """The key that a scalar stands for, or `_DROPPED` with an error noted."""
        key: str = event.value
        keys = branch.keys
        assert keys is not None
        if key == "<<" and event.implicit[0]:
            self._note("merge keys are not allowed, found '<<'", event.start_mark, hint="write the entries out")
            self.incomplete = True
            return _DROPPED
        if key in keys:
            line = keys[key].line + self.first
            self._note(f"the key {key!r} stands here twice", event.start_mark, hint=f"it is first given on line {line}")
            return _DROPPED
        keys[key] = event.start_mark
        return key

    def _refuse_decoration(self, event: Any) -> None:
        if event.anchor is not None:
            self._note(f"anchors are not allowed, found '&{event.anchor}'", event.start_mark, hint=_AMPERSAND)
        if event.tag is not None:
            self._note(f"tags are not allowed, found '{_tag(event.tag)}'", event.start_mark, hint=_BANG)

    def _note(self, message: str, mark: Mark, hint: str = "") -> None:
        """Tell an error after which reading goes on; of one kind only the first few."""
        kind = message.partition(",")[0]
        self.told[kind] += 1
        if kind not in _ABUSES or self.told[kind] <= _MOST_TOLD:
            self.errors.append(self._error(message, mark, hint))

    def _error(self, message: str, mark: Any, hint: str = "") -> InvalidCase:
        return InvalidCase(message, place=Place(self.file, mark.line + self.first, mark.column + 1), hint=hint)

    def _syntax_error(self, error: yaml.YAMLError) -> InvalidCase:
        if not isinstance(error, yaml.MarkedYAMLError):
            return InvalidCase(f"this is not valid YAML: {error}", place=Place(self.file, self.first, 1))
        problem = error.problem or error.context or "it cannot be read"
        mark = error.problem_mark or error.context_mark
        if "unexpected end of stream" in problem and error.context_mark:
            mark = error.context_mark  # where the quotation begins, rather than the end of the file
        hint = next((hint for part, hint in _SYNTAX_HINTS.items() if part in problem), "")
        message = f"this is not valid YAML: {problem}"
        if error.context and error.context_mark and error.context_mark.line != getattr(mark, "line", None):
            message += f" ({error.context} on line {error.context_mark.line + self.first})"
        return self._error(message, mark, hint) if mark else InvalidCase(message, place=Place(self.file))


def _tag(tag: str) -> str:
    """A tag as it was written: YAML expands `!!str`."""
    return tag.replace("tag:yaml.org,2002:", "!!", 1)


#: Told a few times each: a file full of them needs no more.
_ABUSES = frozenset(f"{what} are not allowed" for what in ("aliases", "anchors", "tags"))
_MOST_TOLD = 3
_BRACES = "text that begins with { or [ needs quotes"
_STAR = "write the value out; text that begins with * needs quotes"
_AMPERSAND = "write the value out where it is needed; text that begins with & needs quotes"
_BANG = "text that begins with ! needs quotes"
_TOO_MANY = "draw large tensors, as in 'x: randn(1000, 1000)'"
#: What to try, by a part of what libyaml and PyYAML say.
_SYNTAX_HINTS = {
    "mapping values are not allowed": "text that holds ': ' needs quotes, and keys of one mapping the same indentation",
    "cannot start any token": "indent with spaces, and put quotes around text that begins with @, ` or %",
    "could not find expected ':'": "a key is followed by a colon and a space",
    "did not find expected key": "check the indentation and the brackets above; text with : # { [ , needs quotes",
    "did not find expected ',' or": "a bracket or a quotation mark above is not closed, or an expression needs quotes",
    "expected <block end>": "check the indentation and the brackets above; text with : # { [ , needs quotes",
    "unexpected end of stream": "a quotation mark is not closed",
    "incompatible YAML document": "cases are read as YAML 1.2",
    "unknown escape character": "a backslash in double quotes is an escape; use single quotes",
    "alphabetic or numeric character": "text that begins with & or * needs quotes",
}
