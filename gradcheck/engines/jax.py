"""JAX (https://github.com/jax-ml/jax) as an engine: `--engine jax`. It runs eagerly, on the CPU's 64-bit floats."""

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


class Jax(FunctionalEngine):
    """The functions of `jax.numpy`, `jax.nn` and `jax.scipy.special`, differentiated by `jax.vjp`."""

    def __init__(self) -> None:
        modules = (jax.numpy, jax.nn, jax.scipy.special, jax.numpy.linalg)
        super().__init__("jax", jax.numpy.asarray, (jax.Array,), modules)

    @contextmanager
    def session(self, dtype: np.dtype) -> Iterator[None]:
        """JAX makes everything 32 bits wide unless it is told otherwise; restored afterwards."""
        known = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        try:
            with super().session(dtype):
                yield
        finally:
            jax.config.update("jax_enable_x64", known)

    def derivatives(self, function: Callable[..., Any], arguments: list[np.ndarray]) -> Sequence[Any]:
        result, vjp = jax.vjp(function, *[jax.numpy.asarray(argument) for argument in arguments])
        gradients: Sequence[Any] = vjp(jax.numpy.ones((), result.dtype))
        return gradients
