"""Modes of torch that watch, or perturb, the precision of user code."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: The precision of floating dtypes.
SIGNIFICAND_BITS = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}
REAL_DTYPES = {torch.complex64: torch.float32, torch.complex128: torch.float64}


#: Numbers are exact in any precision if they are integers after this factor: those of a mask, a count.
_FEW_DIGITS = 256


class PrecisionProbe(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Finds the least precise dtype, below a given one, of torch's results.

    Results that are exact in any precision do not count."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._bits = SIGNIFICAND_BITS[REAL_DTYPES.get(dtype, dtype)]
        self.least_precise: torch.dtype | None = None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for one in found if isinstance(found, (tuple, list)) else (found,):
            if isinstance(one, torch.Tensor):
                dtype = REAL_DTYPES.get(one.dtype, one.dtype)
                if SIGNIFICAND_BITS.get(dtype, self._bits) < self._bits and _has_many_digits(one):
                    self.least_precise, self._bits = dtype, SIGNIFICAND_BITS[dtype]
        return found


def _has_many_digits(tensor: torch.Tensor) -> bool:
    parts = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
    scaled = parts.double() * _FEW_DIGITS
    return not torch.equal(scaled.nan_to_num(), scaled.round().nan_to_num())
