"""The engine of HIPS autograd, `--engine hips`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import autograd
import autograd.numpy
import autograd.numpy.linalg
import numpy as np

from gradcheck.engines.functional_engine import FunctionalEngine


class Hips(FunctionalEngine):
    """The functions of `autograd.numpy` and `autograd.scipy.special`."""

    def __init__(self) -> None:
        modules = [autograd.numpy, autograd.numpy.linalg]
        if find_spec("scipy") is not None:
            modules.append(import_module("autograd.scipy.special"))
        super().__init__("hips", np.asarray, (np.ndarray, np.generic), modules)

    def derivatives(self, function: Callable[..., Any], arguments: list[np.ndarray]) -> Sequence[Any]:
        places = range(len(arguments))
        vjp, _ = autograd.make_vjp(lambda values: function(*[values[i] for i in places]))(tuple(arguments))
        gradients: Sequence[Any] = vjp(np.ones(()))
        return gradients
