"""SciPy's functions, imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np


@cache
def scipy_module(name: str) -> Any:
    """Return `scipy.special` or `scipy.linalg`."""
    return import_module(f"scipy.{name}")


def scipy_special(name: str, *args: Any) -> Any:
    """Call a function of `scipy.special`, in its last argument's dtype."""
    return np.asarray(getattr(scipy_module("special"), name)(*args), args[-1].dtype)


def map_over_batch(function: Callable[..., Any], *operands: Any) -> list[tuple[np.ndarray, ...]]:
    """Return `function` of each matrix of a batch, as tuples."""
    shape = operands[0].shape[:-2]
    flat = [operand.reshape(-1, *operand.shape[len(shape) :]) for operand in operands]
    return [function(*matrices) for matrices in zip(*flat, strict=True)]
