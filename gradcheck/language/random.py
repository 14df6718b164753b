"""Random creators: how each draws from a generator, in the dtype asked for, as torch would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Draw = Callable[..., Any]
DRAWS: dict[str, Draw] = {name: None for name in ("randn", "rand", "uniform", "randint", "randn_like", "rand_like", "randint_like", "uniform_like", "normal")}  # type: ignore
