"""Parameters of a torch module, or of those that a function mentions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from gradcheck.autograd import dtypes
from gradcheck.engines.implementation.mentioned_code import mentioned


class ModuleHolder(torch.nn.Module):
    """A function as a module, with the parameters of those it mentions."""

    def __init__(self, function: Callable[..., Any], modules: Mapping[str, torch.nn.Module]) -> None:
        super().__init__()
        self.function = function
        for name, module in modules.items():
            self.add_module(name, module)

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        return self.function(*arguments, **keywords)


def is_module(value: Any) -> bool:
    """Return whether it is a module of torch."""
    return isinstance(value, torch.nn.Module)


def holder_of(function: Callable[..., Any]) -> ModuleHolder | None:
    """Return a function that mentions modules with them, or None."""
    found = [one for one in mentioned(function) if isinstance(one, torch.nn.Module)]
    inner = {id(part) for module in found for part in module.modules() if part is not module}
    modules = [module for module in found if id(module) not in inner]
    named = {f"module{place or ''}": module for place, module in enumerate(modules)}
    return ModuleHolder(function, named) if named else None


def parameter_names(module: torch.nn.Module) -> tuple[str, ...]:
    """Return the names of the parameters that require a gradient."""
    return tuple(name for name, one in module.named_parameters() if one.requires_grad)


def parameter_arrays(module: torch.nn.Module) -> dict[str, np.ndarray]:
    """Return the values of the parameters that require a gradient."""
    return {name: _array(one.detach().cpu()) for name, one in module.named_parameters() if one.requires_grad}


def _array(tensor: torch.Tensor) -> np.ndarray:
    if tensor.dtype is torch.bfloat16:
        return np.asarray(tensor.float().numpy()).astype(dtypes.BFLOAT16)
    return np.asarray(tensor.numpy())


def call_with_parameters(
    module: torch.nn.Module,
    bound: Mapping[str, torch.Tensor],
    arguments: tuple[Sequence[Any], dict[str, Any]],
    device: torch.device | None,
) -> Any:
    """Call a module with some parameters replaced.

    Others are called in the default dtype. The module keeps its own parameters and buffers, unchanged. Parameters are
    contiguous, as in any module, also where other tensors are not."""
    own = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    state = {name: bound[name].contiguous() if name in bound else _as_called(one, device) for name, one in own.items()}
    positional, keywords = arguments
    state = {f"module.{name}": tensor for name, tensor in state.items()}
    return torch.func.functional_call(_WithFlatWeights(module), state, tuple(positional), keywords)


class _WithFlatWeights(torch.nn.Module):
    """A module whose recurrent parts use the weights that replace their own.

    torch keeps those in a list, too, which `functional_call` does not replace."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, *arguments: Any, **keywords: Any) -> Any:
        recurrent: list[Any] = [one for one in self.module.modules() if isinstance(one, torch.nn.RNNBase)]
        known = [one._flat_weights for one in recurrent]
        for one in recurrent:
            one._flat_weights = [getattr(one, name, None) for name in one._flat_weights_names]
        try:
            return self.module(*arguments, **keywords)
        finally:
            for one, weights in zip(recurrent, known, strict=True):
                one._flat_weights = weights


def _as_called(tensor: torch.Tensor, device: torch.device | None) -> torch.Tensor:
    dtype = torch.get_default_dtype() if tensor.is_floating_point() else tensor.dtype
    return tensor.detach().to(device=device or tensor.device, dtype=dtype, copy=True)
