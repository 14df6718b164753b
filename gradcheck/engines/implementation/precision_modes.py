"""Modes of torch that watch or perturb user code's precision and memory."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: The precision of floating dtypes.
SIGNIFICAND_BITS = {torch.float16: 11, torch.bfloat16: 8, torch.float32: 24, torch.float64: 53}
REAL_DTYPES = {torch.complex64: torch.float32, torch.complex128: torch.float64}
#: Numbers are exact in any precision if they are integers after this factor: those of a mask, a count.
_FEW_DIGITS = 256
#: Functions that allocate memory and leave its elements as they were.
_EMPTY = frozenset(("empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "empty_permuted"))


def significand_bits(dtype: torch.dtype) -> int:
    """Return the precision of a dtype, by default that of doubles."""
    return SIGNIFICAND_BITS.get(dtype, SIGNIFICAND_BITS[torch.float64])


def has_same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Return whether two tensors are equal, NaNs included."""
    return torch.equal(one, other) or torch.equal(torch.nan_to_num(one), torch.nan_to_num(other))


def autocast(dtype: str, device: torch.device | None) -> AbstractContextManager[Any]:
    """Return torch's autocast to a dtype on a device, the CPU by default."""
    if not dtype:
        return nullcontext()
    return torch.autocast("cpu" if device is None else device.type, getattr(torch, dtype))


class WatchingMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode around torch's ops that leaves its compiler unloaded."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: else torch's first call imports its compiler."""
        return False


class PrecisionProbe(WatchingMode):
    """Finds the least precise dtype of torch's results, exact ones aside."""

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


#: Ops that do not round: they choose, copy, compare or move numbers.
_EXACT = frozenset(
    re.findall(
        r"\w+",
        """
    abs neg sign sgn relu threshold clamp clamp_min clamp_max hardtanh maximum minimum max min amax amin
    aminmax sort topk median kthvalue cummax cummin floor ceil round trunc frac where masked_fill masked_select
    masked_scatter clone _to_copy copy contiguous cat stack index index_select gather take scatter slice_scatter
    select_scatter index_put index_fill index_copy embedding flip roll repeat repeat_interleave constant_pad_nd tril
    triu diag diag_embed diagonal_copy one_hot zeros_like ones_like full_like new_zeros new_ones new_full empty_like
    new_empty threshold_backward select_backward slice_backward max_pool2d_with_indices _unsafe_view _reshape_copy
    nan_to_num lift_fresh_copy bernoulli native_dropout real imag _conj_physical view_as_real_copy randn_like
    rand_like fill zero set resize
    """,
    )
)


class StochasticRounding(WatchingMode):
    """Perturbs the results of ops at random; `seed` makes it repeatable."""

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [one for one in (*args, *(kwargs or {}).values()) if isinstance(one, torch.Tensor)]
        is_exact = func._schema.name.rpartition("::")[2].removesuffix("_") in _EXACT or not given
        is_in_place = func._schema.is_mutable and not is_exact
        before = [(one, one.data_ptr(), one.clone()) for one in given] if is_in_place else []
        found = func(*args, **(kwargs or {}))
        if is_exact:
            return found
        returns = func._schema.returns
        if isinstance(found, tuple):
            return type(found)(self._moved(one, kind, before) for one, kind in zip(found, returns, strict=False))
        return self._moved(found, returns[0], before) if returns else found

    def _moved(self, found: Any, kind: Any, before: list[tuple[torch.Tensor, int, torch.Tensor]]) -> Any:
        if not isinstance(found, torch.Tensor) or not (found.is_floating_point() or found.is_complex()):
            return found
        is_view = kind.alias_info is not None and not kind.alias_info.is_write
        if is_view or found.layout is not torch.strided:
            return found
        factors = torch.rand(found.shape, generator=self._generator, dtype=torch.float64, device="cpu").mul_(2).sub_(1)
        factors = factors.to(found.device)
        eps = torch.finfo(found.dtype).eps
        wide = found.to(torch.complex128 if found.is_complex() else torch.float64)
        moved = (wide * (1 + eps * factors)).to(found.dtype)
        if kind.alias_info is None:
            return moved
        # an op in place may move no number (`set_`), or only some (`index_add_`): the others may be an argument's
        for one, address, known in before:
            if one is found and (address != found.data_ptr() or known.shape != found.shape):
                return found
            if one is found:
                moved = torch.where(found == known, found, moved)
        return found.copy_(moved)


class ForwardRounding(WatchingMode):
    """Notes the results that a forward rounds to less than a dtype."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._bits = significand_bits(dtype)
        self.rounded: list[torch.Tensor] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        given = [one for one in args if isinstance(one, torch.Tensor)]
        name = func._schema.name.rpartition("::")[2].removesuffix("_")
        casts = name in ("_to_copy", "copy") and any(significand_bits(one.dtype) >= self._bits for one in given)
        viewed = () if func._schema.is_mutable else [memory_address(one) for one in given]
        made = found if isinstance(found, (tuple, list)) else (found,)
        made = [one for one in made if isinstance(one, torch.Tensor) and significand_bits(one.dtype) < self._bits]
        if casts or name not in _EXACT:
            self.rounded += [one for one in made if memory_address(one) not in viewed]
        return found


def memory_address(tensor: torch.Tensor) -> int:
    """Return the address of a tensor's memory; 0 if it has none to share."""
    is_plain = tensor.layout is torch.strided and not torch._C._functorch.is_functorch_wrapped_tensor(tensor)
    return tensor.untyped_storage().data_ptr() if is_plain and tensor.numel() else 0


class UnwrittenIsNan(WatchingMode):
    """Fills what torch allocates without initial values with NaN.

    A kernel whose grid or mask is too small leaves elements of `torch.empty` as they were: often the right numbers of
    an earlier call."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if func._schema.name.rpartition("::")[2] in _EMPTY and (found.is_floating_point() or found.is_complex()):
            found.fill_(float("nan"))
        return found
