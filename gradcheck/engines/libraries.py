"""What the engines that come with gradcheck compute with: their answers are known by its own files and these modules.

Nothing is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

#: Top-level modules, by the name of the engine; all of it takes what the core does.
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "core": ("numpy", "ml_dtypes"),
    "torch": ("torch",),
    "hips": ("autograd",),
    "jax": ("jax", "jaxlib"),
}


def libraries_of(engines: Iterable[Any]) -> tuple[str, ...] | None:
    """The modules that all results of these depend on; None where one is somebody's own, which may depend on
    anything."""
    found = list(LIBRARIES["core"])
    for engine in engines:
        if not isinstance(engine, str) or engine not in LIBRARIES:
            return None
        found += LIBRARIES[engine]
    return tuple(dict.fromkeys(found))
