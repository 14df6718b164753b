"""The core with the gradients of some ops computed by another engine.

It shows whether these gradients make the whole difference between the two engines.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.autograd.signature import Parameter
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.core import Core, CoreHost
from gradcheck.engines.recording import RecordedCall, application_of, flat
from gradcheck.errors import Unsupported


class CoreWithBorrowedVjps(Core):
    """The core, with the pull-back of these ops by another engine."""

    name = "core, by another's rules"

    def __init__(self, other: Engine, ops: Collection[str]) -> None:
        super().__init__()
        self.host = _Host(other, frozenset(ops))


class _Host(CoreHost):
    """The host that makes one node of each of these ops."""

    def __init__(self, other: Engine, ops: frozenset[str]) -> None:
        self._other, self._ops = other, ops

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        result = super().call(op, args, kwargs)
        if op.name not in self._ops or type(result) is not Tensor or not result.requires_grad:
            return result
        tensors = [value for value in flat((*args, *kwargs.values())) if type(value) is Tensor]
        application = application_of(RecordedCall(op, args, kwargs, result, ""))
        places = [sum(application.tracked[:index]) for index in range(len(tensors))]
        made = Op(
            name=op.name,
            parameters=tuple([Parameter(f"tensor{index}") for index in range(len(tensors))]),
            forward=lambda *arrays: result.data.copy(),
            rules=tuple([partial(self._borrowed_vjp, application, place) for place in places]),
            holomorphic=False,
        )
        return made.general(tuple(tensors), {})

    def _borrowed_vjp(self, application: Application, place: int, g: Any, y: Any, *values: Any) -> np.ndarray:
        """Return the other engine's gradient. Raises Unsupported if it has none."""
        ((shape, dtype),) = [output for output in application.outputs if output is not None]
        (found,) = self._other.pull_back([application], [(np.asarray(g, dtype).reshape(shape),)], dtype)
        if found.error is not None:
            raise Unsupported(f"{self._other.name} pulls {application.op.name} back otherwise")
        gradient = found.gradients[place]
        tracked = [value for value, is_tracked in zip(values, application.tracked, strict=True) if is_tracked]
        return np.zeros_like(tracked[place]) if gradient is None else gradient
