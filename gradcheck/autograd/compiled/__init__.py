"""The accelerator: it makes the core fast, and changes no result.

It knows nodes, ops and their rules; never expressions, cases or engines. The core knows it by one module only,
`gradcheck.autograd.accelerator`, and is complete without it.

Ops on tensors go by functions that are compiled for the kinds of arguments that occur often (`calls`), from what
forwards and rules do when they are traced. Backward passes go by the plans that these functions give their results
(`plans`, `compiled_sweep`). Large values that can no longer be read are released (`buffer_release`).

Imports run one way: buffer_release → compiled_node → tracing → array_tracing → fast_forwards → generated_code →
plans → compiled_sweep, calls.

To make one op faster, read its record in `ops/` and its entry in `fast_forwards`, if it has one:

    grep -rnE 'def reshape|np\\.reshape' gradcheck/autograd

Its forward is traced, so write it with NumPy functions that `fast_forwards` has entries for, or add one. Only a forward
that looks at values needs an entry of its own there.
"""

from __future__ import annotations

from gradcheck.autograd.compiled.calls import BINARY, FastCalls, operator
from gradcheck.autograd.compiled.compiled_node import CompiledNode
from gradcheck.autograd.compiled.compiled_sweep import sweep_compiled
from gradcheck.autograd.op import CALLS, TABLE

__all__ = ["FAST_CALLS", "CompiledNode", "accelerate", "forget", "sweep_compiled"]

#: By class of tensors, the calls of ops on them.
FAST_CALLS: dict[type[CompiledNode], FastCalls] = {}


def accelerate(kind: type[CompiledNode]) -> None:
    """Make ops and operators on tensors of exactly this class fast."""
    calls = FAST_CALLS[kind] = FastCalls(kind)
    CALLS.update(dict.fromkeys((kind, list, tuple), calls.call))
    for name, method in BINARY.items():
        setattr(kind, method, operator(kind, TABLE[name], calls.functions[TABLE[name]]))


def forget() -> None:
    """Drop all compiled functions."""
    for kind in FAST_CALLS:
        accelerate(kind)
