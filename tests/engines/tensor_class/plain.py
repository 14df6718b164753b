"""A class for tests that need any at all."""

from __future__ import annotations

from typing import Any

import numpy as np


class Plain:
    """A Tensor class with little in it."""

    def __init__(self, data: Any) -> None:
        self.data, self.grad = np.asarray(data), None

    def sum(self) -> None: ...

    def backward(self, gradient: Any = None) -> None: ...
