"""Ordinary slips of the pen, as edits of a formula's syntax tree: none is in gradcheck's own catalogues."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

from benchmarks.exam.graph import Graph
from benchmarks.exam.wrappers import Mutant

#: Functions taken for one another.
TAKEN_FOR = {
    "exp": "expm1", "log": "log1p", "log1p": "log", "tanh": "sigmoid", "sigmoid": "tanh", "sqrt": "square",
    "square": "sqrt", "cosh": "sinh", "erf": "tanh", "softmax": "log_softmax", "sign": "abs", "abs": "sign",
    "amax": "mean", "cumsum": "cumprod", "norm": "sum", "inv": "pinv", "one_hot": "one_hot", "ones": "zeros",
    "ones_like": "zeros_like", "eye": "ones_like", "rsqrt": "sqrt", "sum": "amax", "mean": "amin", "prod": "sum",
    "diag": "diagonal", "outer": "outer", "var": "std", "std": "var", "clamp": "relu", "relu": "abs",
}  # fmt: skip
#: Of each kind of slip so many, spread over the formula.
EACH = 3

Edit = Callable[[ast.AST], Iterator[tuple[str, str, ast.AST]]]


def slipped(graph: Graph, formula: str) -> Iterator[Mutant]:
    """Mutants of a formula (or of a step of a derivation), each with one slip, none twice."""
    seen = {ast.unparse(ast.parse(formula, mode="eval"))}
    by_operator: dict[str, list[Mutant]] = {}
    names = sorted({*graph.inputs, *graph.constants, *graph.graph, *graph.let})
    for path, node in _walk(ast.parse(formula, mode="eval").body, ()):
        for group, operator, new in _edits(node, names):
            text = _unparse(_put(ast.parse(formula, mode="eval").body, path, new))
            if text not in seen:
                seen.add(text)
                by_operator.setdefault(operator, []).append(Mutant(group, operator, text))
    for listed in by_operator.values():
        step = max(1, len(listed) // EACH)
        yield from listed[::step][:EACH]


Path = tuple[tuple[str, int | None], ...]


def _walk(node: ast.AST, path: Path) -> Iterator[tuple[Path, ast.AST]]:
    """Every expression that can be replaced, with the way to it; not the name inside `grad(…)`, nor what is called."""
    yield path, node
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "grad":
        return
    for field, value in ast.iter_fields(node):
        if field == "func" and isinstance(value, ast.Attribute):
            yield from _walk(value.value, (*path, ("func", None), ("value", None)))
        elif field == "func" or field == "ctx":
            continue
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, ast.expr):
                    yield from _walk(item, (*path, (field, index)))
        elif isinstance(value, ast.expr):
            yield from _walk(value, (*path, (field, None)))


def _put(root: ast.AST, path: Path, new: ast.AST) -> ast.AST:
    if not path:
        return new
    at: object = root
    for field, index in path[:-1]:
        at = getattr(at, field) if index is None else getattr(at, field)[index]
    field, index = path[-1]
    if index is None:
        setattr(at, field, new)
    else:
        getattr(at, field)[index] = new
    return root


def _unparse(tree: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(tree))


def _parsed(text: str) -> ast.AST:
    return ast.parse(text, mode="eval").body


def _edits(node: ast.AST, names: list[str]) -> Iterator[tuple[str, str, ast.AST]]:
    yield from _of_name(node, names)
    yield from _of_number(node)
    yield from _of_arithmetic(node)
    yield from _of_call(node)
    yield from _of_comparison(node)
    yield from _of_index(node)
    if isinstance(node, (ast.BinOp, ast.Call)) and not _is_structural(node):
        text = ast.unparse(node)
        yield "slips", "the size of a part", _parsed(f"abs({text})")
        yield "slips", "a part rounded", _parsed(f"round({text})")
        yield "branches", "the positive part of a part", _parsed(f"relu({text})")
        yield "slips", "the square of a part", _parsed(f"({text})**2")
        yield "magnitudes", "a part cut off at 10", _parsed(f"clamp({text}, -10, 10)")
        yield "slips", "the mean of a part", _parsed(f"(({text}) * 0 + ({text}).mean())")


def _is_structural(node: ast.AST) -> bool:
    """Whether it makes a constant, an index or a size."""
    name = _called(node)
    return name in (
        "ones",
        "zeros",
        "eye",
        "arange",
        "one_hot",
        "full",
        "to",
        "len",
        "ones_like",
        "zeros_like",
        "tensor",
    )


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _of_name(node: ast.AST, names: list[str]) -> Iterator[tuple[str, str, ast.AST]]:
    if isinstance(node, ast.Name) and node.id in names:
        for other in names:
            if other != node.id:
                yield "slips", "another tensor's name", ast.Name(other, ast.Load())
    if _called(node) == "grad":
        for other in names:
            yield "slips", "another tensor's gradient", _parsed(f"grad({other})")
        yield "slips", "a tensor for its gradient", copy.deepcopy(node.args[0])  # type: ignore[attr-defined]


def _of_number(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
        return
    number = node.value
    yield "slips", "a number one more", ast.Constant(number + 1)
    if number:
        yield "slips", "a digit shifted", ast.Constant(number * 10)
        yield "slips", "a number inverted", ast.Constant(1 / number)
    if isinstance(number, float) and len(repr(number)) > 4:
        yield "near misses", "a constant cut short", ast.Constant(float(f"{number:.6g}"))


def _of_arithmetic(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.BinOp):
        inner = copy.deepcopy(node.operand)
        inner.left = ast.UnaryOp(ast.USub(), inner.left)
        yield "slips", "a minus for the first part alone", inner
    if not isinstance(node, ast.BinOp):
        return
    left, right, op = node.left, node.right, type(node.op)
    if op is ast.Pow:
        yield "slips", "a power forgotten", left
        yield "slips", "base and exponent exchanged", ast.BinOp(right, ast.Pow(), left)
    if op in (ast.Mult, ast.MatMult):
        yield "slips", "a factor forgotten", left
        yield "slips", "a factor forgotten", right
    if op is ast.Mult:
        yield "slips", "a factor twice", ast.BinOp(copy.deepcopy(node), ast.Mult(), left)
        yield "slips", "a factor twice", ast.BinOp(copy.deepcopy(node), ast.Mult(), right)
        yield "slips", "a product of matrices", ast.BinOp(left, ast.MatMult(), right)
        yield from _brackets(node)
    if op is ast.MatMult:
        yield "slips", "elementwise for matrices", ast.BinOp(left, ast.Mult(), right)
    if op is ast.Div:
        yield "slips", "a divisor forgotten", left
        yield "slips", "a whole division", ast.BinOp(left, ast.FloorDiv(), right)
        yield "slips", "a fraction upside down", ast.BinOp(right, ast.Div(), left)
        yield "slips", "a divisor squared", ast.BinOp(copy.deepcopy(node), ast.Div(), right)
        yield from _brackets(node)
    if op is ast.Sub:
        yield "slips", "a difference the other way", ast.BinOp(right, ast.Sub(), left)
        yield "signs", "the size of a difference", _parsed(f"abs({ast.unparse(node)})")
    if op is ast.Add:
        yield "slips", "a term twice", ast.BinOp(copy.deepcopy(node), ast.Add(), right)


def _brackets(node: ast.BinOp) -> Iterator[tuple[str, str, ast.AST]]:
    """`(a + b) * c` as `a + b * c`."""
    for side, other in (("left", "right"), ("right", "left")):
        inner = getattr(node, side)
        if isinstance(inner, ast.BinOp) and isinstance(inner.op, (ast.Add, ast.Sub)):
            factor = getattr(node, other)
            if isinstance(node.op, ast.Div) and side == "right":
                first: ast.expr = ast.BinOp(factor, ast.Div(), inner.left)
                yield "slips", "brackets forgotten", ast.BinOp(first, inner.op, inner.right)
            else:
                second = ast.BinOp(inner.right, node.op, factor)
                yield "slips", "brackets forgotten", ast.BinOp(inner.left, inner.op, second)


def _of_call(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    name = _called(node)
    if not isinstance(node, ast.Call) or not name or name == "grad":
        return
    method = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) not in ("torch", "F", "linalg")
    first = node.func.value if method else node.args[0] if node.args else None  # type: ignore[union-attr]
    if first is not None and not _is_structural(node):
        yield "slips", "a function forgotten", first
    if TAKEN_FOR.get(name, name) != name:
        new = copy.deepcopy(node)
        if isinstance(new.func, ast.Name):
            new.func.id = TAKEN_FOR[name]
        else:
            new.func.attr = TAKEN_FOR[name]  # type: ignore[attr-defined]
        yield "slips", "another function", new
    if name in ("exp", "log", "tanh", "sigmoid", "sin", "cos", "relu", "abs", "softmax", "sqrt", "cumsum"):
        new = copy.deepcopy(node)
        if method:
            new.func.value = copy.deepcopy(node)  # type: ignore[attr-defined]
        else:
            new.args[0] = copy.deepcopy(node)
        yield "slips", "a function twice", new
    if name in ("sum", "mean", "amax", "prod", "var", "std", "norm"):
        yield from _of_reduction(node, method)
    if name in ("clamp", "hardtanh") and len(node.args) == (2 if method else 3):
        for keyword, index in (("min", -2), ("max", -1)):
            new = copy.deepcopy(node)
            bound = new.args[index]
            del new.args[-2:]
            new.keywords.append(ast.keyword(keyword, bound))
            if name == "clamp":
                yield "branches", "one bound forgotten", new
    if name == "where":
        yield "branches", "always the first branch", node.args[1]
        yield "branches", "always the second branch", node.args[2]
        yield "branches", "branches exchanged", ast.Call(node.func, [node.args[0], node.args[2], node.args[1]], [])


def _of_reduction(node: ast.Call, method: bool) -> Iterator[tuple[str, str, ast.AST]]:
    if any(keyword.arg == "keepdim" for keyword in node.keywords) or (node.args[2:] if not method else node.args[1:]):
        new = copy.deepcopy(node)
        new.keywords = [keyword for keyword in new.keywords if keyword.arg != "keepdim"]
        if len(new.args) > (1 if method else 2):
            del new.args[-1]
        yield "slips", "a dimension not kept", new
    if any(keyword.arg == "dim" for keyword in node.keywords) or (node.args if method else node.args[1:]):
        new = copy.deepcopy(node)
        new.args, new.keywords = ([] if method else new.args[:1]), []
        yield "slips", "over everything", new


def _of_comparison(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    if isinstance(node, ast.Compare):
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        for factor in ("1.5", "20"):
            if right not in ("0", "0.0"):
                yield "branches", f"a threshold {factor} times", _compare(node, f"{factor}*({right})")
        yield "branches", "a threshold shifted far", _compare(node, f"({right}) - 7")
        yield "branches", "a threshold shifted far up", _compare(node, f"({right}) + 7")
        yield "branches", "a comparison without its sign", _parsed(f"abs({left}) > abs({right})")
        yield "branches", "always", _parsed(f"({left}) == ({left})")
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        yield "branches", "one of two conditions forgotten", node.left
        yield "branches", "one of two conditions forgotten", node.right


def _compare(node: ast.Compare, right: str) -> ast.AST:
    new = copy.deepcopy(node)
    new.comparators[0] = _parsed(right)  # type: ignore[call-overload]
    return new


def _of_index(node: ast.AST) -> Iterator[tuple[str, str, ast.AST]]:
    if isinstance(node, ast.Slice) and node.lower is not None and isinstance(node.lower, ast.Constant):
        new = copy.deepcopy(node)
        new.lower = ast.Constant(node.lower.value + 1)  # type: ignore[operator]
        yield "slips", "a slice that begins later", new
    if isinstance(node, ast.Subscript) and "shape" not in ast.unparse(node.value):
        yield "slips", "an index forgotten", node.value
