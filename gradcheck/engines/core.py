"""The home-made autograd core as an engine."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.backward import backward
from gradcheck.autograd.modes import using_default_dtype
from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.tensor import Tensor, wrap
from gradcheck.engines.tape import Tape


class Core(Tape):
    """gradcheck's own `Tensor`."""

    name = "core"
    tensor_type = Tensor

    def __init__(self) -> None:
        self.host = CoreHost()

    def session(self, dtype: np.dtype) -> AbstractContextManager[None]:
        """Numbers without a dtype take the case's."""
        return using_default_dtype(dtypes.real_of(dtype))

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Tensor:
        """A new tensor with a copy of the array."""
        tensor = wrap(array.copy())
        tensor.requires_grad = requires_grad
        return tensor

    def array(self, tensor: Tensor) -> np.ndarray:
        """The tensor's values."""
        return tensor.data

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """One pass from all roots at once."""
        backward(roots, seeds, retain_graph=retain_graph)


class CoreHost:
    """Calls an op on tensors of the core, or on arrays."""

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result. One that hands its argument back gives a tensor of its own, with a gradient of its own."""
        result = op(*args, **kwargs)
        if args and result is args[0] and type(result) is Tensor and result.requires_grad:
            return TABLE["mul"](result, 1)
        return result

    def dtype(self, name: str) -> np.dtype:
        """The dtype of this torch name."""
        return dtypes.BY_NAME[name]
