"""Functions of HIPS autograd as user code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import autograd
import autograd.builtins
import numpy as np

from gradcheck.engines.implementation.foreign_function import PullbackFunction, insert_at, other_convention


class HipsFunction:
    """A function of `autograd.numpy`, its own primitives included."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, arguments: list[Any], needs: list[bool]) -> tuple[list[np.ndarray], bool, PullbackFunction]:
        places = [place for place, need in enumerate(needs) if need]

        def of_one(place: int) -> Callable[[Any], Any]:
            """Return the function of one argument."""
            # in a tuple, autograd adds no complex gradient to a real zero

            def function(value: Any) -> Any:
                found = self.function(*[value if k == place else a for k, a in enumerate(arguments)])
                return autograd.builtins.tuple(found) if type(found) in (tuple, list) else found

            return function

        pulls = [autograd.make_vjp(of_one(place))(arguments[place]) for place in places]
        found = pulls[0][1] if pulls else self.function(*arguments)
        several = isinstance(found, (tuple, list))
        results = [np.asarray(one) for one in (found if several else [found])]

        def pull(incoming: list[np.ndarray]) -> Sequence[np.ndarray | None]:
            seeds = [other_convention(g) for g in incoming]
            pulled = [vjp(tuple(seeds) if several else seeds[0]) for vjp, _ in pulls]
            return insert_at(map(other_convention, pulled), places, [None] * len(arguments))

        return results, several, pull
