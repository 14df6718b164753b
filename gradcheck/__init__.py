"""gradcheck proves gradients right, or says exactly why they are wrong.

Importing it is cheap: modules are loaded on first use, and torch only when a case is compared with it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcheck.autograd import Tensor, no_grad, ops
    from gradcheck.checks.scheduling.run import run
    from gradcheck.language.loader import load

__version__ = "0.9.0"
__all__ = ["Tensor", "__version__", "load", "no_grad", "ops", "run"]

_HOMES = {
    "Tensor": "gradcheck.autograd.tensor",
    "no_grad": "gradcheck.autograd.modes",
    "load": "gradcheck.language.loader",
    "run": "gradcheck.checks.scheduling.run",
}


def __getattr__(name: str) -> Any:
    if name == "ops":
        return import_module("gradcheck.autograd").ops
    if name not in _HOMES:
        raise AttributeError(f"module 'gradcheck' has no attribute {name!r}")
    import_module("gradcheck.autograd")
    return getattr(import_module(_HOMES[name]), name)


def load_ipython_extension(shell: Any) -> None:
    """Register `%%gradcheck`, for cells that hold a case."""
    import_module("gradcheck.ipython").load(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
