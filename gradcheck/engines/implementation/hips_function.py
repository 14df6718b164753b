"""Functions of HIPS autograd as user code."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import autograd
import autograd.builtins
import autograd.numpy
import numpy as np

from gradcheck.engines.implementation.foreign_function import PullbackFunction
from gradcheck.engines.implementation.global_state import RandomStates


class HipsFunction:
    """A function of `autograd.numpy`, its own primitives included."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, arguments: list[Any], needs: list[bool]) -> tuple[list[np.ndarray], bool, PullbackFunction]:
        found, pulled = self._pulled(arguments, needs)
        several = isinstance(found, (tuple, list))

        def pull(incoming: list[np.ndarray]) -> Sequence[np.ndarray | None]:
            gradients = map(np.asarray, pulled(incoming))
            return [next(gradients) if need else None for need in needs]

        return [np.asarray(one) for one in (found if several else [found])], several, pull

    def gradients(self, needs: Sequence[bool]) -> HipsFunction:
        """Return the pull-back, of arguments and incoming gradients."""
        return HipsFunction(lambda *values: self._pulled(values[: len(needs)], needs)[1](values[len(needs) :]))

    def _pulled(self, arguments: Sequence[Any], needs: Sequence[bool]) -> tuple[Any, Callable[[Sequence[Any]], Any]]:
        """Return the result, and a function of incoming gradients."""
        states = RandomStates()

        def of_one(place: int) -> Callable[[Any], Any]:
            """Return the function of one argument; each draws the same."""
            # in a tuple, autograd adds no complex gradient to a real zero

            def function(value: Any) -> Any:
                states.restore()
                found = self.function(*[value if k == place else a for k, a in enumerate(arguments)])
                return autograd.builtins.tuple(found) if type(found) in (tuple, list) else found

            return function

        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Output seems independent of input")
            pulls = [autograd.make_vjp(of_one(place))(arguments[place]) for place, need in enumerate(needs) if need]
        found = pulls[0][1] if pulls else self.function(*arguments)

        def pulled(incoming: Sequence[Any]) -> Any:
            seeds = [_conjugate(g) for g in incoming]  # torch's convention
            given = autograd.builtins.tuple(seeds) if autograd.builtins.isinstance(found, (tuple, list)) else seeds[0]
            return tuple(_conjugate(vjp(given)) for vjp, _ in pulls)

        return found, pulled


def _conjugate(gradient: Any) -> Any:
    if getattr(gradient, "dtype", None) == np.dtype(object):
        raise TypeError("an array of autograd's numbers, which autograd does not follow")
    return autograd.numpy.conj(gradient) if autograd.numpy.iscomplexobj(gradient) else gradient
