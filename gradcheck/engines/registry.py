"""The engines with a name of their own; another one is an entry here.

Nothing is imported. `resolve` makes an engine of an entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


class EngineEntry(NamedTuple):
    """An engine of gradcheck's own."""

    module: str
    class_name: str
    libraries: tuple[str, ...]  # top-level modules on which its results depend, besides those of the core
    install_hint: str = ""
    always_returns: bool = False  # whether no case needs a time limit


_INSTALL = "pip install 'gradcheck[engines]'"
ENGINES: Mapping[str, EngineEntry] = {
    "core": EngineEntry("gradcheck.engines.core", "Core", ("numpy", "ml_dtypes"), always_returns=True),
    "torch": EngineEntry("gradcheck.engines.torch", "Torch", ("torch",), always_returns=True),
    "hips": EngineEntry("gradcheck.engines.hips", "Hips", ("autograd",), _INSTALL),
    "jax": EngineEntry("gradcheck.engines.jax", "Jax", ("jax", "jaxlib"), _INSTALL),
}
#: Tensor classes of well-known libraries.
LIBRARY_CLASSES: Mapping[str, str] = {
    "mygrad": "mygrad:tensor",
    "micrograd": "micrograd.engine:Value",
    "dezero": "dezero:Variable",
    "tinygrad": "tinygrad:Tensor",
    "chainer": "chainer:Variable",
}


def libraries_of(engines: Iterable[Any]) -> tuple[str, ...] | None:
    """Return the modules that results depend on; None for an unknown engine."""
    found = list(ENGINES["core"].libraries)
    for engine in engines:
        if not isinstance(engine, str) or engine not in ENGINES:
            return None
        found += ENGINES[engine].libraries
    return tuple(dict.fromkeys(found))
