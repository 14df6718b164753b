"""A process for libraries whose threads no fork survives: what is tested after them forks as it did before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import pytest

from gradcheck.checks.isolation.fork_call import ForkedWorker

#: Calls `function(*args)` there, where the library is installed; what that raises is raised here.
Elsewhere = Callable[..., Any]


@contextmanager
def process() -> Iterator[Elsewhere]:
    """One that is started by the first call, and has the next ones, too."""
    with ForkedWorker(()) as workers:

        def call(library: str, function: Callable[..., Any], *args: Any) -> Any:
            if find_spec(library) is None:
                pytest.skip(f"{library} is not installed")
            return workers.submit(function, *args).result()

        yield call
