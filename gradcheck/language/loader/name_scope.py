"""The names of a case: their sections, their use, hints for unknown ones."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from keyword import iskeyword

from gradcheck.errors import Hint, InvalidCase, Place
from gradcheck.language.expr.torch_names import is_usable
from gradcheck.language.loader.yaml_document import Document, Path, shorten
from gradcheck.language.suggest import did_you_mean

#: Names of each section, in words.
SECTION_KINDS = {
    "dims": "a size",
    "shapes": "a size",
    "inputs": "an input",
    "constants": "a constant",
    "graph": "a tensor of the graph",
    "let": "an intermediate step",
}
#: Hints cost more than errors: the most errors with a hint, and the most names compared for one.
MOST_HINTS, MOST_COMPARED = 50, 500
#: The most errors of a case; each searches the file's text for its place.
MOST_ERRORS = 1000
#: YAML's words, as expressions spell them.
_WRITTEN = {"true": "True", "false": "False", "null": "None", "yes": "True", "no": "False", "nil": "None"}
#: Example sizes in hints.
_SIZES = (4, 3, 5, 2, 6, 7, 8, 9)
#: Common names for the gradient of Z: dZ, d_Z, grad_Z, Z_grad, gZ, dL_dZ, deltaZ.
_OF_TENSOR = re.compile(r"(?:dL_d|dloss_d|d_|d|grad_|grad|g_|delta_|delta)(\w+)|(\w+?)_?(?:grad|bar)")
_PART = re.compile(r"(\w+)\[\d{1,4}\]")


class TooManyErrors(Exception):
    """Ends the reading of a case that has `MOST_ERRORS` errors."""


@dataclass(slots=True)
class NameScope:
    """All names of one case; mistakes in their use become `errors`.

    Raises TooManyErrors at `MOST_ERRORS` of them.
    """

    document: Document
    errors: list[InvalidCase]
    possibly_defined: set[
        str
    ]  # names that an error may have kept from being defined: that they are unknown is no error
    sizes: Mapping[str, int]  # the sizes in `dims`
    defined: dict[str, str] = field(default_factory=dict)  # each name's section
    reported_unknown: set[str] = field(default_factory=set)  # names already reported as unknown
    _missing_sizes_error: InvalidCase | None = None
    missing: dict[str, Place] = field(default_factory=dict)  # undefined sizes, and the place of their first use

    def add_error(self, message: str, at: Place | Path, hint: str = "", *, key: bool = False) -> None:
        """Add an error at a place, or at the value (`key`: the key) of a path."""
        if not isinstance(at, Place):
            at = self.document.key_place(at) if key else self.document.place(at)
        self.append_error(InvalidCase(message, place=at, hint=hint))

    def append_error(self, error: InvalidCase) -> None:
        """Add an error that has its place."""
        self.errors.append(error)
        if len(self.errors) >= MOST_ERRORS:
            raise TooManyErrors

    def define(self, section: str, names: Iterable[str]) -> None:
        """Add the names of a section; a name that is taken keeps its section."""
        for name in names:
            if not is_usable(name):
                self.possibly_defined.update((name, name.partition(":")[0]))
                message = f"no expression can use the name '{shorten(name, 40)}'"
                self.add_error(message, (section, name), _better_name(name), key=True)
                continue
            first = self.defined.setdefault(name, section)
            if first != section:
                where = f"it is {SECTION_KINDS[first]} on line {self.line(name)} already"
                self.add_error(f"the name '{name}' is defined twice", (section, name), where, key=True)

    def line(self, name: str) -> int:
        return self.document.key_place((self.defined[name], name)).line

    def check_reference(
        self, path: Path, sections: Collection[str], what: str, name: str = "", place: Place | None = None
    ) -> bool:
        """Return whether a name belongs to these sections; report it if not.

        The name is the key that ends `path`, or else `name`, which stands at `path` or at `place`. A part such as
        `m[0]` counts as its entry.
        """
        name = name or str(path[-1])
        section = self.defined.get(name)
        if section in sections:
            return True
        part = _PART.fullmatch(name)
        if part and self.defined.get(part[1]) == "graph" and "graph" in sections:
            return True
        if name in self.possibly_defined or (part and part[1] in self.possibly_defined):
            return False
        known = [name for name, section in self.defined.items() if section in sections]
        at = place or path
        if section is None:
            self.add_error(f"{what} '{shorten(name, 40)}' is unknown", at, self.suggestion(name, known), key=True)
        else:
            wanted = " or ".join(SECTION_KINDS[section] for section in sections)
            hint = known_names_hint(known[:20])
            if section == "constants" and "inputs" in sections:
                hint = "constants get no gradient: define it under `inputs`"
            self.add_error(f"'{name}' is {SECTION_KINDS[section]}, where {wanted} is wanted", at, hint, key=True)
        return False

    def add_missing_size(self, name: str, place: Place) -> None:
        """Report an undefined size; all of them share one error."""
        self.missing.setdefault(name, place)
        if len(self.missing) > len(_SIZES):
            return
        names = list(self.missing)
        entries = ", ".join(f"{name}: {size}" for name, size in zip(names, _SIZES, strict=False))
        many = len(names) > 1
        listed = f"{', '.join(names[:-1])} and {names[-1]}" if many else f"'{names[0]}'"
        message = f"the size{'s' if many else ''} {listed} {'are' if many else 'is'} unknown"
        hint = f"sizes go under dims: {entries}" if self.sizes else f"sizes go under dims, as in dims: {{{entries}}}"
        if self._missing_sizes_error is None:
            self._missing_sizes_error = InvalidCase(message, place=place)
            self.append_error(self._missing_sizes_error)
        self._missing_sizes_error.message, self._missing_sizes_error.hint = message, hint

    def suggestion(self, name: str, known: Collection[str]) -> str:
        """Return a hint for an unknown name; "" after many errors."""
        if len(self.errors) >= MOST_HINTS:
            return ""
        if name in _WRITTEN:
            return Hint(f"write {_WRITTEN[name]}", name, _WRITTEN[name])
        known = list(islice(known, MOST_COMPARED))
        tensor = tensor_of_gradient_name(name, known) or _tensor_of_gradient_text(name, known)
        if tensor:
            return Hint(f"it stands under the tensor's own name: {tensor}", name, tensor)
        called = re.fullmatch(r"(\w+)\.backward\(.*\)", name)
        if called and called[1] in known:
            return Hint(f"write {called[1]}: the pass is run from it", name, called[1])
        if set(name) & set("(.+*@ "):
            return f"it is an expression: give it a name in `graph`, such as 'loss: {shorten(name, 40)}'"
        return did_you_mean(name, known, known_names_hint(known))


def tensor_of_gradient_name(name: str, tensors: Collection[str]) -> str:
    """Return the tensor whose gradient a name such as `dZ` means, or ""."""
    found = _OF_TENSOR.fullmatch(name)
    tensor = (found[1] or found[2]) if found else ""
    return tensor if tensor in tensors else ""


def _tensor_of_gradient_text(name: str, tensors: Collection[str]) -> str:
    """Return the tensor of `grad(x)`, `x.grad` or `dL/dx` as a name, or ""."""
    found = re.fullmatch(r"grad\((\w+)\)|(\w+)\.grad|[d∂]\w*\s*/\s*[d∂](\w+)", name)
    tensor = (found[1] or found[2] or found[3]) if found else ""
    return tensor if tensor in tensors else ""


def known_names_hint(names: list[str]) -> str:
    """Return a hint that lists the first known names."""
    if not names:
        return ""
    return f"known here: {', '.join(names[:12])}{', …' if len(names) > 12 else ''}"


def _better_name(name: str) -> str:
    if iskeyword(name):
        return f"it is a word of Python's; try '{name}_'"
    normal = unicodedata.normalize("NFKC", name)
    if normal != name and is_usable(normal):
        return f"write '{normal}', which looks alike and is what an expression reads"
    if found := re.match(r"(\w+):(?=\S)(.*)", name):
        return Hint(f"a space after the colon: {found[1]}: {shorten(found[2], 24)}", f"{found[1]}:", f"{found[1]}: ")
    if set(name) & set("()[]{}"):
        return "in YAML's flow style a comma ends an entry, so expressions there need quotes"
    better = re.sub(r"\W+", "_", normal).strip("_")
    better = f"_{better}" if better[:1].isdigit() else better
    return Hint(f"try '{better}'", name, better) if better and is_usable(better) else "a name is letters, digits and _"
