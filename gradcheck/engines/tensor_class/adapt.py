"""A Tensor class, wherever it comes from, made an engine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from gradcheck.engines.tensor_class.api import api_of
from gradcheck.engines.tensor_class.call_forms import Library
from gradcheck.engines.tensor_class.dialects import SUBMODULES
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.engines.tensor_class.output import Output
from gradcheck.engines.tensor_class.scalars import ScalarClassEngine


def adapt(constructor: Callable[..., Any], name: str) -> TensorClassEngine:
    """An engine named `name` of a Tensor class, or of a function that makes tensors. Raises UsageError where it is
    none. What the class prints while it is looked at is dropped."""
    with Output().capturing():
        api = api_of(constructor, getattr(constructor, "__name__", name))
    library = Library((*_modules(constructor, api.tensor_type), api.tensor_type))
    return (ScalarClassEngine if api.scalar else TensorClassEngine)(api, library, name)


def _modules(constructor: Callable[..., Any], tensor_type: type) -> list[ModuleType]:
    """Where functions on these tensors may be: the package, the class's own module, submodules by usual names."""
    homes = dict.fromkeys(getattr(thing, "__module__", "") or "" for thing in (constructor, tensor_type))
    names: dict[str, None] = {}
    for home in homes:
        root = home.partition(".")[0]
        for base in dict.fromkeys((root, home, home.rpartition(".")[0])):
            if base and base != "builtins":
                names |= dict.fromkeys((base, *(f"{base}.{sub}" for sub in SUBMODULES)))
    return [sys.modules[name] for name in names if name in sys.modules]
