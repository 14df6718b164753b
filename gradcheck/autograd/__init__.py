"""The autograd core: NumPy only, and usable on its own.

It knows arrays, ops and their rules, graphs and the reverse sweep; never expressions, cases or other engines. Imports
run one way: dtypes, families, modes, methods → promotion, signature → op → operators, ops/ → node → pullback → sweep →
accelerator → backward → tensor → trace. `compiled/` makes all of it faster and may be absent; `accelerator` alone
imports it. A new op is an entry in the file of its family in `ops/`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcheck.autograd import ops
    from gradcheck.autograd.backward import grad
    from gradcheck.autograd.modes import no_grad
    from gradcheck.autograd.op import ALIASES, TABLE, Op, lookup
    from gradcheck.autograd.tensor import Tensor

__all__ = ["ALIASES", "TABLE", "Op", "Tensor", "grad", "lookup", "no_grad", "ops"]

#: The modules of names that load on first use: an expression reader needs no graph.
_HOMES = {
    **dict.fromkeys(("ALIASES", "TABLE", "Op", "lookup"), "op"),
    "Tensor": "tensor",
    "grad": "backward",
    "no_grad": "modes",
}


def __getattr__(name: str) -> Any:
    if name == "ops":
        return import_module("gradcheck.autograd.ops")
    if name not in _HOMES:
        raise AttributeError(f"module 'gradcheck.autograd' has no attribute {name!r}")
    return getattr(import_module(f"gradcheck.autograd.{_HOMES[name]}"), name)
