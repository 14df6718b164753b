"""What SciPy computes: special functions, and factorizations that NumPy lacks. It is imported with the first number."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np


@cache
def scipy_module(name: str) -> Any:
    """`scipy.special` or `scipy.linalg`."""
    return import_module(f"scipy.{name}")


def scipy_special(name: str, *args: Any) -> Any:
    """A function of `scipy.special`, in the dtype of its last argument."""
    return np.asarray(getattr(scipy_module("special"), name)(*args), args[-1].dtype)


def map_over_batch(function: Callable[..., Any], *operands: Any) -> list[tuple[np.ndarray, ...]]:
    """`function` of each matrix of a batch, which operands share; what it returns, as tuples."""
    shape = operands[0].shape[:-2]
    flat = [operand.reshape(-1, *operand.shape[len(shape) :]) for operand in operands]
    return [function(*matrices) for matrices in zip(*flat, strict=True)]
