"""The names of a case: who may be called what, who may use whom, and the expressions that do."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from itertools import islice
from keyword import iskeyword
from typing import Any, NamedTuple, TypeAlias

from gradcheck.autograd.op import TABLE, lookup
from gradcheck.errors import InvalidCase, Place, TensorError, TooLarge
from gradcheck.language.case import Claim
from gradcheck.language.evaluation import budget
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.mentions import free_names
from gradcheck.language.expr.nodes import Call, Expr, Gradient, Name
from gradcheck.language.expr.notation import constant, is_usable
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import walk
from gradcheck.language.loader.limits import Limits
from gradcheck.language.loader.tree import BROKEN, Document, Path
from gradcheck.language.loader.validate import describe, dotted, shorten
from gradcheck.language.random import RANDOM
from gradcheck.language.suggest import did_you_mean

#: YAML's words, as expressions have them.
_WRITTEN = {"true": "True", "false": "False", "null": "None"}
#: Hints cost more than errors: how many errors get one, and how many names are looked at for it.
_MOST_HINTS, _MOST_COMPARED = 50, 500
#: The names that an expression may use.
Names: TypeAlias = Collection[str]

_PART = re.compile(r"(\w+)\[\d{1,4}\]")


#: What a name of each section is, in words.
KINDS = {"dims": "a size", "shapes": "a size", "inputs": "an input", "constants": "a constant",
         "graph": "a tensor of the graph", "let": "an intermediate step"}  # fmt: skip


class Scope:
    """All the names of one case, and the reading of expressions over them. Errors gather in `errors`."""

    def __init__(
        self,
        document: Document,
        errors: list[InvalidCase],
        excused: set[str],
        sizes: Mapping[str, int],
        limits: Limits,
    ) -> None:
        self.document = document
        self.errors = errors
        self.excused = excused
        self.sizes = sizes  # those of `dims`
        self.limits = limits
        self.defined: dict[str, str] = {}  # every name, and the section that defines it

    def refuse(self, message: str, place: Place, hint: str = "") -> None:
        self.errors.append(InvalidCase(message, place=place, hint=hint))

    def near(self, name: str, known: Collection[str]) -> str:
        """What was meant by a name that is unknown, or what there is. Of very many errors, only the first say so."""
        if len(self.errors) >= _MOST_HINTS:
            return ""
        if name in _WRITTEN:
            return f"write {_WRITTEN[name]}"
        known = list(islice(known, _MOST_COMPARED))
        return did_you_mean(name, known, _listing(known))

    # Definitions ---------------------------------------------------------------------------------

    def define(self, section: str, names: Iterable[str]) -> None:
        """Enter the names of a section. One that is taken already keeps its first meaning."""
        for name in names:
            if not is_usable(name):
                self.excused.add(name)
                place = self.document.key_place((section, name))
                self.refuse(f"no expression can use the name '{shorten(name, 40)}'", place, _better_name(name))
                continue
            first = self.defined.setdefault(name, section)
            if first != section:
                where = f"it is {KINDS[first]} on line {self.line(name)} already"
                self.refuse(f"the name '{name}' is defined twice", self.document.key_place((section, name)), where)

    def line(self, name: str) -> int:
        """The line on which a name is defined."""
        return self.document.key_place((self.defined[name], name)).line

    def of(self, *sections: str) -> list[str]:
        return [name for name, section in self.defined.items() if section in sections]

    # References ----------------------------------------------------------------------------------

    def refers(
        self, path: Path, sections: Collection[str], what: str, name: str = "", place: Place | None = None
    ) -> bool:
        """Whether a name belongs to one of these sections, or is a part such as `m[0]` of one; if not, an error.

        The name is the key that ends `path`, or else `name`, which stands at `path` or at `place`.
        """
        name = name or str(path[-1])
        section = self.defined.get(name)
        if section in sections:
            return True
        part = _PART.fullmatch(name)
        if part and self.defined.get(part[1]) == "graph" and "graph" in sections:
            return True
        if name in self.excused or (part and part[1] in self.excused):
            return False
        known = self.of(*sections)
        place = place or self.document.key_place(path)
        if section is None:
            self.refuse(f"{what} '{shorten(name, 40)}' is unknown", place, self.near(name, known))
        else:
            wanted = " or ".join(KINDS[section] for section in sections)
            self.refuse(f"'{name}' is {KINDS[section]}, where {wanted} is wanted", place, _listing(known[:20]))
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
            hint = "write one, such as x * 2" if data is None else "an expression that begins with [ or { needs quotes"
            place = self.document.key_place(path) if data is None else self.document.place(path)
            self.refuse(f"{dotted(path)} {what}", place, hint)
            return None
        place = self.document.text_place(path)
        try:
            read = _read(text)
        except InvalidCase as error:
            self.refuse(error.message, self.document.locate(path, text, error.place.column - 1), error.hint)
            return None
        good = True
        for name, at in read.names.items():
            good &= name in scope or self._resolves(name, at, path, text, scope)
        for name, at in read.gradients.items():
            good &= self._gradient(name, at, path, text, gradients)
        for name, at in read.draws.items() if not random else ():
            good = False
            hint = "draw it under `inputs` or `constants`, so that every engine gets the same numbers"
            self.refuse(f"'{name}' draws random numbers", self.document.locate(path, text, at), hint)
        for call in read.sized:
            good &= self._is_affordable(call, path, text)
        return Claim(text, read.expr, place) if good else None

    def _is_affordable(self, call: Call, path: Path, text: str) -> bool:
        """Whether a creator whose sizes are known already stays within the element budget; if not, an error."""
        op = lookup(call.op)
        if op is None or not all(name in self.sizes for part in call.children for name in free_names(part)):
            return True
        try:
            args = tuple(evaluate(part, self.sizes) for part in call.args)
            budget.check(op, args, {key: evaluate(part, self.sizes) for key, part in call.kwargs}, self.limits.elements)
        except TooLarge as error:
            self.refuse(error.message, self.document.locate(path, text, call.at), error.hint)
            return False
        except (TensorError, InvalidCase):
            return True  # it is told, with all that is then known, when the value is drawn
        return True

    def _resolves(self, name: str, at: int, path: Path, text: str, scope: Names) -> bool:
        """Whether a name that is not in scope is a word of the language; if not, an error that explains it."""
        section = self.defined.get(name)
        if section is None and (constant(name) is not None or name in self.excused):
            return True
        place = self.document.locate(path, text, at)
        if section is None:
            self.refuse(f"the name '{name}' is unknown", place, self.near(name, self._visible(scope)))
        elif path == (section, name):
            hint = "a graph has no cycles; give the result a name of its own"
            self.refuse(f"'{name}' is used in its own definition", place, hint)
        elif path[0] in _ORDERED and section in (path[0], "inputs", "constants"):
            hint = self._cycle(str(path[1]), name) or "a line may use the names above it; move it up"
            self.refuse(f"'{name}' is defined below, on line {self.line(name)}", place, hint)
        else:
            hint = _listing(self._visible(scope))
            self.refuse(f"'{name}' is {KINDS[section]}, which is not known here", place, hint)
        return False

    def _visible(self, scope: Names) -> list[str]:
        """The first names of a scope, as the file orders them."""
        return list(islice((name for name in self.defined if name in scope), _MOST_COMPARED))

    def _cycle(self, user: str, used: str) -> str:
        """How `used` comes to depend on its user in turn, if it does."""
        if len(self.errors) >= _MOST_HINTS:
            return ""
        entries = self.document.data[self.defined[used]]
        seen, todo = {used}, [used]
        while todo and len(seen) < _MOST_COMPARED:
            try:
                names = _read(str(entries.get(todo.pop()))).names
            except InvalidCase:
                continue
            if user in names:
                return f"it depends on '{user}' in turn, and a graph has no cycles"
            below = [name for name in names if name in entries and name not in seen]
            seen.update(below)
            todo += below
        return ""

    def _gradient(self, name: str, at: int, path: Path, text: str, allowed: bool) -> bool:
        sections = ("inputs", "graph")
        if allowed and self.defined.get(name) in sections:
            return True
        place = self.document.locate(path, text, at)
        if allowed:
            return self.refers(path, sections, "the tensor of grad,", name, place)
        hint = "grad(…) stands in `formulas`, `wrong_formulas`, `let` and `checks`"
        self.refuse(f"grad({name}) is not known before the backward pass", place, hint)
        return False


class Read(NamedTuple):
    """An expression and what it mentions, each with the column where it stands first."""

    expr: Expr
    names: dict[str, int]
    gradients: dict[str, int]
    draws: dict[str, int]
    sized: list[Call]


@lru_cache(maxsize=4096)
def _read(text: str) -> Read:
    """An expression by its text: cases of one suite say the same things over and over."""
    expr = parse(text, Place(column=1))
    read = Read(expr, {}, {}, {}, [])
    for node in walk(expr):
        if isinstance(node, Name):
            read.names.setdefault(node.name, node.at)
        elif isinstance(node, Gradient):
            read.gradients.setdefault(node.name, node.at)
        elif isinstance(node, Call):
            if node.op in RANDOM:
                read.draws.setdefault(node.op, node.at)
            if node.op in _CREATORS:
                read.sized.append(node)
    return read


#: The ops that make a tensor of any size out of none.
_CREATORS = frozenset(name for name, op in TABLE.items() if op.elements is not None and not op.method)


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
