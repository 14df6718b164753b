"""The two engines that the op table was written for; a process for those that must not be loaded in this one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gradcheck.engines.base import Engine
from gradcheck.engines.resolve import resolve_engine
from tests.engines.elsewhere import Elsewhere, process


@pytest.fixture(params=["core", "torch"])
def either(request: pytest.FixtureRequest) -> Engine:
    return resolve_engine(request.param)


@pytest.fixture(scope="session")
def elsewhere() -> Iterator[Elsewhere]:
    """`elsewhere("jax", function, argument)`: what the function returns or raises, in a process of its own."""
    with process() as call:
        yield call
