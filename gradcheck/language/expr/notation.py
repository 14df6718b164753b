"""What words mean that are not a case's own: torch's names of ops, numbers and dtypes."""

from __future__ import annotations

import math
import unicodedata
from keyword import iskeyword

import gradcheck.autograd.ops  # noqa: F401  (fills the table)
from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op, lookup
from gradcheck.language.expr.nodes import Dtype, Expr, Literal

NUMBERS = {"inf": math.inf, "nan": math.nan, "pi": math.pi, "e": math.e}
#: Python's own words, which torch takes for dtypes: `x.to(float)`.
_PYTHON_DTYPES = {"float": "float64", "int": "int64", "complex": "complex128"}

#: What to write for words of torch and Python that the language does not have.
INSTEAD = {
    **dict.fromkeys(("allclose", "equal"), "write x == y: in `checks` it holds within the tolerance"),
    "empty": "write zeros(…)",
    "empty_like": "write zeros_like(x)",
    "range": "write arange(…)",
    "int": "integers divide by n // 2",
    "item": "leave it out: a tensor of one element serves as a number",
    "values": "write [0]",
    "indices": "write [1]",
    "data": "write .detach()",
    "grad": "write grad(x), with the name of a tensor",
    "astype": "write .to(torch.float32)",
    "backward": "the pass is the case's: `backward: x`",
    **dict.fromkeys(("cpu", "cuda", "device"), "leave it out: everything runs on the CPU"),
    "numpy": "leave it out",
    **dict.fromkeys(
        ("requires_grad", "requires_grad_"), "leave it out: `inputs` require a gradient, `constants` do not"
    ),
}

#: Where torch keeps functions, to the prefixes that their names have in the op table.
NAMESPACES = {
    **dict.fromkeys(("torch", "torch.nn.functional", "nn.functional", "F", "math"), ("",)),
    **dict.fromkeys(("torch.linalg", "linalg"), ("linalg.",)),
    **dict.fromkeys(("torch.special", "special"), ("special.", "")),
}
#: Names of NumPy, whose functions are not the language's.
NUMPY = frozenset({"np", "numpy", "jnp"})


def find_op(namespace: str, name: str) -> Op | None:
    """The op that `namespace.name` calls, or None; `name` alone where the namespace is empty."""
    for prefix in NAMESPACES.get(namespace, ("",)):
        found = lookup(prefix + name)
        if found is not None:
            return found if namespace != "math" or found.elementwise else None
    return None


def constant(name: str) -> Literal | Dtype | None:
    """What a bare word means where the case has no such name: `pi`, `float64`; None if it means nothing."""
    if name in NUMBERS:
        return Literal(NUMBERS[name])
    found = _PYTHON_DTYPES.get(name) or torch_dtype(name)
    return Dtype(found) if found else None


def torch_dtype(name: str) -> str:
    """The name of the dtype that torch calls `torch.name`, or an empty text."""
    return name if name in dtypes.BY_NAME else dtypes.ALIASES.get(name, "")


def member(namespace: str, name: str) -> Expr | None:
    """What `torch.inf`, `math.pi` or `torch.float64` means; None if nothing."""
    if namespace in ("torch", "math") and name in NUMBERS:
        return Literal(NUMBERS[name])
    found = torch_dtype(name) if namespace == "torch" else ""
    return Dtype(found) if found else None


def is_usable(name: str) -> bool:
    """Whether an expression can refer to this name at all."""
    return name.isidentifier() and not iskeyword(name) and unicodedata.normalize("NFKC", name) == name
