"""Graphs whose leaves have names, and get their numbers in each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import count, product
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.makers import SAMPLE
from gradcheck.engines.tensor_class.modules import modules_of
from gradcheck.engines.tensor_class.pass_lookup import words_of
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS

_NAMES = count(1)
#: Returns the values of a tensor, by a user's class that runs graphs and the numbers of all leaves.
Run = Callable[[Any, Any, Mapping[Any, np.ndarray]], Any]
_RUNS: tuple[Run, ...] = (
    lambda runner, tensor, numbers: runner([tensor]).run(numbers)[0],
    lambda runner, tensor, numbers: runner(tensor).run(numbers),
    lambda runner, tensor, numbers: runner().run([tensor], numbers)[0],
    lambda runner, tensor, numbers: runner().run(tensor, numbers),
)


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
