"""YAML's event stream to a Document.

It rejects anchors, aliases, tags, merge keys and duplicate keys.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.parser import Parser as EventParser
from yaml.reader import Reader
from yaml.scanner import Scanner

from gradcheck.errors import Hint, InvalidCase, Place
from gradcheck.language.loader.yaml_document import BROKEN, Document, Limits, Mark, PositionNode, PositionTree
from gradcheck.language.loader.yaml_mistakes import find_yaml_mistakes
from gradcheck.language.loader.yaml_text import resolve


class PythonParser(Reader, Scanner, EventParser):
    """PyYAML's parser in Python, for builds without libyaml; 20 times slower."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        EventParser.__init__(self)


Parser: Any = PythonParser
if yaml.__with_libyaml__:
    from yaml import cyaml

    Parser = vars(cyaml)["CParser"]

#: Stands for a wrong key, whose value is dropped.
_DROPPED = object()
_STARTS = frozenset({MappingStartEvent, SequenceStartEvent})
_ENDS = frozenset({MappingEndEvent, SequenceEndEvent})
_NODES = frozenset({ScalarEvent, AliasEvent, *_STARTS})


class Composer:
    """Builds the documents of one file; after `errors` it could go on."""

    def __init__(self, file: str, limits: Limits) -> None:
        self.file = file
        self.limits = limits
        self.errors: list[InvalidCase] = []
        self.values = 0  # in all the documents of the file so far

    def compose(self, text: str, first: int) -> Document | None:
        """Return the document in `text`, which begins on line `first`.

        Returns None for an empty text. Raises InvalidCase.
        """
        self.first = first
        self.incomplete = False
        self.reported: Counter[str] = Counter()
        try:
            data, root = self._build(Parser(text))
        except UnicodeEncodeError as error:
            raise InvalidCase(
                f"{text[error.start]!a} is half of a character", place=Place(self.file, first, 1)
            ) from None
        except yaml.YAMLError as error:
            told = self._slips(text, error) or [self._syntax_error(error)]
            self.errors += told[:-1]
            raise told[-1] from None
        if root is None:
            return None
        return Document(self.file, text, first, data, root, broken=bool(self.errors), incomplete=self.incomplete)

    def _build(self, parser: Any) -> tuple[Any, PositionNode | None]:
        """Read all events with an explicit stack, since nesting may be deep."""
        next_event = parser.get_event
        top: list[Any] = []
        spots: list[PositionNode] = []
        data: Any = top  # the innermost open container
        branch = PositionTree(next_event().start_mark, None, spots)
        key: Any = None
        stack: list[tuple[Any, PositionTree]] = []
        while True:
            event = next_event()
            kind = type(event)
            if kind in _NODES:
                if branch.keys is not None and key is None:
                    key = self._key(event, kind, branch.keys)
                    continue
                value, child = self._value(event, kind, len(stack))
                if branch.keys is None:
                    data.append(value)
                    branch.children.append(child)
                elif key is not _DROPPED:
                    data[key] = value
                    branch.children[key] = child
                key = None
                if type(child) is PositionTree:
                    stack.append((data, branch))
                    data, branch = value, child
            elif kind in _ENDS:
                data, branch = stack.pop()
            elif kind is StreamEndEvent:
                break
            elif kind is DocumentStartEvent and event.tags:
                self._note("tags are not allowed, found %TAG", event.start_mark)
        if len(spots) > 1:
            second = spots[1].mark if type(spots[1]) is PositionTree else spots[1]
            raise self._error("a second document begins without its '---'", second)
        return (top[0], spots[0]) if spots else (None, None)

    def _value(self, event: Any, kind: type, depth: int) -> tuple[Any, PositionNode]:
        """Return a value and its position; a container is still empty."""
        mark = event.start_mark
        value: Any = BROKEN
        if event.anchor is not None or event.tag is not None:
            self._refuse_decoration(event, kind)
        if kind in _STARTS and depth >= self.limits.depth:
            raise self._error(self._too_deep(), mark)
        if kind is ScalarEvent:
            value = event.value
            if event.implicit[0]:
                value = self._resolved(value, mark)
        self.values += 1
        if self.values > self.limits.numbers:
            raise self._error(f"the file writes out more than {self.limits.numbers:,} values", mark, _TOO_MANY)
        if kind is MappingStartEvent:
            return {}, PositionTree(mark, {}, {})
        return ([], PositionTree(mark, None, [])) if kind is SequenceStartEvent else (value, mark)

    def _too_deep(self) -> str:
        return f"nested more than {self.limits.depth} deep"

    def _resolved(self, text: str, mark: Mark) -> Any:
        try:
            return resolve(text)
        except OverflowError as error:
            hint = f"infinity is written {'-' * text.startswith('-')}.inf, text in quotes"
            self._note(str(error), mark, hint)
            return BROKEN

    def _key(self, event: Any, kind: type, keys: dict[str, Mark]) -> Any:
        """Return the key of an event, or `_DROPPED` after an error."""
        mark = event.start_mark
        if event.anchor is not None or event.tag is not None:
            self._refuse_decoration(event, kind)
        if kind is AliasEvent:
            self.incomplete = True
            return _DROPPED
        if kind is not ScalarEvent:
            raise self._error("a key must be a word, not a list or a mapping", mark, _BRACES)
        key: str = event.value
        if key == "<<" and event.implicit[0]:
            self._note("merge keys are not allowed, found '<<'", mark, "write the entries out")
            self.incomplete = True
            return _DROPPED
        if key in keys:
            line = keys[key].line + self.first
            self._note(f"the key {key!r} stands here twice", mark, f"it is first given on line {line}")
            return _DROPPED
        keys[key] = mark
        return key

    def _refuse_decoration(self, event: Any, kind: type) -> None:
        if kind is AliasEvent:
            self._report_forbidden("aliases", f"*{event.anchor}", event.start_mark, _STAR)
            return
        if event.anchor is not None:
            self._report_forbidden("anchors", f"&{event.anchor}", event.start_mark, _AMPERSAND)
        if event.tag is not None:
            written = event.tag.replace("tag:yaml.org,2002:", "!!", 1)  # YAML expands `!!str`
            self._report_forbidden("tags", written, event.start_mark, _BANG)

    def _report_forbidden(self, what: str, found: str, mark: Mark, hint: str) -> None:
        """Report a forbidden part of YAML, the first few times for each kind."""
        self.reported[what] += 1
        if self.reported[what] <= _MAX_REPORTED:
            self._note(f"{what} are not allowed, found '{found}'", mark, hint)

    def _note(self, message: str, mark: Mark, hint: str = "") -> None:
        self.errors.append(self._error(message, mark, hint))

    def _error(self, message: str, mark: Any, hint: str = "") -> InvalidCase:
        return InvalidCase(message, place=Place(self.file, mark.line + self.first, mark.column + 1), hint=hint)

    def _slips(self, text: str, error: yaml.YAMLError) -> list[InvalidCase]:
        """Return the mistakes that probably caused a parser's error."""
        if _TOO_DEEP in str(error):
            return []
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        errors: list[InvalidCase] = []
        for found in find_yaml_mistakes(text, mark.line if mark else text.count("\n")):
            hint = found.hint
            if isinstance(hint, Hint) and hint.place:
                place = Place(self.file, hint.place.line + self.first, hint.place.column + 1)
                hint = Hint(hint, hint.old, hint.new, place)
            errors.append(self._error(found.message, found, hint))
        return errors

    def _syntax_error(self, error: yaml.YAMLError) -> InvalidCase:
        """Return the parser's error, with a hint if its words are known."""
        if not isinstance(error, yaml.MarkedYAMLError):
            return InvalidCase(f"this is not valid YAML: {error}", place=Place(self.file, self.first, 1))
        problem = error.problem or error.context or "it cannot be read"
        mark = error.problem_mark or error.context_mark
        if "unexpected end of stream" in problem and error.context_mark:
            mark = error.context_mark  # where the quotation begins, rather than the end of the file
        hint = next((hint for part, hint in _SYNTAX_HINTS.items() if part in problem), "")
        message = self._too_deep() if _TOO_DEEP in problem else f"this is not valid YAML: {problem}"
        if error.context and error.context_mark and error.context_mark.line != getattr(mark, "line", None):
            message += f" ({error.context} on line {error.context_mark.line + self.first})"
        return self._error(message, mark, hint) if mark else InvalidCase(message, place=Place(self.file))


_MAX_REPORTED = 3
_BRACES = "text that begins with { or [ needs quotes"
_STAR = "write the value out; text that begins with * needs quotes"
_AMPERSAND = "write the value out where it is needed; text that begins with & needs quotes"
_BANG = "text that begins with ! needs quotes"
_TOO_MANY = "draw large tensors, as in 'x: randn(1000, 1000)'"
#: The message of a libyaml with a depth limit of its own, which may come before ours.
_TOO_DEEP = "maximum nesting depth"
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
