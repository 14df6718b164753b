"""Which subgradients the installed torch takes, where its versions differ; torch itself is not imported."""

from __future__ import annotations

import re
from functools import cache


@cache
def ties_are_shared() -> bool:
    """Whether `clamp` with tensors, `fmax` and `fmin` share a gradient between equal operands, and `clamp` with numbers
    passes none on at its bounds: so from torch 2.14 on."""
    from importlib import metadata  # not for graphs without these ops

    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return True
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2]) >= (2, 14)
