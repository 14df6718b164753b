"""Ops by name, as rules reach them."""

from __future__ import annotations

import pytest

from gradcheck.autograd import TABLE
from gradcheck.autograd.ops.common.by_name import ops


def test_an_op_is_looked_up_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ops.cos is TABLE["cos"]
    monkeypatch.setitem(TABLE, "cos", TABLE["sin"])
    assert ops.cos is TABLE["sin"]


def test_a_name_that_is_none() -> None:
    with pytest.raises(AttributeError, match="no op 'frobnicate'"):
        ops.frobnicate  # noqa: B018
