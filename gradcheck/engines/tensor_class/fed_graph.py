"""Tensors of numbers, if the constructor takes none.

A function makes them; or leaves have names, and get their numbers in each run of a graph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import wraps
from itertools import count, product
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.members import modules_of
from gradcheck.engines.tensor_class.pass_lookup import words_of
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, signature_parameters

_NAMES = count(1)
#: Returns the values of a tensor, by a user's class that runs graphs and the numbers of all leaves.
Run = Callable[[Any, Any, Mapping[Any, np.ndarray]], Any]
_RUNS: tuple[Run, ...] = (
    lambda runner, tensor, numbers: runner([tensor]).run(numbers)[0],
    lambda runner, tensor, numbers: runner(tensor).run(numbers),
    lambda runner, tensor, numbers: runner().run([tensor], numbers)[0],
    lambda runner, tensor, numbers: runner().run(tensor, numbers),
)
#: The data of trial tensors.
SAMPLE = np.array([[0.5, 0.25, 2.0], [1.0, 3.0, 0.75]])
#: Modules whose classes are no data of a user's own; and others' functions that make arrays, by usual names.
_LIBRARIES = ("builtins", "numpy", "typing", "collections", "torch", "jax")
_ARRAY_MAKERS = (("torch", "tensor"), ("jnp", "asarray"))


class FedGraph:
    """Makes leaves of a user's class, and runs graphs with their numbers."""

    def __init__(self, kind: Callable[..., Any], leaf: Callable[[str], Any], run: Run, runner: type) -> None:
        self.__module__, self.__name__ = kind.__module__, kind.__name__
        self._leaf, self._run, self._runner = leaf, run, runner
        self._numbers: WeakKeyDictionary[Any, np.ndarray] = WeakKeyDictionary()

    def __call__(self, data: Any) -> Any:
        """Return a leaf that has these numbers in each run."""
        leaf = self._leaf(f"v{next(_NAMES)}")
        self._numbers[leaf] = np.array(data)
        return leaf

    def values(self, tensor: Any) -> np.ndarray:
        """Return a tensor's values in a run of its graph."""
        return np.asarray(self._run(self._runner, tensor, dict(self._numbers)))


def fed_graph_of(kind: Callable[..., Any], module: ModuleType | None) -> FedGraph | None:
    """Return how to use a class of leaves without numbers, if it is one."""
    homes = modules_of([kind.__module__, getattr(module, "__name__", "")], dialects.RUNNERS, dialects.RUNNERS)
    leaves = [kind, *_named(homes, dialects.LEAVES)]
    for leaf, runner, run in product(leaves, _named(homes, dialects.RUNNERS), _RUNS):
        with suppress(*USER_EXCEPTIONS):  # it takes others
            graph = FedGraph(kind, leaf, run, runner)
            tensor = graph(SAMPLE)
            if np.array_equal(graph.values(tensor + tensor), SAMPLE + SAMPLE):
                return graph
    return None


def _named(homes: list[ModuleType], words: tuple[str, ...]) -> Iterator[Any]:
    for home in homes:
        for name, value in list(vars(home).items()):
            if callable(value) and not set(words_of(name)).isdisjoint(words):
                yield value


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


def later_makers(constructor: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Yield functions that make a tensor by its name, and put numbers into it.

    A method of it takes them, or an attribute."""
    first = next(iter(signature_parameters(constructor) or ()), None)
    for name in (*dialects.SETTERS, *dialects.VALUES) if getattr(first, "name", "") in dialects.NAMES else ():

        @wraps(constructor, updated=())
        def make(data: Any, *, name: str = name) -> Any:
            leaf = constructor(f"v{next(_NAMES)}")
            if callable(there := getattr(leaf, name)):
                there(data)
            else:
                setattr(leaf, name, data)
            return leaf

        yield make


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
