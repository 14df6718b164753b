"""What may be written after `--engine`, and what is said of what may not."""

from __future__ import annotations

import ctypes.util
import os
import sys
from importlib import metadata
from pathlib import Path
from textwrap import dedent

import pytest

from gradcheck.engines import resolve
from gradcheck.engines.core import Core
from gradcheck.engines.resolve import InstalledSpec, imported_anew, resolve_engine
from gradcheck.engines.tensor_class.engine import TensorClassEngine
from gradcheck.errors import UsageError

TENSOR = """
import numpy as np

class Tensor:
    def __init__(self, data):
        self.data, self.grad = np.asarray(data), None
    def sum(self):
        made = Tensor(self.data.sum())
        made.maker = self
        return made
    def backward(self):
        self.grad = np.ones(())
        self.maker.grad = np.ones_like(self.maker.data)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))


def test_a_file_and_a_class_in_it(folder: Path) -> None:
    write(folder / "lib" / "mine.py", TENSOR)
    found = resolve_engine("lib/mine.py:Tensor")
    assert found.name == "mine.Tensor"


def test_a_file_may_import_its_neighbours(folder: Path) -> None:
    write(folder / "lib" / "kernels.py", TENSOR)
    write(folder / "lib" / "front.py", "from kernels import Tensor\n")
    assert resolve_engine("lib/front.py:Tensor").name == "front.Tensor"


def test_a_file_of_a_package_may_import_relatively(folder: Path) -> None:
    write(folder / "toygrad" / "__init__.py", "")
    write(folder / "toygrad" / "base.py", TENSOR)
    write(folder / "toygrad" / "front.py", "from .base import Tensor\n")
    assert resolve_engine("toygrad/front.py:Tensor").name == "front.Tensor"


def test_a_file_hides_no_module_of_its_name(folder: Path) -> None:
    write(folder / "numpy.py", "raise RuntimeError('imported by mistake')\n")
    write(
        folder / "json.py",
        "import os\n" + dedent(TENSOR.replace("import numpy as np", "import array, math\nnp = None")),
    )
    import json

    with pytest.raises(UsageError):  # this one cannot work, but nothing else is perturbed
        resolve_engine("json.py:Tensor")
    assert json.loads("1") == 1


def test_a_module_in_the_working_directory(folder: Path) -> None:
    write(folder / "wd_engine.py", TENSOR)
    assert resolve_engine("wd_engine:Tensor").name == "wd_engine.Tensor"


def test_what_is_installed_stays_so_when_it_is_imported_again(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case may have an engine imported once more, and the folder of the case a module of its name."""
    monkeypatch.syspath_prepend(str(library := tmp_path_factory.mktemp("library")))
    write(library / "placed.py", TENSOR)
    engine = resolve_engine(InstalledSpec("placed:Tensor"))
    assert isinstance(engine, TensorClassEngine)
    write(folder / "placed.py", f"{TENSOR}\nraise SystemExit('the folder ran')\n")
    assert imported_anew(engine) is not engine


def test_an_attribute_of_an_attribute(folder: Path) -> None:
    write(folder / "nested.py", TENSOR + "\nclass api:\n    Best = Tensor\n")
    assert resolve_engine("nested.py:api.Best").name == "nested.api.Best"


def test_an_engine_object_and_a_class_of_engines(folder: Path) -> None:
    write(
        folder / "own.py",
        "from gradcheck.engines.core import Core\n\nclass Mine(Core):\n    name = 'mine'\n\nready = Mine()\n",
    )
    assert resolve_engine("own.py:Mine").name == "mine"
    assert resolve_engine("own.py:ready").name == "mine"


def test_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = metadata.EntryPoint("house", "gradcheck.engines.core:Core", resolve.ENTRY_POINT_GROUP)
    monkeypatch.setattr(
        resolve.metadata, "entry_points", lambda group: [point] if group == resolve.ENTRY_POINT_GROUP else []
    )
    assert isinstance(resolve_engine("house"), Core)
    with pytest.raises(UsageError, match="did you mean 'house'"):
        resolve_engine("hause")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("nowhere.py:Tensor", "there is no file nowhere.py"),
        ("folder.py:Tensor", "folder.py is not a regular file"),
        (f"{'x' * 5_000}.py:Tensor", "x.py.*too long|there is no file x"),
        ("mime.py:Tensor", r"there is no file mime.py; did you mean 'mine.py'"),
        ("mine.py:Tensr", "there is no Tensr in mine.py; did you mean 'Tensor'"),
        ("mine.py:Unlikely", "it has Tensor"),
        ("mine.py:", "names no engine"),
        (":Tensor", "names no engine"),
        ("mine.py:np", "is a module, no engine"),
        ("mine.py:number", "is an int, no engine"),
        ("mine.py:Plain", "has no backward"),
        ("mine.py:Ends", "Ends cannot be made from an array: SystemExit: 3"),
        ("mine.py", "mine.py is a file, no engine; write mine.py:CLASS; it has Tensor"),
        ("no.such.module:Tensor", "cannot be imported: ModuleNotFoundError"),
        ("broken.py:Tensor", r"cannot be imported: SyntaxError.*broken.py:1"),
        ("raising.py:Tensor", r"cannot be imported: ZeroDivisionError.*raising.py:2.*it printed 'before'"),
        ("ending.py:Tensor", "ends the program when it is imported; put what should run only as a program below"),
    ],
)
def test_what_cannot_be_found_is_said_in_a_line(folder: Path, spec: str, said: str) -> None:
    plain = "\nclass Plain:\n    def __init__(self, data):\n        self.data = data\nnumber = 3\n"
    plain += "class Ends:\n    def __init__(self, data):\n        raise SystemExit(3)\n"
    write(folder / "mine.py", TENSOR + plain)
    write(folder / "broken.py", "class Tensor(:\n")
    write(folder / "raising.py", "print('before')\n1 / 0\n")
    write(folder / "ending.py", "import sys\nsys.exit(2)\n")
    (folder / "folder.py").mkdir()
    with pytest.raises(UsageError, match=said):
        resolve_engine(spec)


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(UsageError, match=r"core, torch, .*FILE.py:CLASS"):
        resolve_engine("tensorflux")


@pytest.mark.parametrize("name", ["core", "torch", "hips"])
def test_gradchecks_own_have_their_names(name: str) -> None:
    if name == "hips":
        pytest.importorskip("autograd")
    assert resolve_engine(name).name == name


def test_what_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = resolve.ENGINES["jax"]._replace(module="gradcheck.engines.absent", install_hint="pip install it")
    monkeypatch.setitem(resolve.ENGINES, "jax", entry)
    with pytest.raises(UsageError, match=r"the engine 'jax' cannot be imported: .*; pip install it"):
        resolve_engine("jax")


def test_an_engine_without_a_name_gets_one() -> None:
    class Nameless:
        name = ""

        def evaluate(self, problem: object) -> None: ...

        def pull_back(self, applications: object, cotangents: object, dtype: object) -> None: ...

    made = resolve.as_engine(Nameless, "mine.Nameless", "mine.py:Nameless")
    assert (type(made), made.name) == (Nameless, "mine.Nameless")


def test_a_file_that_has_changed_is_read_again(folder: Path) -> None:
    write(folder / "mine.py", TENSOR)
    assert resolve_engine("mine.py:Tensor").name == "mine.Tensor"
    write(folder / "mine.py", TENSOR.replace("Tensor", "Sensor"))  # as long as before
    assert resolve_engine("mine.py:Sensor").name == "mine.Sensor"


def test_a_librarys_tensor_class_is_known_by_the_librarys_name() -> None:
    pytest.importorskip("mygrad")
    assert resolve_engine("mygrad").name == "mygrad.tensor"
    with pytest.raises(UsageError, match="is a library that is not installed"):
        resolve_engine("chainer")


def test_what_is_written_for_an_older_numpy_says_what_to_do(folder: Path) -> None:
    write(folder / "mine.py", "import numpy as np\nNUMBER = np.find_common_type\n" + TENSOR)
    with pytest.raises(UsageError) as raised:
        resolve_engine("mine.py:Tensor")
    assert str(raised.value.hint).startswith("it is written for an older NumPy than ")
    write(folder / "other.py", "import os\nNUMBER = os.nothing\n" + TENSOR)
    with pytest.raises(UsageError) as raised:
        resolve_engine("other.py:Tensor")
    assert not raised.value.hint


def test_a_neighbour_that_a_file_can_import_by_two_names_is_there_once(folder: Path) -> None:
    """With its folder among those that are looked in, `front` would be there twice, and `make` of the other's class."""
    front = "try:\n    import extra_ops\nexcept ModuleNotFoundError:\n    from . import extra_ops\n"
    ops = "try:\n    import front\nexcept ModuleNotFoundError:\n    from . import front\n"
    for place in ("lib", "whole"):
        write(folder / place / "front.py", front + TENSOR + "\ndef make(data):\n    return extra_ops.made(data)\n")
        write(folder / place / "extra_ops.py", ops + "\ndef made(data):\n    return front.Tensor(data)\n")
        write(folder / place / "__init__.py", "") if place == "whole" else None
        module = resolve.load_object(f"{place}/front.py:make").__globals__
        assert type(module["make"]([1.0])) is module["Tensor"]


def test_a_package_that_nothing_calls_one_is_known_by_how_its_files_import_each_other(folder: Path) -> None:
    """Under another name its classes would be there twice; and what no package has is looked for beside the file."""
    inner = folder / "tinylib" / "inner"
    inner.mkdir(parents=True)
    write(inner / "rules.py", "from tinylib.inner import node\n\ndef made(data):\n    return node.Tensor(data)\n")
    plus = "from tinylib.inner import rules\nimport beside\n" + TENSOR
    write(inner / "node.py", plus)
    write(inner / "beside.py", "")
    found = resolve_engine("tinylib/inner/node.py:Tensor")
    assert found.name == "node.Tensor"
    from importlib import import_module

    assert import_module("tinylib.inner.node").Tensor is found.api.constructor  # type: ignore[attr-defined]


def test_a_clone_that_is_called_as_the_package_inside_is_not_taken_for_it(folder: Path) -> None:
    """The outermost folder of that name, which what is imported is not in."""
    package = folder / "pocketgrad" / "pocketgrad"
    write(package / "__init__.py", "")
    write(package / "kernels.py", "SCALE = 1\n")
    write(package / "node.py", "from pocketgrad.kernels import SCALE\n" + dedent(TENSOR))
    assert resolve_engine("pocketgrad/pocketgrad/node.py:Tensor").api.constructor.__module__ == "pocketgrad.node"


def test_a_package_may_import_itself_by_the_name_of_a_folder_in_the_middle(folder: Path) -> None:
    for part in ("courses", "courses/zerograd", "courses/zerograd/lib"):
        write(folder / part / "__init__.py", "from zerograd.lib.core import Tensor\n" if part.endswith("lib") else "")
    write(folder / "courses" / "zerograd" / "lib" / "core.py", TENSOR)
    assert resolve_engine("courses/zerograd/lib/core.py:Tensor").api.constructor.__module__ == "zerograd.lib.core"


def test_a_file_of_the_name_of_its_folder_does_not_hide_it(folder: Path) -> None:
    write(folder / "opsy" / "opsy.py", "")
    write(folder / "opsy" / "rule.py", "")
    write(folder / "opsy" / "param.py", "import opsy.rule\n" + dedent(TENSOR))
    assert resolve_engine("opsy/param.py:Tensor").name == "param.Tensor"


def test_ops_may_be_in_the_module_that_is_named_and_the_class_in_another(folder: Path) -> None:
    write(folder / "step1.py", TENSOR.replace("    def sum", "    def total"))
    write(folder / "step2.py", "from step1 import Tensor\n\ndef sum(tensor):\n    return tensor.total()\n")
    found = resolve_engine("step2.py:Tensor")
    assert found.library.function("sum").__module__ != "step1"  # type: ignore[attr-defined]


def test_ops_may_be_in_a_file_beside_a_class_of_no_package(folder: Path) -> None:
    write(folder / "alone.py", TENSOR)
    write(folder / "operations.py", "def twice(tensor):\n    return tensor\n")
    write(folder / "functions.py", "raise OSError('no such device')\n")
    assert resolve_engine("alone.py:Tensor").library.function("twice").__module__ == "operations"  # type: ignore[attr-defined]


def test_what_numba_compiles_is_told_that_processes_fork(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, value = resolve.NUMBA_FORK_SAFE
    write(folder / "threads.py", TENSOR)
    monkeypatch.delenv(name, raising=False)
    resolve_engine("threads.py:Tensor")
    assert os.environ[name] == value
    monkeypatch.setenv(name, "tbb")
    resolve_engine("threads.py:Tensor")
    assert os.environ[name] == "tbb"


@pytest.mark.skipif(not hasattr(ctypes.util, "_findLib_gcc"), reason="no compiler is asked here")
def test_no_linker_that_reads_the_folder_finds_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `libgcc_s.so.1` in the folder can name a library there, which tinygrad then loaded."""
    asked: list[str] = []
    monkeypatch.setattr(ctypes.util, "_findLib_gcc", asked.append)
    resolve_engine("gradcheck.engines.core:Core")
    assert ctypes.util.find_library("no_such_library") is None
    assert asked == []


def test_a_file_that_reads_a_command_line_gets_an_empty_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["gradcheck", "run", "cases", "--engine", "mine.py:Tensor"])
    settings = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--backend')\nGIVEN = p.parse_args()\n"
    write(folder / "parsing.py", settings + TENSOR)
    assert resolve_engine("parsing.py:Tensor").name == "parsing.Tensor"
    assert sys.argv[1] == "run"
