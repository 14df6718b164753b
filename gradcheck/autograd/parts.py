"""What torch calls the parts of results that are several tensors: `max(x, dim=1).values`, `linalg.qr(A).Q`.

They are known by the op alone, so that a name is a place among the parts, and never an attribute that is looked up.
"""

from __future__ import annotations

_PLACES = ("values", "indices")
_ONE_OF_ALL = dict.fromkeys(("max", "min", "median", "nanmedian"), _PLACES)
#: By the op's name, in order.
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
#: All that a part is called.
NAMES = frozenset(name for names in PARTS.values() for name in names)
#: Ops that give several tensors only where they are told a dimension.
BY_DIMENSION = frozenset(_ONE_OF_ALL)
