"""A Tensor class, wherever it comes from, made an engine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gradcheck.engines.tensor_class.api import style_of
from gradcheck.engines.tensor_class.call_forms import Library
from gradcheck.engines.tensor_class.engine import Duck
from gradcheck.engines.tensor_class.output import Output
from gradcheck.engines.tensor_class.scalars import Grid

#: Submodules in which libraries keep their functions, below the package and below the class's module.
_SUBMODULES = ("functional", "nn.functional", "ops", "functions", "linalg", "nn", "math", "activations", "losses",
               "nnet.activations", "nnet.losses", "nnet", "tensor", "F")  # fmt: skip


def adopt(kind: Callable[..., Any], name: str) -> Duck:
    """An engine named `name` of a Tensor class, or of a function that makes tensors. Raises UsageError where it is
    none. What the class prints while it is looked at is dropped."""
    with Output().capturing():
        style = style_of(kind, getattr(kind, "__name__", name))
    library = Library((*_modules(kind, style.tensor_type), style.tensor_type))
    return (Grid if style.scalar else Duck)(style, library, name)


def _modules(kind: Callable[..., Any], tensor_type: type) -> list[ModuleType]:
    """Where functions on these tensors may be: the package, the class's own module, submodules by usual names."""
    homes = dict.fromkeys(getattr(thing, "__module__", "") or "" for thing in (kind, tensor_type))
    names: dict[str, None] = {}
    for home in homes:
        root = home.partition(".")[0]
        for base in dict.fromkeys((root, home, home.rpartition(".")[0])):
            if base and base != "builtins":
                names |= dict.fromkeys((base, *(f"{base}.{sub}" for sub in _SUBMODULES)))
    found = [sys.modules[name] for name in names if name in sys.modules]
    return [module for module in found if isinstance(module, ModuleType)]
