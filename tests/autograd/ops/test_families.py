"""Families' files: no name of an op hides behind that of a file, and every file has its test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gradcheck.autograd import ALIASES, TABLE, Op, ops
from gradcheck.autograd.ops import on_demand

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


def names_in(family: str) -> set[str]:
    """The ops of a file, and other names for them."""
    own = {name for name, op in TABLE.items() if op.forward.__module__.rpartition(".")[2] == family}
    return own | {alias for alias, name in ALIASES.items() if name in own}


def test_what_loads_later_is_listed() -> None:
    files = {path.stem for path in Path(on_demand.__file__).parent.glob("*.py")} - {"__init__"}
    assert files == set(on_demand.FAMILIES)
    listed = {family: set(names.split()) for family, names in on_demand.FAMILIES.items()}
    assert listed == {family: names_in(family) for family in files}


def test_a_family_loads_when_one_of_its_ops_is_asked_for() -> None:
    """And neither the others nor SciPy do; what has never been heard of loads none."""
    program = """
import sys
from gradcheck.autograd import TABLE, lookup, ops
def loaded():
    return {name.rpartition(".")[2] for name in sys.modules if ".on_demand." in name}
assert not loaded() and lookup("frobnicate") is None and not loaded()
assert lookup("lgamma").name == "lgamma" and lookup("special.psi").name == "digamma"
assert loaded() == {"special_functions"} and "scipy" not in sys.modules
assert "fft.fft" not in TABLE and ops.cummax.name == "cummax" and "fft.fft" in dir(ops)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr


def test_ops_are_found_by_name_and_alias() -> None:
    assert isinstance(ops.softmax, Op)
    assert ops.swapdims is ops.transpose
    assert "logsumexp" in dir(ops)
    with pytest.raises(AttributeError, match="no op 'frobnicate'"):
        ops.frobnicate  # noqa: B018


def test_an_op_that_was_found_is_found_at_once() -> None:
    assert ops.cos is TABLE["cos"]
    assert vars(ops)["cos"] is TABLE["cos"]
