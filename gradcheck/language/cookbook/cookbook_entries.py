"""Entries of the cookbook, and the lookup of an expression.

`python -m benchmarks.cookbook` writes `entries.json` from `cases/cookbook/`, one entry a line. This module reads no
case files, so it works where only the package is installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import permutations, product
from math import factorial, prod
from pathlib import Path
from typing import Any, NamedTuple

from gradcheck.language.cookbook.normal_form_rules import Ranks, Tree, normal_form
from gradcheck.language.expr.nodes import Expr, Gradient, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import free_names, gradient_names, ops_in, rewrite, substitute

#: A matrix in a sentence: a capital letter alone, which is no article at its beginning.
_MATRIX = re.compile(r"(?<![\w'])(?:[B-Z]|(?<!^)(?<!\. )A)(?![\w'])")
INDEX = Path(__file__).parent / "entries.json"
_MAX_NODES = 400
#: The most parts of an expression with a key, and the most orders of its names that are tried.
MOST_PARTS, MOST_ORDERS = 400, 720


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong formula, and the reason."""

    tensor: str
    formula: str
    why: str = ""
    counterexample: str = ""  # to a published formula


@dataclass(frozen=True, slots=True)
class Entry:
    """A case of the cookbook: a graph, its gradients, and common mistakes.

    `incoming` are roots with an incoming gradient, `proved` the tensors whose formulas are all proved, `keys` the keys
    of the graph, each with its names in order.
    """

    name: str
    theme: str
    description: str
    source: str
    shapes: Mapping[str, str]
    inputs: Sequence[str]
    graph: Mapping[str, str]
    incoming: Sequence[str]
    formulas: Mapping[str, Sequence[str]]
    let: Mapping[str, str] = field(default_factory=dict)
    wrong: Sequence[Mistake] = ()
    proved: Sequence[str] = ()
    keys: Sequence[ExpressionKey] = ()

    @property
    def id(self) -> str:
        """The id of the case in a checkout."""
        return f"cases/cookbook/{self.theme}.yaml::{self.name}"

    def with_names(self, names: Mapping[str, str]) -> Entry:
        """Return the entry with these names; clashing names get new ones."""
        return _renamed(self, {**_fresh_names(self, set(names.values())), **names})


@cache
def entries(text: str | None = None) -> tuple[Entry, ...]:
    """Return all entries in the order of the files."""
    return tuple(map(_entry, json.loads(INDEX.read_text(encoding="utf-8") if text is None else text)))


def _entry(data: Mapping[str, Any]) -> Entry:
    wrong = tuple(Mistake(*one) for one in data.get("wrong", ()))
    keys = tuple(ExpressionKey(text, tuple(names)) for text, names in data.get("keys", ()))
    return Entry(**{**data, "wrong": wrong, "keys": keys})


def find_instances(expr: Expr) -> list[tuple[Entry, Mapping[str, str]]]:
    """Return the entries of an expression, with its names for their tensors.

    First come those whose ranks match the names' convention, and those with more gradients.
    """
    asked = {key.text: key.names for key in _keys(expr, conventional_ranks(expr))}
    found: list[tuple[Entry, Mapping[str, str]]] = []
    for entry in entries():
        for key in entry.keys:
            if key.text in asked:
                found.append((entry, dict(zip(key.names, asked[key.text], strict=True))))
                break
    return sorted(found, key=lambda pair: (_count_unusual_ranks(*pair), -len(pair[0].formulas)))


def _count_unusual_ranks(entry: Entry, names: Mapping[str, str]) -> int:
    matrices = {name: entry.shapes[name].count(",") == 1 for name in names if name in entry.shapes}
    return sum(names[name][:1].isupper() != is_matrix for name, is_matrix in matrices.items())


def search_by_words(words: str) -> list[Entry]:
    """Return the entries with all these words, those in the name first."""
    asked = words.lower().split()

    def has(text: str) -> bool:
        return all(word in text.lower() for word in asked)

    found = [one for one in entries() if has(f"{one.name} {one.theme} {one.source}")]
    return sorted(found, key=lambda one: (not has(one.name), len(one.name) if has(one.name) else 0))


def similar_entries(expr: Expr, most: int = 3) -> list[Entry]:
    """Return entries with nearly the same ops."""
    asked = set(ops_in(expr))

    def likeness(entry: Entry) -> float:
        have = {op for text in entry.graph.values() for op in ops_in(parse(text))}
        return len(asked & have) / max(1, len(asked | have))

    scored = sorted(((likeness(one), one) for one in entries()), key=lambda pair: -pair[0])
    return [one for score, one in scored[:most] if score > 0.5]


def keys_of(
    graph: Mapping[str, Expr], spellings: Sequence[Expr], ranks: Mapping[str, int], leaves: Container[str] = ()
) -> list[ExpressionKey]:
    """Return the keys of some spellings of a graph's root.

    Ranks that are not given follow from names. Entries among `leaves` are also taken as tensors.
    """
    found: list[ExpressionKey] = []
    for kept in ((), leaves):
        written: dict[str, Expr] = {}
        for name, expr in graph.items():
            if name not in kept:
                written[name] = substitute(expr, written)
                if sum(1 for _ in written[name].walk()) > _MAX_NODES:
                    return found
        found += [key for one in spellings for key in _keys(substitute(one, written), ranks)]
    return list(dict.fromkeys(found))


def _keys(expr: Expr, ranks: Mapping[str, int]) -> Iterator[ExpressionKey]:
    found = (key_of(expr, known) for known in (ranks, conventional_ranks(expr), {}))
    yield from dict.fromkeys(key for key in found if key is not None)


def _fresh_names(entry: Entry, taken: set[str]) -> dict[str, str]:
    own = [*entry.shapes, *entry.graph, *entry.let]
    used, found = {*taken, *own}, dict[str, str]()
    for name in own:
        if name in taken:
            found[name] = next(new for i in range(1, 99) if (new := f"{name}{i}") not in used)
            used.add(found[name])
    return found


def _renamed(entry: Entry, names: Mapping[str, str]) -> Entry:
    def text(one: str) -> str:
        return to_text(_rename_in(parse(one), names))

    def words(one: str) -> str:
        return _MATRIX.sub(lambda found: names.get(found[0], found[0]), one)

    def keyed(texts: Mapping[str, str]) -> dict[str, str]:
        return {names.get(name, name): text(one) for name, one in texts.items()}

    return Entry(
        entry.name,
        entry.theme,
        words(entry.description),
        entry.source,
        {names.get(name, name): shape for name, shape in entry.shapes.items()},
        [names.get(name, name) for name in entry.inputs],
        keyed(entry.graph),
        [names.get(name, name) for name in entry.incoming],
        {names.get(name, name): [text(one) for one in listed] for name, listed in entry.formulas.items()},
        keyed(entry.let),
        [Mistake(names.get(m.tensor, m.tensor), text(m.formula), words(m.why)) for m in entry.wrong],
        [names.get(name, name) for name in entry.proved],
    )


def _rename_in(expr: Expr, names: Mapping[str, str]) -> Expr:
    if not any(name in names for name in (*free_names(expr), *gradient_names(expr))):
        return expr

    def change(node: Expr) -> Expr:
        if isinstance(node, (Name, Gradient)) and node.name in names:
            return type(node)(names[node.name])
        return node

    return rewrite(expr, change)


class ExpressionKey(NamedTuple):
    """The key of all spellings of an expression, and its names in its order.

    Spellings differ in names, in the order of commuting parts, in transposes, and in the first factor of a trace. Two
    expressions with one key are the same function of tensors of the assumed ranks. Two spellings of one function may
    still have two keys."""

    text: str
    names: tuple[str, ...]


def key_of(expr: Expr, ranks: Ranks) -> ExpressionKey | None:
    """Return the key of an expression with these ranks, None if too long."""
    if sum(1 for _ in expr.walk()) > MOST_PARTS:
        return None
    tree = normal_form(expr, ranks)
    return min(
        ExpressionKey(_key_text(tree, {n: str(i) for i, n in enumerate(names)}), names) for names in _orders(tree, expr)
    )


def conventional_ranks(expr: Expr) -> Ranks:
    """Return conventional ranks: 2 for capital letters, 1 for others."""
    return {name: 2 if name[:1].isupper() else 1 for name in free_names(expr)}


def _orders(tree: Tree, expr: Expr) -> Iterator[tuple[str, ...]]:
    """Yield the orders of names that may give the least text."""
    names = list(free_names(expr))
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_key_text(tree, {n: "*" if n == name else "_" for n in names}), []).append(name)
    groups = [alike[place] for place in sorted(alike)]
    if prod(factorial(len(group)) for group in groups) > MOST_ORDERS:
        yield tuple(name for group in groups for name in group)
        return
    for chosen in product(*(permutations(group) for group in groups)):
        yield tuple(name for group in chosen for name in group)


def _key_text(tree: Tree, names: Mapping[str, str]) -> str:
    """Return the least text of a normal form."""
    kind, *parts = tree
    if kind == "name":
        return names.get(str(parts[0]), str(parts[0]))
    written = [_key_text(part, names) if isinstance(part, tuple) else str(part) for part in parts]
    if kind in ("add", "mul"):
        return f"{kind}({','.join(sorted(written))})"
    if kind == "even":  # with either sign
        return f"pow({min(written[:2])},{written[2]})"
    if kind in ("trace", "scalar"):  # of a chain and of its transpose
        half = len(written) // 2
        ways = [written[:half], written[half:]]
        if kind == "trace":
            ways = [way[k:] + way[:k] for way in ways for k in range(half)]
        return f"{kind}({','.join(min(ways))})"
    return f"{kind}({','.join(written)})"
