"""The engine of JAX, `--engine jax`: eager, on 64-bit floats of the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import jax.nn
import jax.numpy
import jax.numpy.linalg
import jax.scipy.special
import numpy as np

from gradcheck.engines.functional_engine import FunctionalEngine


@contextmanager
def wide_floats() -> Iterator[None]:
    """Switch 64-bit floats on, which JAX does not use by default."""
    known = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", known)


class Jax(FunctionalEngine):
    """The functions of `jax.numpy`, `jax.nn` and `jax.scipy.special`."""

    def __init__(self) -> None:
        modules = (jax.numpy, jax.nn, jax.scipy.special, jax.numpy.linalg)
        super().__init__("jax", jax.numpy.asarray, (jax.Array,), modules)

    @contextmanager
    def session(self, dtype: np.dtype) -> Iterator[None]:
        with wide_floats(), super().session(dtype):
            yield

    def derivatives(self, function: Callable[..., Any], arguments: list[np.ndarray]) -> Sequence[Any]:
        result, vjp = jax.vjp(function, *[jax.numpy.asarray(argument) for argument in arguments])
        gradients: Sequence[Any] = vjp(jax.numpy.ones((), result.dtype))
        return gradients
