"""A forward and its backward on torch's tensors, called with arrays.

Both compute gradients by hand, so torch records nothing of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import torch

from gradcheck.autograd.dtypes import BFLOAT16
from gradcheck.engines.implementation.call_arguments import parts_of, with_parts
from gradcheck.engines.implementation.mentioned_code import mentions
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.engines.torch import tensor_of


class PairCalls:
    """Calls of a pair, with tensors in place of arrays if it takes those.

    Code that mentions torch is called with tensors first, and code that mentions neither torch nor NumPy with arrays.
    One that raises then, and not with the others, takes those. Methods of an object that keeps tensors take tensors."""

    def __init__(self, forward: Callable[..., Any], backward: Callable[..., Any], keeps_tensors: bool = False) -> None:
        pair = (forward, backward)
        is_numpys = any(mentions(one, "numpy") for one in pair)
        self._tensors_first = keeps_tensors or any(mentions(one, "torch") for one in pair)
        is_known = keeps_tensors or (is_numpys and not self._tensors_first)
        self.takes_tensors = self._tensors_first if is_known else None

    def call(self, function: Callable[..., Any], arguments: list[Any]) -> Any:
        """Return the function's results, with arrays in place of tensors."""
        if self.takes_tensors is not None:
            return _called(function, arguments, self.takes_tensors)
        first = self._tensors_first
        try:
            found, takes = _called(function, arguments, first), first
        except USER_EXCEPTIONS as error:
            try:
                found, takes = _called(function, arguments, not first), not first
            except USER_EXCEPTIONS:
                raise error from None
        self.takes_tensors = takes
        return found


def _called(function: Callable[..., Any], arguments: list[Any], with_tensors: bool) -> Any:
    if not with_tensors:
        return function(*arguments)
    with torch.no_grad():
        return _converted(function(*[_converted(one, as_tensor) for one in arguments]), as_array)


def _converted(value: Any, convert: Callable[[Any], Any]) -> Any:
    """Return the value with each array or tensor in its structures converted."""
    parts = [part for _, part in parts_of(value)]
    if not parts:
        return convert(value)
    return with_parts(value, [_converted(part, convert) for part in parts])


def as_tensor(value: Any) -> Any:
    """Return a tensor that shares the array's memory where torch can."""
    is_array = isinstance(value, np.ndarray) and value.dtype.kind in "biufcV"
    if not is_array or value.dtype == BFLOAT16 or not value.flags.writeable or min(value.strides, default=0) < 0:
        return tensor_of(value) if is_array else value
    return torch.from_numpy(value)


def as_array(value: Any) -> Any:
    """Return an array of a tensor, and anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach().cpu()
    return value.float().numpy().astype(BFLOAT16) if value.dtype is torch.bfloat16 else value.numpy()


def copy_of(owner: Any) -> Any:
    """Return a deep copy of an object, except for attributes that have none."""
    try:
        return copy.deepcopy(owner)
    except USER_EXCEPTIONS:
        copied = copy.copy(owner)
        for name, value in vars(copied).items():
            with suppress(*USER_EXCEPTIONS):
                setattr(copied, name, copy.deepcopy(value))
        return copied
