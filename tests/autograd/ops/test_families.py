"""Families' files: no name of an op hides behind that of a file, and every file has its test."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from gradcheck.autograd import ALIASES, TABLE, Op, ops

FAMILIES = sorted(path.stem for path in Path(ops.__file__).parent.glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_not_named_as_an_op_is(name: str) -> None:
    """Its module would hide the op: `ops.softmax`."""
    assert name not in TABLE
    assert name not in ALIASES
    assert isinstance(getattr(ops, name), ModuleType)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_has_its_test(name: str) -> None:
    assert (Path(__file__).parent / f"test_{name}.py").is_file()


def test_ops_are_found_by_name_and_alias() -> None:
    assert isinstance(ops.softmax, Op)
    assert ops.swapdims is ops.transpose
    assert "logsumexp" in dir(ops)
    with pytest.raises(AttributeError, match="no op 'frobnicate'"):
        ops.frobnicate  # noqa: B018


def test_an_op_is_looked_up_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ops.cos is TABLE["cos"]
    monkeypatch.setitem(TABLE, "cos", TABLE["sin"])
    assert ops.cos is TABLE["sin"]
