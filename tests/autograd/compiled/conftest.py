"""Every test here begins and ends without compiled functions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gradcheck.autograd import accelerator


@pytest.fixture(autouse=True)
def _without_compiled_functions() -> Iterator[None]:
    accelerator.forget()
    yield
    accelerator.forget()
