"""The run of a graph with user code for one entry, and modes of its calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np
import torch

from gradcheck.engines.graph_run import GraphRun
from gradcheck.engines.implementation.call_arguments import leaves_of
from gradcheck.engines.implementation.precision_modes import REAL_DTYPES, SIGNIFICAND_BITS, memory_address
from gradcheck.engines.tensor_class.user_code_guard import CodeError
from gradcheck.language.case import Claim
from gradcheck.language.evaluation.host import Host

_NUMERIC = (torch.Tensor, int, float, complex, np.ndarray, np.generic)


class CodeRun(GraphRun):
    """A problem's graph, with user code for one entry."""

    engine: Any  # the `CodeEngine` that runs it, which imports this

    def run_graph(self) -> None:
        """Run every entry; then call the code with other numbers, if in the mode."""
        super().run_graph()
        other = self.engine.in_between
        if self.engine.mode.calls_in_between and other is not None:
            with self.engine.same_module_state():
                GraphRun.run_graph(CodeRun(self.engine, other))

    def compute_entry(self, name: str, claim: Claim, names: Mapping[str, Any]) -> Any:
        """Compute the entry by the code, any other by torch."""
        if name != self.engine.entry:
            return super().compute_entry(name, claim, names)
        found = self.engine.call_code(names)
        operands = [one for one in names.values() if isinstance(one, torch.Tensor)]
        several = isinstance(found, (tuple, list, dict))
        made = [self._result(one, operands) for one in (self._results(found) if several else [found])]
        return tuple(made) if several else made[0]

    def _results(self, found: Any) -> list[Any]:
        """Return the tensors and numbers among nested results. Raises CodeError."""
        listed = [one for one in leaves_of(found) if isinstance(one, _NUMERIC)]
        if not listed:
            raise CodeError(f"{self.engine.name} returned {type(found).__name__}, no tensor")
        is_flat = not isinstance(found, dict) and len(listed) == len(found)
        self.engine.observations.has_nested_results |= not is_flat
        return listed

    def _result(self, found: Any, operands: list[torch.Tensor]) -> Any:
        if not isinstance(found, torch.Tensor):
            if not isinstance(found, _NUMERIC):
                raise CodeError(f"{self.engine.name} returned {type(found).__name__}, no tensor")
            found = torch.as_tensor(found)
        here = memory_address(found)
        if here and any(memory_address(one) == here for one in operands):
            self.engine.observations.shares_memory = True
        if any(found is one for one in operands):
            found = found.view_as(found)
        return self._narrowed(found)

    def _narrowed(self, found: torch.Tensor) -> torch.Tensor:
        """Return a wider result in the case's dtype; others stay, as mistakes."""
        wanted = _dtype_of(self.engine.host, self.problem.dtype)
        wide, case = REAL_DTYPES.get(found.dtype, found.dtype), REAL_DTYPES.get(wanted, wanted)
        if wide not in SIGNIFICAND_BITS or wide == case:
            return found
        if not self.engine.binding.operand_dtypes:
            self.engine.observations.wider_dtypes.add(str(found.dtype).removeprefix("torch."))
        if found.is_complex():
            return found.to(torch.complex64 if case is torch.float32 else torch.complex128)
        return found.to(case)

    def changed(self) -> dict[str, np.ndarray]:
        """Return inputs and constants whose values have changed."""
        given = {**self.problem.inputs, **self.problem.constants}
        if any(self.problem.forwards):
            return {}
        found = {}
        for name, tensor in (*self.leaves.items(), *self.constants.items()):
            now = self.engine.array(tensor)
            known = given[name]
            if now.shape != known.shape or now.tobytes() != np.ascontiguousarray(known).tobytes():
                found[name] = now.copy()
        return found


@cache
def _dtype_of(host: Host, dtype: np.dtype) -> Any:
    """Return the host's dtype; cached, since NumPy builds its name each time."""
    return host.dtype(dtype.name)


# Modes of a call that must not change its result ---------------------------------------------------

#: A tensor's layout in memory: contiguous; transposed with gaps between numbers; a part of a larger one with gaps
#: between rows; one number, or row, expanded to all; the transpose of a contiguous matrix; channels last; or the
#: contiguous end of a larger one.
Layout = Literal["plain", "strided", "sliced", "expanded", "transposed", "channels_last", "offset"]
#: The number of dimensions that a layout needs.
MIN_DIMENSIONS: Mapping[Layout, int] = {"transposed": 2, "channels_last": 4}
_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}


@dataclass(frozen=True, slots=True)
class CallMode:
    """One mode of a call.

    `calls_in_between` calls the code with other numbers between its forward and its backward; `without_accumulation`
    takes gradients by `torch.autograd.grad`."""

    inputs: Layout = "plain"
    incoming: Layout = "plain"
    calls_in_between: bool = False
    records_graph: bool = True
    requires_grad: bool = True
    without_accumulation: bool = False


PLAIN_CALL = CallMode()


def with_layout(tensor: torch.Tensor, layout: Layout) -> torch.Tensor:
    """Return the same numbers in a layout, if their values allow it."""
    if tensor.dim() < MIN_DIMENSIONS.get(layout, 1) or not tensor.numel():
        return tensor
    if layout == "strided":
        wide = tensor.new_zeros((*reversed(tensor.shape), 2))
        return wide[..., 0].permute(*reversed(range(tensor.dim()))).copy_(tensor)
    if layout == "sliced":
        wide = tensor.new_zeros((*tensor.shape[:-1], 2 * tensor.shape[-1] + 1))
        return wide[..., 1 : 1 + tensor.shape[-1]].copy_(tensor)
    if layout == "expanded":
        return _expanded(tensor)
    if layout == "transposed":
        return tensor.mT.contiguous().mT
    if layout == "channels_last" and tensor.dim() in _CHANNELS_LAST:
        return tensor.contiguous(memory_format=_CHANNELS_LAST[tensor.dim()])
    if layout == "offset":
        return tensor.new_zeros((1 + len(tensor), *tensor.shape[1:]))[1:].copy_(tensor)
    return tensor


def _expanded(tensor: torch.Tensor) -> torch.Tensor:
    first = tensor[:1]
    if not torch.equal(first.expand_as(tensor), tensor):
        return tensor
    one = tensor.reshape(-1)[:1]
    source = one if torch.equal(one.expand(tensor.numel()), tensor.reshape(-1)) else first
    shape = [1] * tensor.dim() if source is one else list(first.shape)
    return source.clone().reshape(shape).expand_as(tensor)
