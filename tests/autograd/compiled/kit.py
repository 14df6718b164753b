"""Calls of ops by compiled functions and in general, compared bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import Op, Tensor
from gradcheck.autograd.compiled import FAST_CALLS, calls
from gradcheck.autograd.compiled.calls import WORTH_IT


class GeneralTensor(Tensor):
    """A tensor without a fast path: only ops on exactly `Tensor` have one."""

    __slots__ = ()


def leaf(*shape: int, dtype: str = "float64", requires_grad: bool = True, kind: type[Tensor] = Tensor) -> Tensor:
    """Return a leaf whose numbers depend on its shape alone."""
    drawn = np.random.default_rng(shape).standard_normal(shape).astype(dtype)
    return kind(drawn, requires_grad=requires_grad)


def functions_of(op: Op) -> dict[Any, Callable[..., Any]]:
    """Return the compiled functions of an op, by the kinds of its arguments."""
    return FAST_CALLS[Tensor].functions[op]


def often(call: Callable[[], Any]) -> Any:
    """Return what a call gives once it is compiled, if it can be."""
    return [call() for _ in range(WORTH_IT + 1)][-1]


def compile_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile forwards at their first call, and rules at their first pull."""
    monkeypatch.setattr(calls, "WORTH_IT", 1)
    monkeypatch.setattr(calls, "_PULLS", 1)


def same(found: list[Any], wanted: list[Any]) -> bool:
    """Return whether two lists are equal, arrays to the last bit."""
    return len(found) == len(wanted) and all(map(_same, found, wanted))


def _same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    if not isinstance(one, np.ndarray):
        return bool(one == other)
    return (one.dtype, one.shape) == (other.dtype, other.shape) and one.tobytes() == other.tobytes()
