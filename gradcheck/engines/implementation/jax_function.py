"""Functions of JAX as user code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import jax
import jax.numpy
import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.engines.implementation.foreign_function import PullbackFunction, insert_at
from gradcheck.engines.jax import wide_floats
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS


class JaxFunction:
    """A function of JAX arrays, its custom rules included.

    It is compiled once for its shapes, and so is its pull-back, unless they need the values of their arguments: JAX
    would otherwise compile each loop in it (`lax.scan`) for each call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._compiled: dict[tuple[Any, ...], Callable[..., Any]] = {}
        self._gradients: dict[tuple[bool, ...], JaxFunction] = {}

    def __call__(self, arguments: list[Any], needs: list[bool]) -> tuple[list[np.ndarray], bool, PullbackFunction]:
        leaves, structure = jax.tree.flatten(self._results(arguments))

        def pull(incoming: list[np.ndarray]) -> Sequence[np.ndarray | None]:
            pulled = map(np.array, self.gradients(tuple(needs))._results([*arguments, *incoming]))
            return [next(pulled) if need else None for need in needs]

        return [_plain(one) for one in leaves], not jax.tree_util.treedef_is_leaf(structure), pull

    def gradients(self, needs: tuple[bool, ...]) -> JaxFunction:
        """Return the pull-back, of arguments and incoming gradients."""
        places = [place for place, need in enumerate(needs) if need]

        def pulled(*values: Any) -> list[Any]:
            given = values[: len(needs)]
            is_traced = any(isinstance(one, jax.core.Tracer) for one in values)
            function = self._compiled_for(given) if is_traced else self.function
            found, vjp = jax.vjp(lambda *some: function(*insert_at(some, places, given)), *[given[p] for p in places])
            leaves, structure = jax.tree.flatten(found)
            seeds = [_seed(g, leaf) for g, leaf in zip(values[len(needs) :], leaves, strict=True)]
            return [jax.numpy.conj(g) for g in vjp(jax.tree.unflatten(structure, seeds))]  # torch's convention

        return self._gradients.setdefault(needs, JaxFunction(pulled))

    def _results(self, arguments: list[Any]) -> Any:
        """Return the results, compiled if possible."""
        with wide_floats() if any(map(_is_wide, arguments)) else nullcontext():
            given = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
            try:
                return self._compiled_for(given)(*given)
            except USER_EXCEPTIONS:
                found = self.function(*given)
                self._compiled[_shape_of_call(given)] = self.function
                return found

    def tangents(self, arguments: list[Any], place: int, direction: np.ndarray) -> list[np.ndarray]:
        """Return the tangents of the results along a direction of an argument."""
        with wide_floats() if any(map(_is_wide, arguments)) else nullcontext():
            given = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]

            def results(moved: Any) -> Any:
                return jax.tree.leaves(self.function(*insert_at([moved], [place], given)))

            _, found = jax.jvp(results, [given[place]], [jax.numpy.asarray(direction, given[place].dtype)])
            return [np.asarray(one) for one in found if one.dtype != jax.dtypes.float0]

    def _compiled_for(self, given: Sequence[Any]) -> Callable[..., Any]:
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


def _shape_of_call(given: Sequence[Any]) -> tuple[Any, ...]:
    """Return all that a compiled function depends on but arrays."""
    return tuple(None if isinstance(one, jax.Array) else id(one) for one in given)


def _seed(incoming: Any, result: Any) -> Any:
    """Return the incoming gradient of a result; integers have none."""
    dtype = jax.numpy.result_type(result)
    if not jax.numpy.issubdtype(dtype, jax.numpy.inexact):
        return np.zeros(np.shape(result), jax.dtypes.float0)
    return jax.numpy.conj(incoming).astype(dtype)


def _plain(result: Any) -> np.ndarray:
    array = np.array(result)
    return array if array.dtype.kind in "biufc" or array.dtype in dtypes.BY_NAME.values() else array.astype(float)
