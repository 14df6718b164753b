"""The text of an expression as Python's syntax tree; places of errors."""

from __future__ import annotations

import ast
import cmath
import re
import warnings
from collections.abc import Callable
from typing import TypeAlias, TypeGuard

from gradcheck.autograd.dtypes import INT64_RANGE
from gradcheck.errors import Hint, InvalidCase, Place
from gradcheck.language.expr.nodes import Expr, Literal
from gradcheck.language.expr.notation_mistakes import find_notation_mistake
from gradcheck.language.expr.torch_names import namespace_constant

MAX_LENGTH = 10_000
MAX_NESTING = 100

Number: TypeAlias = int | float | complex
#: A function that builds an Expr of a node's parts.
Build: TypeAlias = Callable[[list[Expr]], Expr]
#: The plan of a node: its parts with their depths, and the function that builds it.
ParsePlan: TypeAlias = tuple[list[tuple[ast.expr, int]], Build]

_SPLIT_HINT = "give its parts names, in `graph` or `let`"

#: Quoted texts (also unfinished ones), and the signs that count outside of them.
_TOKEN = re.compile(
    r"'''(?:\\.|[^\\])*?(?:'''|\Z)|\"\"\"(?:\\.|[^\\])*?(?:\"\"\"|\Z)"
    r"|'(?:\\.|[^'\\])*(?:'|\Z)|\"(?:\\.|[^\"\\])*(?:\"|\Z)|[()\[\]{}#,]",
    re.DOTALL,
)
_CLOSES = {")": "(", "]": "[", "}": "{"}
_OPENS = {opening: closing for closing, opening in _CLOSES.items()}
_OPERATORS, _PART = frozenset("+-*/@%<>=&|~"), re.compile(r"\w+|\S")
_ROW = re.compile(r"[-+\d.eE]+(?:\s*,\s*[-+\d.eE]+)+")
_BLANKS = str.maketrans(dict.fromkeys("\n\r\t\f\v", " "))
#: Text at which Python's parser warns on standard error: odd escapes, keywords right after numbers.
_WARNS = re.compile(r"\\|\d[a-z]")


class Unbalanced(InvalidCase):
    """Brackets that do not match: a mistake, or the cut of a comma in YAML."""


class Source:
    """An expression's text, and the place of its first character."""

    __slots__ = ("_indent", "_plain", "place", "text")

    def __init__(self, text: str, place: Place | None = None) -> None:
        self.text = text.translate(_BLANKS)
        self.place = place or Place()
        self._indent = len(self.text) - len(self.text.lstrip(" "))
        self._plain = text.isascii()

    def error(self, at: int, message: str, hint: str = "") -> InvalidCase:
        """Return an error `at` a position of the text."""
        return InvalidCase(message, place=self.place_of(at), hint=hint)

    def place_of(self, at: int) -> Place:
        """Return the place of a character."""
        return Place(self.place.file, self.place.line, self.place.column + max(at, 0))

    def offset(self, column: int) -> int:
        """Return the position of a column of the syntax tree, in UTF-8 bytes."""
        if not self._plain:
            column = len(self.text.lstrip(" ").encode()[:column].decode(errors="ignore"))
        return column + self._indent

    def at(self, node: ast.expr | ast.keyword) -> int:
        """Return the position of a node."""
        return self.offset(node.col_offset)

    def name_at(self, node: ast.expr, name: str) -> int:
        """Return the position of the name that ends a node: `sum` in `x.sum`."""
        return self.offset(node.end_col_offset or 0) - len(name)

    def tree(self, max_length: int = MAX_LENGTH) -> ast.expr:
        """Return the syntax tree; raise InvalidCase if too long, deep or wrong."""
        if len(self.text) > max_length:
            message = f"an expression of {len(self.text):,} characters, where {max_length:,} are allowed"
            raise self.error(0, message, _SPLIT_HINT)
        self._check_characters()
        try:
            return self._parse().body
        except SyntaxError as error:
            raise self._syntax_error(error) from None
        except (RecursionError, MemoryError):
            raise self.error(0, "an expression of too many parts", _SPLIT_HINT) from None
        except ValueError as error:
            raise self.error(0, f"not an expression: {error}") from None

    def _parse(self) -> ast.Expression:
        text = self.text.lstrip(" ")
        if not _WARNS.search(text):
            return ast.parse(text, mode="eval")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, mode="eval")

    def _syntax_error(self, error: SyntaxError) -> InvalidCase:
        if error.msg.startswith("Exceeds the limit"):  # of digits; Python has no other way to say so
            return self.error(self._indent, "an integer that does not fit in 64 bits", "write it as a float: 1e20")
        slip = find_notation_mistake(self.text)
        if slip is not None:
            return self.error(slip.at, slip.message, slip.hint)
        if not error.offset:
            return self.error(len(self.text.rstrip()), "the expression ends too early", "an operand is missing")
        at = error.offset - 1 + self._indent
        if self.text[at : at + 1] == "=":
            hint = Hint("equality is written ==, and keywords stand in calls", "=", "==")
            return self.error(at, "not an expression: a single =", hint)
        return self.error(at, f"not an expression: {error.msg}", self._near(at))

    def _near(self, at: int) -> str:
        """Return a hint with the text where Python's parser stopped."""
        if self.text[:at].rstrip()[-1:] in _OPERATORS and self.text[at : at + 1] in _OPERATORS:
            return f"two operators in a row, '{self.text[:at].rstrip()[-1]}' and '{self.text[at]}'"
        found = _PART.match(self.text, at)
        return f"it is read up to '{found[0]}'" if found else ""

    def _check_characters(self) -> None:
        if not self.text.strip():
            raise self.error(0, "an empty expression")
        if "\0" in self.text:
            raise self.error(self.text.index("\0"), "a NUL character in an expression")
        opened: list[tuple[str, int]] = []
        for token in _TOKEN.finditer(self.text):
            mark, at = token.group(), token.start()
            if mark == "#":
                raise self.error(at, "a comment inside an expression", "put it on a line of its own, in the YAML")
            if mark == "," and not opened:
                row = self.text.strip()
                hint = "one expression is expected; a tuple needs brackets"
                if _ROW.fullmatch(row):
                    hint = Hint(f"a list is written [{row}]", row, f"[{row}]", self.place_of(self._indent))
                raise self.error(at, "a comma outside of brackets", hint)
            if mark in "([{":
                opened.append((mark, at))
                if len(opened) > MAX_NESTING:
                    raise self.error(at, f"an expression nested more than {MAX_NESTING} levels deep")
            elif mark in _CLOSES and (not opened or opened.pop()[0] != _CLOSES[mark]):
                message = f"unbalanced brackets: '{mark}' closes nothing"
                raise Unbalanced(
                    message, place=self.place_of(at), hint=f"take it away, or open it with '{_CLOSES[mark]}'"
                )
        if opened:
            mark, at = opened[-1]
            slip = find_notation_mistake(self.text) if self.text.count("'") % 2 else None
            if slip is not None and self.text[slip.at] == "'":  # Matlab's transpose begins a text here
                raise self.error(slip.at, slip.message, slip.hint)
            message = f"unbalanced brackets: '{mark}' is never closed"
            raise Unbalanced(message, place=self.place_of(at), hint=f"close it with '{_OPENS[mark]}'")


def dotted_name(node: ast.expr) -> str:
    """Return a name such as `torch.linalg`, or ""; three words at most."""
    words: list[str] = []
    for _ in range(3):
        if isinstance(node, ast.Name):
            return ".".join([node.id, *reversed(words)])
        if not isinstance(node, ast.Attribute):
            break
        words.append(node.attr)
        node = node.value
    return ""


def unsigned_number(node: ast.expr) -> Number | None:
    """Return the number of a node without a sign: `2`, `2j`, `torch.inf`."""
    if isinstance(node, ast.Constant):
        return node.value if is_number(node.value) and fits_64_bits(node.value) else None
    known = namespace_constant(dotted_name(node.value), node.attr) if isinstance(node, ast.Attribute) else None
    return known.value if isinstance(known, Literal) and is_number(known.value) else None


def signed_number(node: ast.expr) -> Number | None:
    """Return the number of a node, with or without a minus."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = unsigned_number(node.operand)
        return None if value is None else -value
    return unsigned_number(node)


def is_number(value: object) -> TypeGuard[Number]:
    """Return whether a value is a Python number and no boolean."""
    return isinstance(value, (int, float, complex)) and not isinstance(value, bool)


def fits_64_bits(value: object) -> bool:
    """Return whether a literal fits 64 bits, and did not overflow to infinity."""
    if isinstance(value, int):
        return value <= -INT64_RANGE.start  # a sign may stand before it
    return not isinstance(value, (float, complex)) or cmath.isfinite(value)
