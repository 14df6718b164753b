"""torch's names for the parts of results: `max(x, dim=1).values`.

The op alone decides, so that a name is a place among the parts, and never an attribute.
"""

from __future__ import annotations

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
