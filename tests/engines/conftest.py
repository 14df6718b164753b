"""The two engines that the op table was written for."""

from __future__ import annotations

import pytest

from gradcheck.engines.base import Engine
from gradcheck.engines.resolve import engine


@pytest.fixture(params=["core", "torch"])
def either(request: pytest.FixtureRequest) -> Engine:
    return engine(request.param)
