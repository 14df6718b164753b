"""The conditions under which a formula is defined, as text: `x > 0`.

They come from its logarithms, roots and divisors. They are simplified (`2 * sqrt(x) != 0` is `x > 0`), and those that
always hold are left out (`1 + exp(x) != 0`). Only a point of the field shows which of the rest the graph has as well
(`GraphRegions`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal, TypeAlias

from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.expr.nodes import Literal as Number
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import fold, ops_in, postorder
from gradcheck.oracles.exact.graph_regions import Domain

Sign = Literal["positive", "nonnegative", "unknown"]
#: An expression that must be in a domain.
Condition: TypeAlias = tuple[Domain, Expr]

#: The argument of an op with a domain. Powers have a function of their own.
_ASKS: dict[str, tuple[int, Domain]] = {
    **dict.fromkeys(("log", "log2", "log10", "rsqrt", "logabsdet"), (0, "positive")),
    **dict.fromkeys(("asin", "acos"), (0, "unit")),
    **dict.fromkeys(("div", "floor_divide", "remainder", "fmod"), (1, "nonzero")),
    "sqrt": (0, "nonnegative"),
    "reciprocal": (0, "nonzero"),
    "xlogy": (1, "positive"),
    "atanh": (0, "unit_open"),
    "acosh": (0, "from_one"),
}
_ASKING = frozenset(_ASKS) | {"pow"}
_WORDS: dict[Domain, str] = {
    "positive": "{} > 0",
    "nonnegative": "{} >= 0",
    "nonzero": "{} != 0",
    "unit": "abs({}) <= 1",
    "unit_open": "abs({}) < 1",
    "from_one": "{} >= 1",
}
#: Ops that only move elements: conditions apply to the first argument.
_MOVES = frozenset(
    ("getitem", "unsqueeze", "squeeze", "reshape", "expand", "T", "mT", "transpose", "permute", "broadcast_to", "view")
)
_POSITIVE = frozenset(("exp", "exp2", "sigmoid", "softmax", "cosh", "softplus", "ones", "ones_like"))
_NONNEGATIVE = frozenset(("abs", "square", "sqrt", "relu", "norm", "linalg.vector_norm", "var", "std", "gt", "lt"))
#: Ops that keep the sign of the elements.
_KEEPS = _MOVES | {"sum", "mean", "amax", "amin", "prod", "cumsum", "clone", "detach"}


def conditions(exprs: Iterable[Expr], known: Mapping[str, Sign]) -> list[Condition]:
    """Return each condition once, less trivial ones, by the signs of names."""
    signs: dict[int, tuple[Expr, Sign]] = {}
    found: dict[tuple[Domain, str], Condition] = {}
    for expr in exprs:
        if _ASKING.isdisjoint(ops_in(expr)):
            continue
        for node in postorder(expr):
            for condition in _plain(_required_domains(node), lambda e: fold(e, _sign_of(known), signs)):
                found[condition[0], to_text(condition[1])] = condition
    return list(found.values())


def condition_texts(found: Iterable[Condition]) -> tuple[str, ...]:
    """Return the conditions as text: `x > 0` for `x >= 0` and `x != 0`."""
    by_text: dict[str, set[Domain]] = {}
    for domain, expr in found:
        by_text.setdefault(to_text(expr), set()).add(domain)
    texts = []
    for text, domains in by_text.items():
        if "positive" in domains or {"nonnegative", "nonzero"} <= domains:
            domains = (domains - {"nonnegative", "nonzero"}) | {"positive"}
        texts += [_WORDS[domain].format(_in_brackets(text, domain)) for domain in sorted(domains)]
    return tuple(texts)


def _in_brackets(text: str, domain: Domain) -> str:
    """Add brackets, since comparisons bind looser than arithmetic."""
    is_loose = any(f" {word} " in text for word in ("<", ">", "<=", ">=", "==", "!=", "&", "|"))
    return f"({text})" if is_loose and not domain.startswith("unit") else text


def _required_domains(node: Expr) -> Iterator[Condition]:
    if not isinstance(node, Call):
        return
    if node.op == "pow" and len(node.args) == 2:
        yield from _asked_by_power(*node.args)
    elif node.op in _ASKS:
        place, domain = _ASKS[node.op]
        if place < len(node.args):
            yield domain, node.args[place]


def _asked_by_power(base: Expr, exponent: Expr) -> Iterator[Condition]:
    value = _number(exponent)
    if value is None or value != int(value):
        yield ("positive" if value is None or value < 0 else "nonnegative"), base
    elif value < 0:
        yield "nonzero", base


def _number(expr: Expr) -> float | None:
    sign = 1.0
    while isinstance(expr, Call) and expr.op == "neg":
        expr, sign = expr.args[0], -sign
    if not isinstance(expr, Number) or isinstance(expr.value, bool) or not isinstance(expr.value, (int, float)):
        return None
    return sign * expr.value


def _plain(asked: Iterable[Condition], sign_of: Callable[[Expr], Sign]) -> Iterator[Condition]:
    """Yield the conditions in simple form, less those that hold by sign."""
    waiting = list(asked)
    while waiting:
        domain, expr = waiting.pop()
        sign = sign_of(expr)
        if sign == "positive" and domain in ("positive", "nonnegative", "nonzero"):
            continue
        if sign == "nonnegative" and domain == "nonnegative":
            continue
        parts = _split_condition(domain, expr, sign_of)
        if parts is None:
            yield domain, expr
        else:
            waiting += parts


def _split_condition(domain: Domain, expr: Expr, sign_of: Callable[[Expr], Sign]) -> list[Condition] | None:
    """Return a condition as conditions of parts; None if it is simple."""
    if not isinstance(expr, Call):
        number = _number(expr)
        return [] if number is not None and number and domain == "nonzero" else None
    if expr.op in _MOVES:
        return [(domain, expr.args[0])]
    if domain == "nonzero" and expr.op in ("mul", "neg", "abs", "square", "sqrt"):
        return [("nonzero", arg) for arg in expr.args]
    if domain == "nonzero" and expr.op in ("div", "pow"):
        return [("nonzero", expr.args[0])]
    if expr.op in ("mul", "div") and domain in ("positive", "nonnegative"):
        rest = [arg for arg in expr.args if sign_of(arg) != "positive"]
        return [(domain, rest[0])] if len(rest) == 1 else None
    return [("positive", expr.args[0])] if domain == "positive" and expr.op == "sqrt" else None


def _sign_of(known: Mapping[str, Sign]) -> Callable[[Expr, list[Sign]], Sign]:
    """Return a function from an expression and its parts' signs to its sign."""

    def combine(node: Expr, parts: list[Sign]) -> Sign:
        number = _number(node)
        if number is not None:
            return "positive" if number > 0 else "nonnegative" if number == 0 else "unknown"
        if not isinstance(node, Call):
            return known.get(getattr(node, "name", ""), "unknown")
        if node.op in _POSITIVE:
            return "positive"
        if node.op in ("add", "mul", "div", "maximum") and len(parts) >= 2:
            return _sign_of_two(node, parts[0], parts[1])
        if node.op == "pow":
            power = _number(node.args[1])
            even: Sign = "nonnegative" if power is not None and power >= 0 and power % 2 == 0 else "unknown"
            return parts[0] if parts[0] == "positive" else even
        if node.op in _KEEPS:
            return parts[0]
        return "nonnegative" if node.op in _NONNEGATIVE else "unknown"

    return combine


def _sign_of_two(node: Call, a: Sign, b: Sign) -> Sign:
    signs = {a, b}
    if node.op == "mul" and node.args[0] == node.args[1]:
        return "positive" if a == "positive" else "nonnegative"
    if node.op == "maximum":
        return "positive" if "positive" in signs else "nonnegative" if "nonnegative" in signs else "unknown"
    if "unknown" in signs:
        return "unknown"
    if node.op == "add":
        return "positive" if "positive" in signs else "nonnegative"
    return "positive" if signs == {"positive"} else "nonnegative"
