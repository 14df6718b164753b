"""Every single change to the source of the ops: an operator for another, a comparison for another, a constant."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPS = ROOT / "gradcheck" / "autograd" / "ops"

_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
#: What an entry says of itself, for people and for tests alone; that two things are as long, which is an assertion; and
#: whether an array of the right dtype is copied once more, which no result tells.
_SAID = frozenset(("name", "aliases", "samples", "doc", "domain", "kinks", "torch", "strict", "copy"))


@dataclass(frozen=True)
class Change:
    """One change: in which file, in which statement of it (by its lines), which node, and what it is for what.

    `title` stays the same as long as the statement does: its name, the line that is changed, and the change.
    """

    file: str
    lines: tuple[int, int]
    node: int
    title: str


@cache
def changes() -> tuple[Change, ...]:
    """All of them, in the order of files and lines."""
    return tuple(change for path in sorted(OPS.rglob("*.py")) for change in changes_of(path))


def changes_of(path: Path) -> Iterator[Change]:
    """Those of one file."""
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    said = _named_in_what_is_said(tree)
    known: Counter[str] = Counter()
    places = {id(node): number for number, node in enumerate(ast.walk(tree))}
    file = path.relative_to(ROOT).as_posix()
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and said.issuperset(ast.unparse(target) for target in statement.targets):
            continue
        first = min([statement.lineno, *(d.lineno for d in getattr(statement, "decorator_list", ()))])
        for node in _within(statement):
            for what in _described(node):
                line = lines[getattr(node, "lineno", first) - 1].strip()
                title = f"{path.relative_to(OPS).as_posix()}: {line}: {what}"
                known[title] += 1
                again = f" ({known[title]})" if known[title] > 1 else ""
                yield Change(file, (first, statement.end_lineno or first), places[id(node)], title + again)


def _named_in_what_is_said(tree: ast.Module) -> set[str]:
    """Names that stand for nothing but what entries say of themselves, as `_TWO` for a domain."""
    keywords = [node.value for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg in _SAID]
    said = {id(node) for value in keywords for node in ast.walk(value)}
    loads = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return {node.id for node in loads} - {node.id for node in loads if id(node) not in said}


def _within(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes below that are computed with: no annotations, no texts, nothing that an entry only says of itself."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)) or _is_text(statement):
        return
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, ast.Raise) or _is_text(node):
            continue
        below = list(ast.iter_child_nodes(node))
        if isinstance(node, (ast.arg, ast.AnnAssign)):
            below = [child for child in below if child is not node.annotation]
        if isinstance(node, ast.FunctionDef):
            below = [child for child in below if child is not node.returns]
        stack += [c for c in reversed(below) if not (isinstance(c, ast.keyword) and c.arg in _SAID)]


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _described(node: ast.AST) -> Iterator[str]:
    """The change of a node, in words; nothing for a node that has none."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATORS:
        yield f"{type(node.op).__name__} becomes {_OPERATORS[type(node.op)].__name__}"
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        yield f"{type(node.ops[0]).__name__} becomes {_COMPARISONS[type(node.ops[0])].__name__}"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield f"{type(node.op).__name__} is left out"
    elif isinstance(node, ast.BoolOp):
        yield "and becomes or" if isinstance(node.op, ast.And) else "or becomes and"
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield f"{node.value!r} becomes {_other(node.value)!r}"


def _other(value: float) -> float:
    """Another constant."""
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int) else value * 2 or 1.0


def changed(change: Change) -> ast.Module:
    """The file's tree with this change in it."""
    tree = ast.parse((ROOT / change.file).read_text(encoding="utf-8"))
    node = next(found for number, found in enumerate(ast.walk(tree)) if number == change.node)
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        node.op = _OPERATORS[type(node.op)]()
    elif isinstance(node, ast.Compare):
        node.ops[0] = _COMPARISONS[type(node.ops[0])]()
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.Constant):
        node.value = _other(node.value)  # type: ignore[arg-type]
    elif isinstance(node, ast.UnaryOp):
        tree = _Without(node).visit(tree)
    return ast.fix_missing_locations(tree)


class _Without(ast.NodeTransformer):
    """Leaves a sign, or a `not`, out."""

    def __init__(self, unary: ast.UnaryOp) -> None:
        self._unary = unary

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return node.operand if node is self._unary else node
