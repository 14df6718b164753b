"""Every single change to the source of the ops, by its place in the text; what may be changed how is `operators.py`."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.mutation.operators import Alternative, Surroundings, alternatives

ROOT = Path(__file__).parents[2]
OPS = ROOT / "gradcheck" / "autograd" / "ops"

#: What an entry says of itself, for people and for tests alone; that two things are as long, which is an assertion; and
#: whether an array of the right dtype is copied once more, which no result tells.
_SAID = frozenset(("name", "aliases", "samples", "doc", "domain", "kinks", "torch", "strict", "copy"))


@dataclass(frozen=True)
class Change:
    """One change: in which file, in which statement of it (by its lines), which node, and which of the things
    that may become of it.

    `title` stays the same as long as the statement does: its name, the line that is changed, and the change.
    """

    file: str
    lines: tuple[int, int]
    node: int
    which: int
    title: str


@cache
def changes() -> tuple[Change, ...]:
    """All of them, in the order of files and lines."""
    return tuple(change for path in sorted(OPS.rglob("*.py")) for change in changes_of(path))


def changes_of(path: Path) -> Iterator[Change]:
    """Those of one file."""
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    said, around = _named_in_what_is_said(tree), Surroundings(tree)
    known: Counter[str] = Counter()
    places = {id(node): number for number, node in enumerate(ast.walk(tree))}
    file = path.relative_to(ROOT).as_posix()
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and said.issuperset(ast.unparse(target) for target in statement.targets):
            continue
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        for node in _within(statement):
            for which, (what, _) in enumerate(_alternatives(node, around)):
                line = lines[getattr(node, "lineno", first) - 1].strip()
                title = f"{path.relative_to(OPS).as_posix()}: {line}: {what}"
                known[title] += 1
                again = f" ({known[title]})" if known[title] > 1 else ""
                yield Change(file, (first, statement.end_lineno or first), places[id(node)], which, title + again)


def _named_in_what_is_said(tree: ast.Module) -> set[str]:
    """Names that stand for nothing but what entries say of themselves, as `_TWO` for a domain."""
    keywords = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in _SAID]
    said = {id(node) for value in keywords for node in ast.walk(value)}
    loads = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return {node.id for node in loads} - {node.id for node in loads if id(node) not in said}


def _within(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes below that are computed with: no annotations, no texts, nothing that an entry only says of itself, and
    no numbers in sentences."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)) or _is_text(statement):
        return
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.Raise) or _is_text(node) or _is_sentence(node):
            continue
        below = list(ast.iter_child_nodes(node))
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            below = [child for child in below if child is not node.annotation]
        if isinstance(node, ast.FunctionDef):
            below = [child for child in below if child is not node.returns]
        stack += [c for c in reversed(below) if not (isinstance(c, ast.keyword) and c.arg in _SAID)]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_sentence(node: ast.AST) -> bool:
    parts = node.values if isinstance(node, ast.JoinedStr) else []
    return any(isinstance(part, ast.Constant) and " " in str(part.value) for part in parts)


def _left_out(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The call without each of the keywords that do more than say something."""
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg is not None and keyword.arg not in _SAID:
                others = [other for other in node.keywords if other is not keyword]
                yield f"{keyword.arg}= is left out", ast.Call(node.func, node.args, others)


def _alternatives(node: ast.AST, around: Surroundings) -> list[Alternative]:
    return [*alternatives(node, around), *_left_out(node)]


def changed(change: Change) -> ast.Module:
    """The file's tree with this change in it."""
    tree = ast.parse((ROOT / change.file).read_text(encoding="utf-8"))
    node = next(found for number, found in enumerate(ast.walk(tree)) if number == change.node)
    _, other = _alternatives(node, Surroundings(tree))[change.which]
    _Instead(node, other).visit(tree)
    return ast.fix_missing_locations(tree)


class _Instead(ast.NodeTransformer):
    """Puts one node in the place of another, at its place in the text."""

    def __init__(self, node: ast.AST, other: ast.AST) -> None:
        self._node, self._other = node, other

    def visit(self, node: ast.AST) -> ast.AST:
        if node is self._node:
            return ast.copy_location(self._other, node) if not hasattr(self._other, "lineno") else self._other
        return self.generic_visit(node)
