"""Which precisions torch computes in while code runs."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: How precise a floating dtype is, to tell which of two is wider.
SIGNIFICAND_BITS = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}
REAL_DTYPES = {torch.complex64: torch.float32, torch.complex128: torch.float64}


#: Numbers that are whole, times this, are of few digits, and as exact in any precision: those of a mask, a count.
_FEW_DIGITS = 256


class PrecisionProbe(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Looks for the least precise dtype that torch computes in, of those less precise than one, but for numbers of few
    digits."""

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
