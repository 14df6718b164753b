"""The normal form of an expression: a tree of tuples of kinds and parts.

Differences become sums, quotients powers, composed ops are expanded, and transposes stand at names. Rules that depend
on a rank (the transpose of a vector, a sum of products as a trace) apply if ranks are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter
from typing import Any

from gradcheck.autograd.op import lookup
from gradcheck.language.expr.nodes import Call, Expr, Literal, Name
from gradcheck.language.expr.traverse import fold

ONE, MINUS, _TWO, _HALF = (("number", number) for number in (1.0, -1.0, 2.0, 0.5))
#: The names of ops with several names in torch.
_ALIASES = {
    **dict.fromkeys(("mm", "mv", "dot", "inner", "linalg.vecdot", "vdot"), "matmul"),
    **dict.fromkeys(("t", "mT", "H", "mH"), "T"),
    **dict.fromkeys(("linalg.inv", "inverse"), "inv"),
    **dict.fromkeys(("linalg.det",), "det"),
    **dict.fromkeys(("linalg.norm", "linalg.vector_norm", "linalg.matrix_norm"), "norm"),
    "special.expit": "sigmoid",
    "absolute": "abs",
}
#: `("name", "x")`, `("number", 2.0)`, else an op and its parts.
Tree = tuple[Any, ...]
#: The ranks of names, as far as known.
Ranks = Mapping[str, int]
#: Elementwise functions of one tensor: a transpose passes through, and the rank stays.
ELEMENTWISE = frozenset(
    {
        *("abs", "sin", "cos", "tan", "exp", "log", "sinh", "cosh", "tanh", "sigmoid", "relu", "erf", "sign"),
        *("asin", "acos", "atan", "lgamma", "digamma", "floor"),
    }
)


def normal_form(expr: Expr, ranks: Ranks) -> Tree:
    """Return the normal form of an expression with these ranks of names."""
    return fold(expr, lambda node, parts: _normalize_node(node, parts, ranks))


def _normalize_node(node: Expr, parts: list[Tree], ranks: Ranks) -> Tree:
    if isinstance(node, Name):
        return ("name", node.name, ranks.get(node.name))
    if isinstance(node, Literal):
        return _literal(node.value)
    if not isinstance(node, Call):
        return (type(node).__name__, *map(str, node.label), *parts)
    op = _ALIASES.get(node.op, node.op)
    is_known = not node.kwargs and op in _RULES and len(parts) == _COUNTS.get(op, 1)
    return (_RULES[op](*parts) if is_known else None) or _call(node, op, parts)


def _call(node: Call, op: str, parts: list[Tree]) -> Tree:
    """Return the call of another op, arguments by name and defaults left out."""
    given = list(zip([None] * len(node.args) + [name for name, _ in node.kwargs], parts, strict=True))
    entry = lookup(node.op)
    if entry is None or entry.variadic is not None:
        return (op, *(part if name is None else (name, part) for name, part in given))
    names = [parameter.name for parameter in entry.parameters]
    defaults = {p.name: p.default for p in entry.parameters if p.default is not Parameter.empty}
    named = [(name or (names[i] if i < len(names) else str(i)), part) for i, (name, part) in enumerate(given)]
    kept = [(name, part) for name, part in named if name not in defaults or _literal(defaults[name]) != part]
    kept = [(name, _nonnegative_dim(part, parts[0]) if name == "dim" else part) for name, part in kept]
    order = {name: i for i, name in enumerate(names)}
    kept.sort(key=lambda pair: order.get(pair[0], len(order)))
    if kept and kept[0][0] == names[0] and len(kept) == 1:
        return (op, kept[0][1])
    return (op, *(("=", name, part) for name, part in kept))


def _nonnegative_dim(dim: Tree, tensor: Tree) -> Tree:
    """Return a dimension counted from the front, if the rank is known."""
    ranked = rank(tensor)
    return ("number", dim[1] + ranked) if dim[0] == "number" and dim[1] < 0 and ranked is not None else dim


def _literal(value: Any) -> Tree:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return ("number", float(value)) if number else ("word", repr(value))


def add(*terms: Tree) -> Tree:
    """Return a flat sum."""
    flat = [part for term in terms for part in (term[1:] if term[0] == "add" else (term,))]
    number = sum(term[1] for term in flat if term[0] == "number")
    rest = [term for term in flat if term[0] != "number"]
    if number or not rest:
        rest.append(("number", number))
    return rest[0] if len(rest) == 1 else ("add", *rest)


def mul(*factors: Tree) -> Tree:
    """Return a flat elementwise product with one number, powers collected."""
    number, powers = 1.0, dict[Tree, Any]()
    for factor in (part for one in factors for part in (one[1:] if one[0] == "mul" else (one,))):
        base, exponent = factor[1:] if factor[0] == "pow" and factor[2][0] == "number" else (factor, ("number", 1.0))
        if factor[0] == "number":
            number *= factor[1]
        else:
            powers[base] = powers.get(base, 0.0) + exponent[1]
    rest = [base if exponent == 1 else ("pow", base, ("number", exponent)) for base, exponent in powers.items()]
    if number != 1 or not rest:
        rest.append(("number", number))
    return rest[0] if len(rest) == 1 else ("mul", *rest)


def power(base: Tree, exponent: Tree) -> Tree:
    """Return a power; an integer power of a product is expanded."""
    if exponent == ONE:
        return base
    if exponent[0] != "number":
        return ("pow", base, exponent)
    if exponent == MINUS and base[0] == "add" and len(base) == 3 and base[2] == ONE and base[1][0] == "exp":
        return ("sigmoid", mul(MINUS, base[1][1]))
    whole = exponent[1] == int(exponent[1])
    if base[0] == "number" and (base[1] > 0 or (whole and base[1])):
        return ("number", base[1] ** exponent[1])
    if base[0] == "mul" and whole:
        return mul(*(power(part, exponent) for part in base[1:]))
    if base[0] == "pow" and base[2][0] == "number" and whole:
        return power(base[1], ("number", base[2][1] * exponent[1]))
    if base[0] == "add" and whole and exponent[1] % 2 == 0:  # with either sign of the base
        return ("even", base, add(*(mul(MINUS, term) for term in base[1:])), exponent)
    return ("pow", base, exponent)


def coefficient(tree: Tree) -> tuple[float, Tree]:
    """Return the numeric factor and the rest."""
    if tree[0] != "mul":
        return 1.0, tree
    number = next((part[1] for part in tree[1:] if part[0] == "number"), 1.0)
    return number, mul(*(part for part in tree[1:] if part[0] != "number"))


def transpose(tree: Tree) -> Tree:
    """Return the transpose, moved to names."""
    kind, *parts = tree
    if rank(tree) in (0, 1):
        return tree
    if kind == "T":
        return tuple(parts[0])
    if kind == "chain":
        return ("chain", *(transpose(part) for part in reversed(parts)))
    if kind in ("add", "mul"):
        return (kind, *(part if part[0] == "number" else transpose(part) for part in parts))
    if kind in ELEMENTWISE or kind == "inv":
        return (kind, transpose(parts[0]))
    if kind == "even" or (kind == "pow" and parts[-1][0] == "number"):
        return (kind, *(transpose(part) for part in parts[:-1]), parts[-1])
    return tree if kind == "eye" else ("T", tree)


def chain(*factors: Tree) -> Tree:
    """Return a flat matrix product, numbers first; from vector to vector one."""
    number, flat = 1.0, list[Tree]()
    for factor in factors:
        one, rest = coefficient(factor)
        number *= one
        flat += rest[1:] if rest[0] == "chain" else (rest,)
    made: Tree = ("chain", *flat)
    if rank(made) == 0 and _is_square(*flat):
        made = ("sum", power(flat[0], _TWO))
    elif rank(made) == 0:
        made = ("scalar", *flat, *(transpose(part) for part in reversed(flat)))
    return mul(("number", number), made)


def _is_square(*factors: Tree) -> bool:
    """Return whether both factors are one sum, whose sign does not matter."""
    return len(factors) == 2 and factors[0] == factors[1] and factors[0][0] == "add"


def trace(tree: Tree) -> Tree:
    """Return the trace, term by term, with the transposed product."""
    if tree[0] == "add":
        return add(*(trace(term) for term in tree[1:]))
    number, rest = coefficient(tree)
    flat = rest[1:] if rest[0] == "chain" else (rest,)
    if len(flat) == 2 and _is_square(transpose(flat[0]), flat[1]):
        return mul(("number", number), ("sum", power(flat[1], _TWO)))
    return mul(("number", number), ("trace", *flat, *(transpose(part) for part in reversed(flat))))


def total(tree: Tree) -> Tree:
    """Return the sum of all elements, as a matrix product or trace if it is."""
    if tree[0] == "add" and len({rank(term) for term in tree[1:]}) == 1 and rank(tree) is not None:
        return add(*(total(term) for term in tree[1:]))
    number, rest = coefficient(tree)
    pair: tuple[Tree, ...] = ()
    if rest[0] == "mul" and len(rest) == 3:
        pair = rest[1:]
    elif rest[0] == "pow" and rest[2] == ("number", 2.0):
        pair = (rest[1], rest[1])
    ranks = [rank(part) for part in pair]
    if ranks == [1, 1]:
        return mul(("number", number), chain(*pair))
    if ranks == [2, 2]:
        return mul(("number", number), trace(chain(transpose(pair[0]), pair[1])))
    return mul(("number", number), ("sum", rest))


def mean(tree: Tree) -> Tree:
    number, rest = coefficient(tree)
    return mul(("number", number), ("mean", rest))


def logarithm(tree: Tree) -> Tree:
    """Return the logarithm, with torch's names for common compositions."""
    if tree[0] == "sum" and tree[1][0] == "exp" and rank(tree[1]) == 1:
        return ("logsumexp", ("=", "input", tree[1][1]), ("=", "dim", ("number", 0.0)))
    return ("log", tree[1]) if tree[0] == "abs" and tree[1][0] == "det" else ("log", tree)


def _item(tree: Tree, index: Tree) -> Tree:
    if tree[0] == "linalg.slogdet" and index == ONE:
        return ("log", ("det", tree[1]))
    return ("getitem", tree, index)


def _matrix_power(base: Tree, exponent: Tree) -> Tree | None:
    if exponent[0] != "number" or not 1 <= exponent[1] <= 9:
        return None
    return base if exponent == ONE else chain(*[base] * int(exponent[1]))


def _norm(tree: Tree) -> Tree:
    return power(total(power(tree, ("number", 2.0))), ("number", 0.5))


def _of_one(op: str, tree: Tree) -> Tree:
    return (op, tree)


def _of_untransposed(kind: str) -> Callable[[Tree], Tree]:
    """Return the rule of an op that a transpose does not change."""
    return lambda tree: (kind, tree[1] if tree[0] == "T" else tree)


_RULES: dict[str, Callable[..., Tree | None]] = {
    "add": add,
    "mul": mul,
    "pow": power,
    "T": transpose,
    "trace": trace,
    "mean": mean,
    "log": logarithm,
    "det": _of_untransposed("det"),
    "norm": _norm,
    "matmul": chain,
    "sum": total,
    "getitem": _item,
    "linalg.matrix_power": _matrix_power,
    "inv": lambda a: transpose(("inv", a[1])) if a[0] == "T" else ("inv", a),
    "sub": lambda a, b: add(a, mul(MINUS, b)),
    "neg": lambda a: mul(MINUS, a),
    "div": lambda a, b: mul(a, power(b, MINUS)),
    "square": lambda a: power(a, _TWO),
    "sqrt": lambda a: power(a, _HALF),
    "rsqrt": lambda a: power(a, ("number", -0.5)),
    "reciprocal": lambda a: power(a, MINUS),
    "linalg.solve": lambda a, b: chain(("inv", a), b),
    "logdet": lambda a: ("log", ("det", a[1] if a[0] == "T" else a)),
    "log1p": lambda a: ("log", add(ONE, a)),
    "expm1": lambda a: add(("exp", a), MINUS),
    "logsigmoid": lambda a: ("log", ("sigmoid", a)),
    "silu": lambda a: mul(a, ("sigmoid", a)),
    "softplus": lambda a: ("log", add(ONE, ("exp", a))),
    "mse_loss": lambda a, b: mean(power(add(a, mul(MINUS, b)), _TWO)),
    **{op: partial(_of_one, op) for op in ELEMENTWISE - {"log"}},
}
#: The number of arguments of these; others take one.
_COUNTS = {
    **dict.fromkeys(("add", "mul", "pow", "sub", "div", "matmul", "getitem"), 2),
    **dict.fromkeys(("linalg.matrix_power", "linalg.solve", "mse_loss"), 2),
}


def rank(tree: Tree) -> int | None:
    """Return the number of dimensions, or None if unknown."""
    kind, *parts = tree
    if kind in ("number", "trace", "scalar", "det"):
        return 0
    if kind == "name":
        known_rank: int | None = parts[1]
        return known_rank
    if kind in ("add", "mul"):
        known = [rank(part) for part in parts]
        return None if None in known else max(one for one in known if one is not None)
    if kind == "chain":
        ends = (rank(parts[0]), rank(parts[-1]))
        return None if None in ends else 2 - ends.count(1)
    if kind in ELEMENTWISE or kind in ("T", "pow", "even", "inv"):
        return rank(parts[0])
    return 0 if kind in ("sum", "mean") and len(parts) == 1 else None
