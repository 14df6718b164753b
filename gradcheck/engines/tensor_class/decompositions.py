"""Ops that an engine lacks, written in ones that it may have. Identities of arithmetic alone: what is tested must stay
what the case says."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from gradcheck.autograd.op import TABLE


def _add(input: Any, other: Any, alpha: Any) -> Any:
    return NotImplemented if alpha == 1 else input + other * alpha


def _sub(input: Any, other: Any, alpha: Any) -> Any:
    return input + other * -alpha


def _div(input: Any, other: Any, rounding_mode: Any) -> Any:
    if rounding_mode is not None:
        return NotImplemented
    return input * (1 / other) if isinstance(other, (int, float)) and other else input * other**-1


def _mean(input: Any, dim: Any, keepdim: Any, dtype: Any) -> Any:
    if dtype is not None:
        return NotImplemented
    total = TABLE["sum"](input, dim, keepdim)
    count = prod(input.shape) // max(1, prod(total.shape))
    return total * (1 / count) if count else NotImplemented


def _expand(input: Any, size: Any) -> Any:
    """Broadcasting, by a product with ones."""
    lead = len(size) - input.ndim
    target = [input.shape[i - lead] if s == -1 else s for i, s in enumerate(size)]
    return input * np.ones(target, input.dtype)


def _squeeze(input: Any, dim: Any) -> Any:
    dims = range(input.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else (dim,)
    gone = {d % max(input.ndim, 1) for d in dims}
    return TABLE["reshape"](input, [size for i, size in enumerate(input.shape) if i not in gone or size != 1])


def _unsqueeze(input: Any, dim: int) -> Any:
    shape = list(input.shape)
    shape.insert(dim % (input.ndim + 1), 1)
    return TABLE["reshape"](input, shape)


#: By name, an op as a function of all its arguments; NotImplemented where these are not covered.
DECOMPOSITIONS: dict[str, Callable[..., Any]] = {
    "add": _add,
    "sub": _sub,
    "div": _div,
    "mean": _mean,
    "expand": _expand,
    "squeeze": _squeeze,
    "unsqueeze": _unsqueeze,
    "neg": lambda input: input * -1,
    "positive": lambda input: input * 1,
    "clone": lambda input: input * 1,
    "contiguous": lambda input: input * 1,
    "square": lambda input: input * input,
    "reciprocal": lambda input: input**-1,
    "sqrt": lambda input: input**0.5,
    "rsqrt": lambda input: input**-0.5,
}
