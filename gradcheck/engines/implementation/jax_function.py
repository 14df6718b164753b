"""Functions of JAX as user code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy
import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.engines.implementation.foreign_function import PullbackFunction, insert_at, other_convention
from gradcheck.engines.jax import wide_floats
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS


class JaxFunction:
    """A function of JAX arrays, its custom rules included.

    It is compiled once for its shapes, unless it needs the values of its arguments: JAX would otherwise compile each
    loop in it (`lax.scan`) for each call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._compiled: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, arguments: list[Any], needs: list[bool]) -> tuple[list[np.ndarray], bool, PullbackFunction]:
        places = [place for place, need in enumerate(needs) if need]
        wide = wide_floats if any(map(_is_wide, arguments)) else nullcontext
        with wide():
            given = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
            try:
                found, vjp = _called(self._compiled_for(given), places, given)
            except USER_EXCEPTIONS:
                found, vjp = _called(self.function, places, given)
                self._compiled[_shape_of_call(given)] = self.function
        leaves, structure = jax.tree.flatten(found)
        results = [_plain(one) for one in leaves]

        def pull(incoming: list[np.ndarray]) -> Sequence[np.ndarray | None]:
            with wide():
                seeds = [_seed(g, leaf) for g, leaf in zip(incoming, leaves, strict=True)]
                pulled = vjp(jax.tree.unflatten(structure, seeds))
            return insert_at((other_convention(np.array(g)) for g in pulled), places, [None] * len(arguments))

        return results, not jax.tree_util.treedef_is_leaf(structure), pull

    def tangents(self, arguments: list[Any], place: int, direction: np.ndarray) -> list[np.ndarray]:
        """Return the tangents of the results along a direction of an argument."""
        with wide_floats() if any(map(_is_wide, arguments)) else nullcontext():
            given = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]

            def results(moved: Any) -> Any:
                return jax.tree.leaves(self.function(*insert_at([moved], [place], given)))

            _, found = jax.jvp(results, [given[place]], [jax.numpy.asarray(direction, given[place].dtype)])
            return [np.asarray(one) for one in found]

    def _compiled_for(self, given: list[Any]) -> Callable[..., Any]:
        """Return the function, compiled for these arguments that are no arrays."""
        key = _shape_of_call(given)
        if key not in self._compiled:
            places = [place for place, one in enumerate(given) if isinstance(one, jax.Array)]
            jitted = jax.jit(lambda *arrays: self.function(*insert_at(arrays, places, given)))
            self._compiled[key] = lambda *arguments: jitted(*(arguments[place] for place in places))
        return self._compiled[key]


def _is_wide(argument: Any) -> bool:
    """Return whether JAX must have double precision switched on."""
    return isinstance(argument, np.ndarray) and argument.dtype in (np.float64, np.complex128)


def _shape_of_call(given: list[Any]) -> tuple[Any, ...]:
    """Return all that a compiled function depends on but arrays."""
    return tuple(None if isinstance(one, jax.Array) else id(one) for one in given)


def _called(function: Callable[..., Any], places: list[int], given: list[Any]) -> tuple[Any, Callable[..., Any]]:
    """Return the results, and their pull-back to the arguments at some places."""
    if not places:
        return function(*given), lambda _: ()
    return jax.vjp(lambda *some: function(*insert_at(some, places, given)), *[given[place] for place in places])  # type: ignore[no-any-return]


def _seed(incoming: np.ndarray, result: Any) -> Any:
    """Return the incoming gradient of a result; integers have none."""
    dtype = jax.numpy.result_type(result)
    if not jax.numpy.issubdtype(dtype, jax.numpy.inexact):
        return np.zeros(np.shape(result), jax.dtypes.float0)
    return jax.numpy.asarray(other_convention(incoming), dtype=dtype)


def _plain(result: Any) -> np.ndarray:
    array = np.array(result)
    return array if array.dtype.kind in "biufc" or array.dtype in dtypes.BY_NAME.values() else array.astype(float)
