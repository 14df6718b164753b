"""Functions of JAX as user code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy
import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.engines.implementation.foreign_function import PullbackFunction, insert_at, other_convention
from gradcheck.engines.jax import wide_floats


class JaxFunction:
    """A function of JAX arrays, its custom rules included."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, arguments: list[Any], needs: list[bool]) -> tuple[list[np.ndarray], bool, PullbackFunction]:
        places = [place for place, need in enumerate(needs) if need]
        with wide_floats():
            given = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]

            def of_some(*some: Any) -> Any:
                return self.function(*insert_at(some, places, given))

            found, vjp = jax.vjp(of_some, *[given[place] for place in places])
        several = isinstance(found, (tuple, list))
        results = [_plain(one) for one in (found if several else [found])]

        def pull(incoming: list[np.ndarray]) -> Sequence[np.ndarray | None]:
            with wide_floats():
                pairs = zip(map(other_convention, incoming), results, strict=True)
                seeds = [jax.numpy.asarray(g, dtype=r.dtype) for g, r in pairs]
                pulled = vjp(type(found)(seeds) if several else seeds[0])
            return insert_at((other_convention(np.array(g)) for g in pulled), places, [None] * len(arguments))

        return results, several, pull


def _plain(result: Any) -> np.ndarray:
    array = np.array(result)
    return array if array.dtype.kind in "biufc" or array.dtype in dtypes.BY_NAME.values() else array.astype(float)
