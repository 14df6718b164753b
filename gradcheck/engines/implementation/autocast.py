"""Code under `torch.autocast`, its own or a chosen one.

It computes in the precision of autocast, whatever it is given, and is judged in that. Its operands keep their dtype.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from gradcheck.engines.implementation.precision_modes import SIGNIFICAND_BITS
from gradcheck.language.problem import Problem

if TYPE_CHECKING:
    from gradcheck.engines.implementation.code_engine import CodeEngine


class AutocastProbe(TorchFunctionMode):
    """Finds the dtype of an autocast that is on while torch is called."""

    def __init__(self, device_type: str) -> None:
        super().__init__()
        self._device_type = device_type
        self.dtype: torch.dtype | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch.is_autocast_enabled(self._device_type):
            self.dtype = torch.get_autocast_dtype(self._device_type)
        return func(*args, **(kwargs or {}))


def autocast_dtype(engine: CodeEngine, problem: Problem) -> str:
    """Return the dtype of the code's autocast; "" if none is less precise."""
    given = engine.host.dtype(problem.dtype.name)
    if not engine.code.is_torch or given not in (torch.float32, torch.float16):
        return ""
    with AutocastProbe(engine.device.type if engine.device is not None else "cpu") as probe:
        engine.values_alone(problem)
    if probe.dtype is None or SIGNIFICAND_BITS[probe.dtype] >= SIGNIFICAND_BITS[given]:
        return ""
    return str(probe.dtype).removeprefix("torch.")


def judge_in_autocast(engine: CodeEngine, problem: Problem) -> str:
    """Return the dtype to judge the code in, and keep its operands' dtype."""
    found = autocast_dtype(engine, problem)
    if found:
        own = dict.fromkeys(engine.binding.names, problem.dtype.name)
        operand_dtypes = {**own, **engine.binding.operand_dtypes}
        engine.binding = replace(engine.binding, operand_dtypes=operand_dtypes)
        engine.observations.autocast_dtype = found
    return found or problem.dtype.name
