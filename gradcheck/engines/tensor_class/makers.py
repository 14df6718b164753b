"""Functions that make tensors of numbers, if the constructor takes none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import wraps
from itertools import product
from types import ModuleType
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, signature_parameters

#: The data of trial tensors.
SAMPLE = np.array([[0.5, 0.25, 2.0], [1.0, 3.0, 0.75]])
#: Modules whose classes are no data of a user's own; and others' functions that make arrays, by usual names.
_LIBRARIES = ("builtins", "numpy", "typing", "collections", "torch", "jax")
_ARRAY_MAKERS = (("torch", "tensor"), ("jnp", "asarray"))


def maker_of(constructor: Callable[..., Any], module: ModuleType | None) -> Callable[..., Any] | None:
    """Return a function that makes tensors of a class from numbers, if any."""
    if not isinstance(constructor, type):
        return None
    homes = [sys.modules.get(name) for name in (constructor.__module__, constructor.__module__.partition(".")[0])]
    for home, name in product((homes[0], module, constructor, homes[1]), dialects.MAKERS):
        function: Callable[..., Any] | None = getattr(home, name, None)
        try:
            if function not in (None, constructor) and isinstance(function(SAMPLE.tolist()), constructor):
                return function
        except USER_EXCEPTIONS:  # it takes others
            continue
    return None


def data_makers(constructor: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Yield what may make the data of a class that takes no arrays of NumPy's.

    It is the user's class that annotates the first parameter, or a function of torch or JAX."""
    if not isinstance(constructor, type):
        return
    home = vars(sys.modules.get(constructor.__module__, object))
    parameters = signature_parameters(constructor)
    kind = parameters[0].annotation if parameters else None
    kind = home.get(kind) if isinstance(kind, str) else kind
    if isinstance(kind, type) and kind is not constructor and kind.__module__.partition(".")[0] not in _LIBRARIES:
        yield kind
    yield from (getattr(home[name], maker) for name, maker in _ARRAY_MAKERS if hasattr(home.get(name), maker))


def of_wrapped(constructor: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes tensors of numbers by the data's class."""

    @wraps(constructor, updated=())
    def make(data: Any, **settings: Any) -> Any:
        return constructor(inner(data), **settings)

    return make
