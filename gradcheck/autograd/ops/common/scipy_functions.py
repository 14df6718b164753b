"""SciPy's functions, imported on first use."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np


@cache
def scipy_module(name: str) -> Any:
    """Return a module of SciPy, such as `scipy.special`."""
    return import_module(f"scipy.{name}")


def scipy_special(name: str, *args: Any) -> Any:
    """Call a function of `scipy.special`, in its last argument's dtype."""
    return np.asarray(getattr(scipy_module("special"), name)(*args), args[-1].dtype)
