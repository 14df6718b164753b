"""Parameters of a torch module, or of those that a function mentions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from gradcheck.engines.implementation.mentioned_code import mentioned
from gradcheck.engines.implementation.pair_tensors import as_array


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
    return {name: np.asarray(as_array(one)) for name, one in module.named_parameters() if one.requires_grad}


class ModuleState:
    """A module's parameters and buffers, while other tensors replace them.

    These stay after a call, until `restore`: a backward may run the module again, as that of a checkpoint or of a
    reversible block does, and passes gradients to the parameters that it finds."""

    def __init__(self, module: torch.nn.Module) -> None:
        self.module = module
        self._named = {**dict(module.named_parameters()), **dict(module.named_buffers())}
        self._kept: list[tuple[dict[str, Any], dict[str, Any]]] = [
            (one, dict(one)) for part in module.modules() for one in (part._parameters, part._buffers) if len(one)
        ]
        recurrent: list[Any] = [one for one in module.modules() if isinstance(one, torch.nn.RNNBase)]
        self._recurrent = [(one, one._flat_weights) for one in recurrent]  # torch keeps weights in a list, too

    def call(
        self,
        bound: Mapping[str, torch.Tensor],
        arguments: tuple[Sequence[Any], dict[str, Any]],
        device: torch.device | None,
    ) -> Any:
        """Call the module with some parameters replaced.

        Others are copied in the default dtype. Parameters are contiguous, as in any module, also where other tensors
        are not."""
        tensors = {
            id(one): bound[name].contiguous() if name in bound else _as_called(one, device)
            for name, one in self._named.items()
        }
        for places, own in self._kept:
            for name, one in own.items():
                places[name] = tensors.get(id(one))
        for one, _ in self._recurrent:
            one._flat_weights = [getattr(one, name, None) for name in one._flat_weights_names]
        positional, keywords = arguments
        return self.module(*positional, **keywords)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Keep the present parameters after calls within, for a backward."""
        before = [(places, dict(places)) for places, _ in self._kept]
        try:
            yield
        finally:
            _put_back(before)

    def restore(self) -> None:
        """Give the module its own parameters and buffers back."""
        _put_back(self._kept)
        for recurrent, weights in self._recurrent:
            recurrent._flat_weights = weights


def _put_back(kept: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    for places, own in kept:
        places.update(own)


def _as_called(tensor: torch.Tensor, device: torch.device | None) -> torch.Tensor:
    dtype = torch.get_default_dtype() if tensor.is_floating_point() else tensor.dtype
    return tensor.detach().to(device=device or tensor.device, dtype=dtype, copy=True)
