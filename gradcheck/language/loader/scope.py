"""The names of a case: who may be called what, who may use whom, and the expressions that do."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, TypeAlias

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.case import Claim
from gradcheck.language.expr import Call, Gradient, Name, walk
from gradcheck.language.loader.tree import BROKEN, Document, Path
from gradcheck.language.loader.validate import describe, dotted
from gradcheck.language.names import constant, is_usable
from gradcheck.language.parser import parse
from gradcheck.language.random import RANDOM
from gradcheck.language.suggest import did_you_mean

#: The names that an expression may use.
Names: TypeAlias = Collection[str]

_PART = re.compile(r"(\w+)\[\d{1,4}\]")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a name stands for: one of the sections below, and where."""

    section: str
    place: Place


#: What a name of each section is, in words.
KINDS = {"dims": "a size", "shapes": "a size", "inputs": "an input", "constants": "a constant",
         "graph": "a tensor of the graph", "let": "an intermediate step"}  # fmt: skip


class Scope:
    """All the names of one case, and the reading of expressions over them. Errors gather in `errors`."""

    def __init__(self, document: Document, errors: list[InvalidCase], excused: set[str]) -> None:
        self.document = document
        self.errors = errors
        self.excused = excused
        self.defined: dict[str, Definition] = {}

    def refuse(self, message: str, place: Place, hint: str = "") -> None:
        self.errors.append(InvalidCase(message, place=place, hint=hint))

    # Definitions ---------------------------------------------------------------------------------

    def define(self, section: str, names: Iterable[str]) -> None:
        """Enter the names of a section. One that is taken already keeps its first meaning."""
        for name in names:
            place = self.document.key_place((section, name))
            if not is_usable(name):
                self.excused.add(name)
                self.refuse(f"no expression can use the name '{name}'", place, _better_name(name))
                continue
            first = self.defined.setdefault(name, Definition(section, place))
            if first.section != section:
                where = f"it is {KINDS[first.section]} on line {first.place.line} already"
                self.refuse(f"the name '{name}' is defined twice", place, where)

    def of(self, *sections: str) -> list[str]:
        return [name for name, definition in self.defined.items() if definition.section in sections]

    # References ----------------------------------------------------------------------------------

    def refers(self, text: str, sections: tuple[str, ...], place: Place, what: str) -> bool:
        """Whether `text` is a name of one of these sections, or a part such as `m[0]` of one; if not, an error."""
        part = _PART.fullmatch(text)
        name = part[1] if part else text
        found = self.defined.get(name)
        if found is not None and found.section in sections and not (part and found.section != "graph"):
            return True
        if found is None and (name in self.excused):
            return False
        known = self.of(*sections)
        if found is None:
            self.refuse(f"{what} '{text}' is unknown", place, did_you_mean(text, known, _listing(known)))
        else:
            self.refuse(f"{what} '{text}' is {KINDS[found.section]}", place, _listing(known))
        return False

    def expression(
        self,
        path: Path,
        data: Any,
        scope: Names,
        *,
        gradients: bool = False,
        random: bool = False,
    ) -> Claim | None:
        """Read the expression at `path`, which may use the names in `scope`; None, with an error, if it is wrong."""
        if data is BROKEN:
            return None
        text = _as_text(data)
        if text is None:
            what = "has no value" if data is None else f"takes an expression, not {describe(data)}"
            hint = "an expression that begins with [ or { needs quotes" if isinstance(data, (list, dict)) else ""
            place = self.document.key_place(path) if data is None else self.document.place(path)
            self.refuse(f"{dotted(path)} {what}", place, hint)
            return None
        place = self.document.text_place(path)
        try:
            expr = parse(text, place)
        except InvalidCase as error:
            offset = error.place.column - place.column
            self.refuse(error.message, self.document.locate(path, text, offset), error.hint)
            return None
        good = True
        for node in walk(expr):
            if isinstance(node, Name):
                good &= node.name in scope or self._resolves(node, path, text, scope)
            elif isinstance(node, Gradient):
                good &= self._gradient(node, path, text, allowed=gradients)
            elif isinstance(node, Call) and node.op in RANDOM and not random:
                good = False
                self._refuse_random(node, path, text)
        return Claim(text, expr, place) if good else None

    def _refuse_random(self, node: Call, path: Path, text: str) -> None:
        hint = "draw it under `inputs` or `constants`, so that every engine gets the same numbers"
        self.refuse(f"'{node.op}' draws random numbers", self.document.locate(path, text, node.at), hint)

    def _resolves(self, node: Name, path: Path, text: str, scope: Names) -> bool:
        """Whether a name that is not in scope is a word of the language; if not, an error that explains it."""
        name = node.name
        found = self.defined.get(name)
        if found is None and constant(name) is not None:
            return True
        if found is None and name in self.excused:
            return False
        place = self.document.locate(path, text, node.at)
        if found is None:
            hint = did_you_mean(name, scope, _listing(list(scope)))
            self.refuse(f"the name '{name}' is unknown", place, hint)
        elif found.section == path[0] and name == path[1]:
            self.refuse(
                f"'{name}' is used in its own definition",
                place,
                "a graph has no cycles: give the result a name of its own",
            )
        elif found.section in (path[0], "inputs", "constants") and path[0] in _ORDERED:
            self.refuse(
                f"'{name}' is defined below, on line {found.place.line}",
                place,
                "a line may use the names above it: move it up",
            )
        else:
            self.refuse(f"'{name}' is {KINDS[found.section]}, which cannot be used here", place, _listing(list(scope)))
        return False

    def _gradient(self, node: Gradient, path: Path, text: str, allowed: bool) -> bool:
        place = self.document.locate(path, text, node.at)
        if not allowed:
            hint = "grad(…) stands in `formulas`, `wrong_formulas`, `let` and `checks`"
            self.refuse(f"grad({node.name}) is not known before the backward pass", place, hint)
            return False
        return self.refers(node.name, ("inputs", "graph"), place, "the tensor of grad,")


#: Sections whose entries may use those above them.
_ORDERED = frozenset({"inputs", "constants", "graph", "let"})


def _as_text(data: Any) -> str | None:
    """The expression that a scalar stands for: YAML takes `1` and `true` for more than text."""
    if type(data) is str:
        return data
    return str(data) if isinstance(data, (bool, int, float)) else None


def _listing(names: list[str]) -> str:
    if not names:
        return ""
    return f"known here: {', '.join(names[:12])}{', …' if len(names) > 12 else ''}"


def _better_name(name: str) -> str:
    """Why a name is bad, and a better one."""
    if iskeyword(name):
        return f"it is a word of Python's; try '{name}_'"
    normal = unicodedata.normalize("NFKC", name)
    if normal != name and is_usable(normal):
        return f"write '{normal}', which looks alike and is what an expression reads"
    if set(name) & set("()[]{}"):
        return "in YAML's flow style a comma ends an entry, so expressions there need quotes"
    better = re.sub(r"\W+", "_", normal).strip("_")
    better = f"_{better}" if better[:1].isdigit() else better
    return f"try '{better}'" if better and is_usable(better) else "a name is letters, digits and _"
