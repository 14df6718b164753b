"""Files of families: names, tests, and loading on first use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from gradcheck.autograd import ALIASES, TABLE, Op, ops
from gradcheck.autograd import families as ops_families

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
    own = {name for name, op in TABLE.items() if op.forward.__module__ == f"{ops.__name__}.{family}"}
    return own | {alias for alias, name in ALIASES.items() if name in own}


def test_every_name_is_listed_with_its_family() -> None:
    folder = Path(ops.__file__).parent
    files = {path.relative_to(folder).with_suffix("") for path in (*folder.glob("*.py"), *folder.glob("rare_ops/*.py"))}
    families = {".".join(path.parts) for path in files if path.stem != "__init__"}
    listed = {family: set(names.split()) for family, names in ops_families.FAMILIES.items()}
    assert listed.keys() == families
    wrong = {family: listed[family] ^ names_in(family) for family in families if listed[family] != names_in(family)}
    assert wrong == {}, f"add them to FAMILIES in autograd/families.py, or remove them: {wrong}"


def test_a_family_loads_when_one_of_its_ops_is_asked_for() -> None:
    """Few other families load, nor SciPy; an unknown name loads none."""
    program = """
import sys
from gradcheck.autograd import TABLE, lookup, ops
def loaded():
    return {name for name in sys.modules if ".ops." in name and ".common" not in name}
assert not loaded() and lookup("frobnicate") is None and not loaded()
assert lookup("lgamma").name == "lgamma" and lookup("special.psi").name == "digamma"
assert {name for name in loaded() if "rare_ops." in name} == {"gradcheck.autograd.ops.rare_ops.special_functions"}
assert len(loaded()) < 12 and "scipy" not in sys.modules
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
