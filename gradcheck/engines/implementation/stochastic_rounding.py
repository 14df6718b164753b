"""torch with perturbed rounding: by up to a unit in the last place.

The changes that result are the effect of rounding on any code (the stochastic arithmetic of Vignes, "A stochastic
arithmetic for reliable scientific computation", Mathematics and Computers in Simulation 35, 1993).
"""

from __future__ import annotations

import re
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: Ops that do not round: they choose, copy, compare or move numbers.
_EXACT = frozenset(
    re.findall(
        r"\w+",
        """
    abs neg sign sgn relu relu_ threshold clamp clamp_min clamp_max hardtanh maximum minimum max min amax amin
    aminmax sort topk median kthvalue cummax cummin floor ceil round trunc frac where masked_fill masked_select
    masked_scatter clone _to_copy copy contiguous cat stack index index_select gather take scatter slice_scatter
    select_scatter index_put index_fill index_copy embedding flip roll repeat repeat_interleave constant_pad_nd tril
    triu diag diag_embed diagonal_copy one_hot zeros_like ones_like full_like new_zeros new_ones new_full empty_like
    new_empty threshold_backward select_backward slice_backward max_pool2d_with_indices _unsafe_view _reshape_copy
    nan_to_num lift_fresh_copy bernoulli native_dropout real imag _conj_physical view_as_real_copy randn_like
    rand_like
    """,
    )
)


class StochasticRounding(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Perturbs the results of ops at random; `seed` makes it repeatable."""

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if func._schema.name.rpartition("::")[2] in _EXACT or not any(isinstance(a, torch.Tensor) for a in args):
            return found
        returns = func._schema.returns
        if isinstance(found, tuple):
            return type(found)(self._moved(one, kind) for one, kind in zip(found, returns, strict=False))
        return self._moved(found, returns[0]) if returns else found

    def _moved(self, found: Any, kind: Any) -> Any:
        if not isinstance(found, torch.Tensor) or not (found.is_floating_point() or found.is_complex()):
            return found
        is_view = kind.alias_info is not None and not kind.alias_info.is_write
        if is_view or found.layout is not torch.strided:
            return found
        factors = torch.rand(found.shape, generator=self._generator, dtype=torch.float64, device="cpu").mul_(2).sub_(1)
        factors = factors.to(found.device)
        eps = torch.finfo(found.dtype).eps
        moved = (found.to(torch.complex128 if found.is_complex() else torch.float64) * (1 + eps * factors)).to(
            found.dtype
        )
        return found.copy_(moved) if kind.alias_info is not None else moved
