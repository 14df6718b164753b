"""The hook between the core and its accelerator, the folder `compiled/`.

The core is complete without it: a Tensor is a Node, an op goes through `Op.general`, and a backward pass is `sweep`
with `pull_arrays`. The accelerator does the same faster, to the last bit. Without its folder everything works as with
it, and a test runs the core's tests so. No other module imports `compiled`.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gradcheck.autograd.node import N, Node
from gradcheck.autograd.pullback import pull_arrays
from gradcheck.autograd.sweep import sweep

#: The folder's package; None if there is no such folder.
compiled: Any = None
_spec = find_spec("gradcheck.autograd.compiled")
if _spec is not None and _spec.origin is not None:  # a folder without code has no origin
    from gradcheck.autograd import compiled

T = TypeVar("T", bound=type[Node])

if TYPE_CHECKING or compiled is None:
    TensorNode = Node
else:
    #: The class that `Tensor` extends.
    TensorNode = compiled.CompiledNode


def accelerate(tensor_class: T) -> T:
    """Make ops on tensors of exactly this class fast."""
    if compiled is not None:
        compiled.accelerate(tensor_class)
    return tensor_class


def sweep_arrays(
    roots: Sequence[N], seeds: Sequence[np.ndarray], *, keep: frozenset[N] = frozenset(), release: bool = False
) -> dict[N, np.ndarray]:
    """Return what `sweep` does with `pull_arrays`."""
    if compiled is not None and all(isinstance(root, TensorNode) for root in roots):
        return compiled.sweep_compiled(roots, seeds, keep=keep, release=release)  # type: ignore[no-any-return]
    return sweep(roots, seeds, pull_arrays, keep=keep, release=release)


def forget() -> None:
    """Drop all compiled functions, as after a change of the op table."""
    if compiled is not None:
        compiled.forget()
