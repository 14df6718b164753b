"""What a single change makes of a node: an operator, a constant or a name for another, a part left out, two exchanged.

`alternatives` says all that may become of one node, in words and as what stands in its place. They are what programmers
do by mistake, and more kinds than any one op has places for.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import copy
from itertools import chain, pairwise
from typing import TypeAlias, TypeVar

_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
#: Functions that are taken for each other.
_PAIRS = """
    max min, maximum minimum, fmax fmin, amax amin, argmax argmin, any all, floor ceil, sin cos, sinh cosh, zeros ones,
    zeros_like ones_like, sum prod, cumsum cumprod, real imag, triu tril, log log1p, exp expm1, sqrt square, ge gt,
    le lt, isnan isinf, round floor, add sub, mul div, mean sum, abs neg, sign abs, first last, rfft irfft
"""
_NAMES: dict[str, str] = {}
for _one, _other in (pair.split() for pair in _PAIRS.split(",")):
    _NAMES.setdefault(_one, _other)
    _NAMES.setdefault(_other, _one)
#: Calls whose arguments nobody exchanges without an error at once, and those to which any order of them is the same.
_ORDERED = frozenset(("isinstance", "hasattr", "getattr"))
_ALIKE = frozenset(
    ["max", "min", "maximum", "minimum", "fmax", "fmin", "one_dtype", "require_one_dtype", "floating_one_of", "equal"]
)

_Node = TypeVar("_Node", bound=ast.AST)
#: What stands in the place of a node.
Alternative: TypeAlias = tuple[str, ast.AST]


class Surroundings:
    """What stands around each node of a file."""

    def __init__(self, tree: ast.Module) -> None:
        self._above = {id(below): node for node in ast.walk(tree) for below in ast.iter_child_nodes(node)}

    def above(self, node: ast.AST) -> ast.AST | None:
        return self._above.get(id(node))

    def is_default(self, node: ast.AST) -> bool:
        """Whether it is what a parameter is where nothing is given."""
        return isinstance(self.above(node), ast.arguments)

    def is_compared(self, node: ast.AST) -> bool:
        """Whether something is compared with it, or with what it is one of."""
        above = self.above(node)
        return isinstance(self.above(above) if isinstance(above, (ast.Tuple, ast.List)) else above, ast.Compare)

    def is_looked_into(self, node: ast.AST) -> bool:
        """Whether it is the letters among which one is looked for."""
        above = self.above(node)
        return (
            isinstance(above, ast.Compare) and isinstance(above.ops[-1], (ast.In, ast.NotIn)) and above.left is not node
        )

    def is_given_back(self, node: ast.AST) -> bool:
        """Whether it is what a function gives back, or one of several."""
        above = self.above(node)
        if isinstance(above, ast.Tuple):
            node, above = above, self.above(above)
        return isinstance(above, ast.Return) or (isinstance(above, ast.Lambda) and above.body is node)

    def function(self, node: ast.AST) -> ast.FunctionDef | ast.Lambda | None:
        """The innermost function around it."""
        above = self.above(node)
        while above is not None and not isinstance(above, (ast.FunctionDef, ast.Lambda)):
            above = self.above(above)
        return above

    def locals(self, node: ast.AST) -> list[str]:
        """The names of the function around it, parameters first."""
        function = self.function(node)
        if function is None:
            return []
        given = function.args
        named = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        stored = [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        return list(dict.fromkeys(named + stored))

    def is_bound_before(self, statement: ast.Assign) -> bool:
        """Whether what is assigned has a value without that."""
        function = self.function(statement)
        if not isinstance(function, ast.FunctionDef):
            return False
        given = {arg.arg for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
        before = {
            n.id
            for n in ast.walk(function)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.lineno < statement.lineno
        }
        names = [n.id for target in statement.targets for n in ast.walk(target) if isinstance(n, ast.Name)]
        return (given | before).issuperset(names)


def alternatives(node: ast.AST, around: Surroundings) -> Iterator[Alternative]:
    """All that may become of it."""
    if isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in _OPERATORS:
        other = _OPERATORS[type(node.op)]
        yield f"{type(node.op).__name__} becomes {other.__name__}", _with(node, op=other())
    if isinstance(node, ast.BinOp) and not (isinstance(node.left, ast.Constant) and isinstance(node.left.value, str)):
        yield f"the right side of {type(node.op).__name__} is left out", node.left
        yield f"the left side of {type(node.op).__name__} is left out", node.right
    if isinstance(node, ast.Compare):
        for comparison in _COMPARISONS[type(node.ops[0])]:
            words = f"{type(node.ops[0]).__name__} becomes {comparison.__name__}"
            yield words, _with(node, ops=[comparison(), *node.ops[1:]])
    yield from _of_conditions(node)
    yield from _of_statements(node, around)
    yield from _of_values(node, around)
    if isinstance(node, ast.Call):
        yield from _of_calls(node)


def _of_conditions(node: ast.AST) -> Iterator[Alternative]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
        yield f"{type(node.op).__name__} is left out", node.operand
    elif isinstance(node, ast.BoolOp):
        is_and = isinstance(node.op, ast.And)
        yield "and becomes or" if is_and else "or becomes and", _with(node, op=ast.Or() if is_and else ast.And())
        yield "the first condition is left out", _of_several(node, node.values[1:])
        yield "the last condition is left out", _of_several(node, node.values[:-1])
    elif isinstance(node, (ast.If, ast.IfExp)) and not _is_negated_otherwise(node.test):
        yield "the condition is negated", _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield "the condition of the comprehension is left out", _with(node, ifs=node.ifs[1:])


def _of_several(node: ast.BoolOp, values: list[ast.expr]) -> ast.expr:
    return values[0] if len(values) == 1 else _with(node, values=values)


def _is_negated_otherwise(test: ast.expr) -> bool:
    """By a change of its own."""
    return isinstance(test, ast.Compare) or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))


def _of_statements(node: ast.AST, around: Surroundings) -> Iterator[Alternative]:
    if isinstance(node, ast.Expr):
        is_one = isinstance(node.value, ast.Call) and around.function(node) is not None
    elif isinstance(node, ast.Assign):
        at_places = not any(isinstance(target, (ast.Name, ast.Tuple)) for target in node.targets)
        is_one = at_places or around.is_bound_before(node)
    else:
        is_one = isinstance(node, ast.AugAssign) or (isinstance(node, ast.If) and not node.orelse)
    if is_one:
        yield "the statement is left out", ast.Pass()


def _of_values(node: ast.AST, around: Surroundings) -> Iterator[Alternative]:
    if isinstance(node, ast.Constant):
        is_asked = around.is_compared(node) or around.is_default(node)
        for value in _other_values(node.value, is_text_asked=is_asked, is_looked_into=around.is_looked_into(node)):
            yield f"{node.value!r} becomes {value!r}", ast.Constant(value)
        if node.value is None and around.is_default(node):
            yield "None becomes 1", ast.Constant(1)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and around.is_given_back(node):
        names = around.locals(node)
        if node.id in names and len(names) > 1:
            other = names[names.index(node.id) - 1]
            yield f"{node.id} becomes {other}", ast.Name(other, ast.Load())


def _other_values(value: object, *, is_text_asked: bool, is_looked_into: bool) -> Iterator[bool | int | float | str]:
    """Other constants; for a text one that nobody asks for, for letters one fewer."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield value + 1
        yield value - 1
    elif isinstance(value, float):
        yield value * 2 or 1.0
    elif isinstance(value, str) and is_looked_into:
        yield value[:-1]
    elif isinstance(value, str) and is_text_asked:
        yield value + "?"


def _of_calls(node: ast.Call) -> Iterator[Alternative]:
    name = getattr(node.func, "attr", None) or getattr(node.func, "id", "")
    if name in _NAMES:
        other = _NAMES[name]
        renamed = _with(node.func, **{"attr" if isinstance(node.func, ast.Attribute) else "id": other})
        yield f"{name} becomes {other}", _with(node, func=renamed)
    plain = [i for i, arg in enumerate(node.args) if not isinstance(arg, ast.Starred)]
    pairs = [(i, j) for i, j in pairwise(plain) if j == i + 1 and name not in _ORDERED | _ALIKE]
    for i, j in dict.fromkeys(chain(pairs[:1], pairs[-1:])):
        if ast.dump(node.args[i]) != ast.dump(node.args[j]):
            exchanged = [*node.args[:i], node.args[j], node.args[i], *node.args[j + 1 :]]
            yield f"arguments {i + 1} and {j + 1} of {name} change places", _with(node, args=exchanged)


def _with(node: _Node, **fields: object) -> _Node:
    """The same node but for these fields."""
    other = copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other
