"""One op applied alone in a define-by-run engine, and pulled back."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.engines.base import Application, Cotangents, GradientBackend, Pullback, as_tensor_error
from gradcheck.engines.recording import rebuild
from gradcheck.errors import GradcheckError, TensorError


class OpRun:
    """One application of an op, on leaves of its own.

    leaves        a tensor for each tracked array among the arguments, in order
    roots, seeds  outputs that require a gradient and have a cotangent, and the cotangents: where to start from
    error         what was raised on the way
    """

    __slots__ = ("_engine", "error", "leaves", "roots", "seeds")

    def __init__(self, engine: GradientBackend, application: Application, cotangents: Cotangents) -> None:
        self._engine = engine
        self.leaves: list[Any] = []
        self.roots: list[Any] = []
        self.seeds: list[np.ndarray | None] = []
        self.error: TensorError | None = None
        try:
            result = self._forward(application)
        except GradcheckError as error:
            self.error = as_tensor_error(error)
            return
        outputs = result if type(result) is tuple else (result,)
        for output, cotangent in zip(outputs, cotangents, strict=False):
            if cotangent is not None and getattr(output, "requires_grad", False):
                self.roots.append(output)
                self.seeds.append(cotangent)

    def _forward(self, application: Application) -> Any:
        tracked = iter(application.tracked or itertools.repeat(True))
        leaves, make, host = self.leaves, self._engine.leaf, self._engine.host

        def leaf(array: np.ndarray) -> Any:
            if next(tracked) and dtypes.is_differentiable(array.dtype):
                tensor = make(array, True)
                leaves.append(tensor)
                return tensor
            return make(array, False)

        args, kwargs = rebuild(application.args, application.kwargs, leaf, host.dtype)
        return host.call(application.op, args, kwargs)

    def backward(self) -> None:
        """A pass of its own; what it raises becomes the `error`."""
        if self.roots and self.error is None:
            try:
                self._engine.backward(self.roots, self.seeds, True)
            except GradcheckError as error:
                self.error = as_tensor_error(error)

    def forget(self) -> None:
        """Forget what a pass with others has left behind."""
        for leaf in self.leaves:
            leaf.grad = None

    def pullback(self) -> Pullback:
        """The gradients that have arrived; none where something was raised."""
        if self.error is not None:
            return Pullback((None,) * len(self.leaves), self.error)
        plain = self._engine.array
        return Pullback(tuple([None if leaf.grad is None else plain(leaf.grad) for leaf in self.leaves]))
