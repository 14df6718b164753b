"""The operands that an op compares: with others, 0, or a domain's edge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Ops with boolean elements, which can be flipped.
FLIPPABLE_OPS = frozenset(("gt", "ge", "lt", "le", "eq", "ne", "isclose", "signbit", "logical_not", "to"))
#: Ops that are flat nearly everywhere.
ROUNDING_OPS = frozenset(("round", "floor", "ceil", "trunc", "floor_divide", "to", "int", "long", "short", "type"))
#: Ops that compare integers, too.
INTEGER_COMPARISONS = frozenset(("gt", "ge", "lt", "le", "maximum", "minimum", "fmax", "fmin", "eq", "ne"))
_PAIRED = INTEGER_COMPARISONS | {"isclose"}
_SIGN = frozenset(("sign", "sgn", "abs", "signbit"))
#: Ops that test for 0.
_TRUTH = frozenset(("logical_not", "logical_and", "logical_or", "logical_xor", "any", "all", "count_nonzero"))
#: Margins that are positive where a function is defined; of claims only.
_EDGES = {
    "log": lambda x: x, "log2": lambda x: x, "log10": lambda x: x, "sqrt": lambda x: x, "rsqrt": lambda x: x,
    "log1p": lambda x: x + 1, "asin": lambda x: 1 - x * x, "acos": lambda x: 1 - x * x, "atanh": lambda x: 1 - x * x,
    "acosh": lambda x: x - 1,
}  # fmt: skip
BRANCHING_OPS = _PAIRED | _SIGN | _TRUTH | {"to", "copysign"} | _EDGES.keys()


def compared_operands(name: str, args: tuple[Any, ...], result: Any, is_claim: bool) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs of operands, one of them floating, that an op compares."""
    if name in _PAIRED:
        if is_real(args[0]) or is_real(args[1]):
            yield args[0], args[1]
    elif name in _SIGN:
        yield from ((arg, 0.0) for arg in args[:1] if is_real(arg))
    elif name == "copysign":
        yield from ((arg, 0.0) for arg in args[1:2] if is_real(arg))
    elif name in _TRUTH or (name == "to" and result.dtype.kind == "b"):
        yield from ((arg, 0.0) for arg in args[:2] if is_real(arg))
    elif is_claim and name in _EDGES and is_real(args[0]):
        yield _EDGES[name](args[0]), 0.0


def truncates_to_integers(name: str, args: tuple[Any, ...], result: Any) -> bool:
    return name == "to" and is_real(args[0]) and result.dtype.kind in "iu"


def is_real(value: Any) -> bool:
    return getattr(getattr(value, "dtype", None), "kind", "") == "f"


def is_integer(value: Any) -> bool:
    return isinstance(value, int) or getattr(getattr(value, "dtype", None), "kind", "") in ("i", "u")
