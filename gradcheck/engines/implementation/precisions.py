"""Which precisions torch computes in while code runs."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: How precise a floating dtype is, to tell which of two is wider.
BITS = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}
REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}


class Precisions(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Looks whether anything that torch computes is less precise than a dtype."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._bits = BITS[REAL.get(dtype, dtype)]
        self.is_less = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for one in found if isinstance(found, (tuple, list)) else (found,):
            if isinstance(one, torch.Tensor):
                bits = BITS.get(REAL.get(one.dtype, one.dtype))
                self.is_less |= bits is not None and bits < self._bits
        return found
