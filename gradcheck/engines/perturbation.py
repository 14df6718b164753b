"""Rounding errors made larger on purpose: every op's result is moved a little, and the gradients answer.

How far gradients move tells how much of a disagreement rounding alone can explain (see
`checks/closeness/conditioning.py`). Each result is multiplied by `1 + amplitude * r`, r uniform between -1 and 1,
element by element, and the multiplication is part of the graph, so that the backward pass is perturbed at the same
places. What an op's own rule sees of its result is moved too: `1 - y * y` says nothing at y = 1 - 1e-17. This is
stochastic arithmetic in the manner of CESTAC (La Porte and Vignes, "Error analysis in computing", IFIP 1974). It works
in double precision whatever the case's dtype, so that nothing but the perturbation is seen.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from gradcheck.autograd.dtypes import RAISED
from gradcheck.autograd.op import TABLE, Op
from gradcheck.engines.base import TensorBackend
from gradcheck.engines.recording import flat
from gradcheck.language.evaluation.host import NUMPY, Host


@dataclass(frozen=True, slots=True)
class Perturbation:
    """The relative size of the errors, and where they come from. An amplitude of 0 only raises precision."""

    amplitude: float
    generator: np.random.Generator

    def factors(self, shape: tuple[int, ...]) -> np.ndarray:
        """What to multiply a tensor of this shape by, element by element."""
        moves = self.generator.uniform(-1.0, 1.0, shape)
        return np.asarray(1.0 + self.amplitude * moves)


class PlainArrays:
    """NumPy's arrays as they are, without gradients."""

    host: Host = NUMPY
    tensor_type: type = np.ndarray

    def leaf(self, array: np.ndarray, requires_grad: bool) -> Any:
        return array

    def array(self, tensor: Any) -> np.ndarray:
        plain: np.ndarray = tensor
        return plain


class PerturbingHost:
    """A host that calls ops through a backend's, and perturbs their results."""

    def __init__(self, backend: TensorBackend, perturbation: Perturbation) -> None:
        self._backend, self._host, self._perturbation = backend, backend.host, perturbation

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result, moved."""
        result = self._host.call(op, args, kwargs)
        parts = result if isinstance(result, tuple) else (result,)
        for part in parts:
            self._round(part, args)
        moved = tuple(self.perturb(part) for part in parts)
        return moved if isinstance(result, tuple) else moved[0]

    def dtype(self, name: str) -> Any:
        """The dtype of this name, or the wide one that stands in for it."""
        return self._host.dtype(RAISED.get(name, name))

    def perturb(self, tensor: Any) -> Any:
        """A tensor moved by the amplitude; integers, and all else, as they are."""
        if not self._perturbation.amplitude or type(tensor) is not self._backend.tensor_type:
            return tensor
        array = self._backend.array(tensor)
        if array.dtype.kind not in "fcV":
            return tensor
        factors = self._backend.leaf(self._perturbation.factors(array.shape), False)
        return self._host.call(TABLE["mul"], (tensor, factors), {})

    def _round(self, result: Any, args: tuple[Any, ...]) -> None:
        """Move a recorded result itself, in the memory that its rule will look at; not what it shares with an
        argument, since nothing was rounded there."""
        if not self._perturbation.amplitude or not getattr(result, "requires_grad", False):
            return
        array = self._backend.array(result)
        given = [self._backend.array(arg) for arg in flat(args) if isinstance(arg, self._backend.tensor_type)]
        if array.flags.writeable and not any(np.may_share_memory(array, other) for other in given):
            array *= self._perturbation.factors(array.shape)


B = TypeVar("B", bound=TensorBackend)


def perturbed(backend: B, perturbation: Perturbation) -> B:
    """The same backend with its host's results perturbed."""
    other = copy(backend)
    other.host = PerturbingHost(backend, perturbation)
    return other
