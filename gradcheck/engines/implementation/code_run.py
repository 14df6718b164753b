"""The run of a graph through torch, with user code for one entry."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

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
