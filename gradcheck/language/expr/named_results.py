"""Results by torch's names for them: `sort(x).values` is `sort(x)[0]`.

The called op decides, so no attribute of an object is ever looked up.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal

#: Attributes that are no results.
_ATTRIBUTES = frozenset({"shape", "ndim", "dtype", "numel", "len"})
_PLACES = ("values", "indices")
_ONE_OF_ALL = dict.fromkeys(("max", "min", "median", "nanmedian"), _PLACES)
#: By the op's name, the names of its parts in order.
PARTS: dict[str, tuple[str, ...]] = {
    **_ONE_OF_ALL,
    **dict.fromkeys(("sort", "topk", "mode", "kthvalue", "cummax", "cummin"), _PLACES),
    "aminmax": ("min", "max"),
    "frexp": ("mantissa", "exponent"),
    **dict.fromkeys(("slogdet", "linalg.slogdet"), ("sign", "logabsdet")),
    **dict.fromkeys(("linalg.eig", "linalg.eigh"), ("eigenvalues", "eigenvectors")),
    "linalg.svd": ("U", "S", "Vh"),
    "svd": ("U", "S", "V"),
    **dict.fromkeys(("linalg.qr", "qr"), ("Q", "R")),
    **dict.fromkeys(("linalg.lu", "lu_unpack"), ("P", "L", "U")),
    "linalg.lu_factor": ("LU", "pivots"),
    "linalg.lu_factor_ex": ("LU", "pivots", "info"),
    "linalg.cholesky_ex": ("L", "info"),
    "linalg.inv_ex": ("inverse", "info"),
    "linalg.solve_ex": ("result", "info"),
    "linalg.lstsq": ("solution", "residuals", "rank", "singular_values"),
    "triangular_solve": ("solution", "cloned_coefficient"),
}
#: All names of parts.
NAMES = frozenset(name for names in PARTS.values() for name in names)
#: Ops that return several tensors only with a `dim`.
BY_DIMENSION = frozenset(_ONE_OF_ALL)


def result_attributes(expr: Expr) -> Iterator[Attribute]:
    """Yield the results by name of expressions that have a name."""
    return (node for node in expr.walk() if isinstance(node, Attribute) and node.name not in _ATTRIBUTES)


class NoSuchResult(NamedTuple):
    """The error of an unknown result, and a hint."""

    message: str
    hint: str


def named_result(result: Expr, made: Expr, name: str, at: int = 0) -> Call | NoSuchResult:
    """Return the result `name` of `result`, which the call `made` returned."""
    names = PARTS.get(made.op) if isinstance(made, Call) else None
    if not isinstance(made, Call) or names is None:
        several = "sort(x), max(x, dim=1), linalg.svd(x) and the like give parts"
        return NoSuchResult(f"'{name}' is a part of several results, and this is one", several)
    if made.op in BY_DIMENSION and not _has_dimension(made):
        return NoSuchResult(f"{made.op} gives one tensor here", f"name the dimension: {made.op}(x, dim=1).{names[0]}")
    if name not in names:
        return NoSuchResult(f"{made.op} has no part '{name}'", f"its parts are {', '.join('.' + one for one in names)}")
    return Call("getitem", (result, Literal(names.index(name), at=at)), at=at)


def _has_dimension(call: Call) -> bool:
    """Return whether a dimension stands where a tensor may."""
    second = call.args[1] if len(call.args) > 1 else None
    return "dim" in dict(call.kwargs) or (isinstance(second, Literal) and type(second.value) is int)
