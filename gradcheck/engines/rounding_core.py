"""The core on arrays that round at random, in forwards and in rules.

See `autograd/random_rounding.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.backward import backward
from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.random_rounding import Rounded, Roundings
from gradcheck.autograd.sweep import Pull
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.base import Application, Cotangents, Pullback
from gradcheck.engines.core import Core, CoreHost
from gradcheck.engines.define_by_run import DefineByRun


class RoundedTensor(Tensor):
    """A tensor whose `data` round at random; each engine has its own class."""

    __slots__ = ()
    roundings: ClassVar[Roundings]

    @classmethod
    def wrap(cls, data: np.ndarray) -> Self:
        """Return a leaf that requires no gradient and shares `data`."""
        return super().wrap(cls.roundings.of(data))

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        """Apply the op, and round results of forwards that lost the array class."""
        result = super().__apply_op__(op, args)
        for part in result if type(result) is tuple else (result,):
            if type(part.data) is Rounded and part.data.roundings is cls.roundings:
                continue
            plain = np.asarray(part.data)
            part.data = cls.roundings.of(plain if type(part.data) is Rounded else cls.roundings.moved(plain))
        return result


class RoundingCore(Core):
    """gradcheck's own engine with random roundings, different in each run."""

    name = "core, rounding at random"

    def __init__(self, roundings: Roundings) -> None:
        self._roundings = roundings
        traits = {"__slots__": (), "roundings": roundings}
        kind: type[RoundedTensor] = type("RoundedTensor", (RoundedTensor,), traits)
        self.tensor_type = kind
        self.host = RoundingHost(kind)

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Tensor:
        tensor: Tensor = self.tensor_type.wrap(array.copy())
        tensor.requires_grad = requires_grad
        return tensor

    def array(self, tensor: Tensor) -> np.ndarray:
        return tensor.data.view(np.ndarray)

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        """Run one pass from all roots; every gradient of a rule rounds again."""

        def watch(roots: Sequence[Tensor], starts: Sequence[np.ndarray], pull: Pull) -> Pull:
            return lambda tensor, gradient: pull(tensor, self._roundings.of(gradient))

        backward(roots, seeds, retain_graph=retain_graph, watch=watch)

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """Pull back by a sweep: recorded results did not round."""
        return DefineByRun.pull_back(self, applications, cotangents, dtype)


class RoundingHost(CoreHost):
    def __init__(self, kind: type[RoundedTensor]) -> None:
        self._kind = kind

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the op's result, always a tensor of its own."""
        result = op(*map(self._rounded, args), **{name: self._rounded(value) for name, value in kwargs.items()})
        if type(result) is self._kind and args and result is args[0] and result.requires_grad:
            return TABLE["mul"](result, 1)
        return tuple(map(self._tensor, result)) if type(result) is tuple else self._tensor(result)

    def _rounded(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(map(self._rounded, value))
        if isinstance(value, np.ndarray) and dtypes.is_differentiable(value.dtype):
            return self._tensor(value)
        return value

    def _tensor(self, result: Any) -> Any:
        return self._kind.wrap(result) if isinstance(result, np.ndarray) else result
