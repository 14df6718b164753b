"""A catalogue to add to."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures.diagnosis import CATALOGUE, catalogue
from gradcheck.checks.failures.diagnosis.catalogue import Hypothesis


@pytest.fixture
def scratch(monkeypatch: pytest.MonkeyPatch) -> list[Hypothesis]:
    """A catalogue to add to, with the real entries, until the test is over."""
    entries = list(CATALOGUE)
    monkeypatch.setattr(catalogue, "CATALOGUE", entries)
    return entries
