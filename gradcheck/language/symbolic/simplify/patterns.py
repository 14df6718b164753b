"""Rules that are a `before` and an `after`, and their application."""

from __future__ import annotations

from gradcheck.language.expr.nodes import Expr, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import rewrite
from gradcheck.language.symbolic.simplify.part_properties import PartProperties

#: Patterns and replacements: a letter stands for any part, the same letter for the same part.
PATTERNS = (
    ("x.T.T", "x"),
    ("x.mT.mT", "x"),
    ("outer(x, y).T", "outer(y, x)"),
    ("-(-x)", "x"),
    ("conj(conj(x))", "x"),
    ("flip(flip(x, d), d)", "x"),
    ("squeeze(unsqueeze(x, d), d)", "x"),
    ("reshape(reshape(x, s), t)", "reshape(x, t)"),
    ("expand(expand(x, s), t)", "expand(x, t)"),
    ("x ** 1", "x"),
    ("x ** 1.0", "x"),
    ("x ** 0", "ones_like(x)"),  # even where x is 0 or not a number
    ("x ** 0.0", "ones_like(x)"),
    ("x[i,]", "x[i]"),
    ("x[:]", "x"),
    # One number all along a diagonal of zeros is a multiple of the identity matrix.
    ("diagonal_scatter(zeros_like(x), ones_like(y))", "eye(x.shape[0], x.shape[1])"),
    ("diagonal_scatter(zeros_like(x), expand(y, s))", "y * eye(x.shape[0], x.shape[1])"),
    ("linalg.inv(linalg.inv(x))", "x"),
    ("linalg.inv(x.T)", "linalg.inv(x).T"),
    ("sqrt(x) ** 2", "x"),
    ("2 ** log2(x)", "x"),
    ("exp(log_softmax(x, dim=d))", "softmax(x, dim=d)"),
    ("unsqueeze(ones_like(x), dim=d)", "ones_like(unsqueeze(x, dim=d))"),
    ("sgn(x)", "sign(x)"),  # of a real x
    ("sign(x) * abs(x)", "x"),
    ("abs(x) * sign(x)", "x"),
    ("sign(x) / abs(x)", "1 / x"),
    ("-sign(x) / abs(x)", "-1 / x"),
    # Expansions move outwards, where they can often be dropped.
    ("to(expand(x, s), d)", "expand(to(x, d), s)"),
    ("-expand(x, s)", "expand(-x, s)"),
    *((f"{op}(expand(x, s))", f"expand({op}(x), s)") for op in ("conj", "exp", "tanh", "sigmoid", "sin", "cos")),
)
#: By the label of the pattern.
_READ: dict[object, list[tuple[Expr, Expr]]] = {}
for _before, _after in PATTERNS:
    _READ.setdefault(parse(_before).label, []).append((parse(_before), parse(_after)))


def by_pattern(node: Expr, know: PartProperties) -> Expr | None:
    """Apply the first of `PATTERNS` that fits."""
    for before, after in _READ.get(node.label, ()):
        found: dict[str, Expr] = {}
        if _fits(before, node, found):
            return _filled(after, found)
    return None


def _fits(pattern: Expr, node: Expr, found: dict[str, Expr]) -> bool:
    """Return whether a node fits, and store the parts of the letters."""
    if isinstance(pattern, Name):
        return found.setdefault(pattern.name, node) is node
    if type(pattern) is not type(node) or pattern.label != node.label:
        return False
    return all(_fits(below, child, found) for below, child in zip(pattern.children, node.children, strict=True))


def _filled(pattern: Expr, found: dict[str, Expr]) -> Expr:
    return rewrite(pattern, lambda part: found[part.name] if isinstance(part, Name) else part)
