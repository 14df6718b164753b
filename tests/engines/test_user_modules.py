"""Somebody's modules are found beside each other, shadow nothing, and are shadowed by nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from textwrap import dedent

import pytest

from gradcheck import project_links
from gradcheck.engines.folder_finder import RESERVED, allow_imports_from
from gradcheck.engines.resolve import load_object, resolve_engine
from gradcheck.engines.tensor_class.dialects import NEIGHBOURS
from gradcheck.engines.tensor_class.members import modules_of
from gradcheck.engines.user_modules import (
    import_folder,
    import_name,
    module_of_file,
    module_of_name,
    module_of_program_file,
)
from gradcheck.errors import UsageError
from tests.engines.test_resolve import TENSOR as PLAIN
from tests.paths import ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))


# Names that are somebody else's ------------------------------------------------------------------------


@pytest.mark.parametrize("init", [None, "", "from .linear import apply\n"])
@pytest.mark.parametrize("name", ["torch", "numpy", "jax", "scipy", "gradcheck", "types", "json"])
def test_a_folder_may_be_called_as_a_library(folder: Path, name: str, init: str | None) -> None:
    real = sys.modules.get(name)
    if init is not None:
        write(folder / name / "__init__.py", init)
    helper = ".helper" if init is not None else "helper"
    libraries = f"from importlib.util import find_spec\nfound = find_spec({name!r}).origin\nimport torch.nn\n"
    text = f"{libraries}from {helper} import scaled\n\ndef apply(x):\n    return scaled(x)\n"
    write(folder / name / "linear.py", text)
    write(folder / name / "helper.py", "def scaled(x):\n    return F(x) * 2\n\ndef F(x):\n    return x\n")
    made = load_object(f"{name}/linear.py:apply")
    assert made(3) == 6
    assert not made.__globals__["found"].startswith(str(folder))
    assert real is None or sys.modules[name] is real
    del sys.modules[made.__module__], sys.modules[made.__globals__["scaled"].__module__]


def test_a_folder_may_be_called_as_a_library_that_its_files_import(folder: Path) -> None:
    """`autograd` is no reserved name, for many write a package of that name themselves."""
    pytest.importorskip("autograd")
    write(folder / "autograd" / "rules.py", "import autograd.numpy as anp\n\ndef f(x):\n    return anp.sin(x)\n")
    assert load_object("autograd/rules.py:f")(0.0) == 0.0
    write(folder / "whole" / "autograd" / "__init__.py", "")
    write(folder / "whole" / "autograd" / "rules.py", "import autograd.numpy as anp\nf = anp.cos\n")
    assert load_object("whole/autograd/rules.py:f")(0.0) == 1.0


def test_a_package_of_ones_own_comes_before_an_installed_one(folder: Path) -> None:
    pytest.importorskip("mygrad")
    real = sys.modules["mygrad"]
    write(folder / "mygrad" / "__init__.py", "from mygrad.tensor import SCALE\n")
    write(folder / "mygrad" / "tensor.py", "import mygrad\nSCALE = 3\n\ndef scale():\n    return mygrad.SCALE\n")
    for _ in range(2):
        assert load_object("mygrad/tensor.py:scale")() == 3
    assert load_object("mygrad.tensor:scale")() == 3
    assert sys.modules["mygrad"] is real


def test_a_neighbour_that_imports_a_folder_by_its_name_says_where_the_package_begins(folder: Path) -> None:
    """A clone's own `__init__.py` makes no package of it, and an installed `autograd` is not the one that is meant."""
    write(folder / "__init__.py", "")
    write(folder / "autograd" / "__init__.py", "from .tensor import scale\n")
    write(folder / "autograd" / "tensor.py", "from .rules import scale\n")
    write(folder / "autograd" / "rules.py", "from autograd.sizes import SIZE\n\ndef scale():\n    return SIZE\n")
    write(folder / "autograd" / "sizes.py", "SIZE = 3\n")
    assert load_object("autograd/tensor.py:scale")() == 3
    write(folder / "small" / "tensor.py", "def scale():\n    from .parts.rules import scale\n    return scale()\n")
    write(
        folder / "small" / "parts" / "rules.py", "from small.parts.sizes import SIZE\n\ndef scale():\n    return SIZE\n"
    )
    write(folder / "small" / "parts" / "sizes.py", "SIZE = 4\n")
    assert load_object("small/tensor.py:scale")() == 4


def test_a_library_by_its_name_is_not_looked_for_in_the_working_directory(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mygrad")
    from gradcheck.engines.resolve import resolve_engine

    write(folder / "mygrad.py", "raise RuntimeError('a file of the folder has run')\n")
    monkeypatch.delitem(sys.modules, "mygrad")
    assert resolve_engine("mygrad").name == "mygrad.tensor"


def test_only_the_folders_own_files_find_what_stands_in_it(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    write(elsewhere / "late_library.py", "def load():\n    import beside_a\n")
    write(folder / "beside_a.py", "FOUND = 1\n")
    write(folder / "mine.py", "import beside_a\nfound = beside_a.FOUND\n")
    library = module_of_name("late_library", elsewhere)
    with allow_imports_from(folder), pytest.raises(ModuleNotFoundError):
        library.load()
    assert module_of_file("mine.py").found == 1


def test_a_folder_is_asked_for_the_package_that_was_named_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import of compiled code has no file, and a later engine may have to be an installed one."""
    monkeypatch.chdir(folder)
    write(folder / "named_one.py", "x = 1\n")
    write(folder / "other_one.py", "raise SystemExit('the folder ran')\n")
    module_of_name("named_one", folder)
    with pytest.raises(ModuleNotFoundError):
        module_of_name("other_one")


def test_a_virtual_environment_below_the_folder_is_not_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = folder / ".venv" / "lib"
    monkeypatch.setattr("gradcheck.engines.folder_finder._INSTALLED", (os.path.join(installed, ""),))
    write(
        installed / "careful.py", "try:\n    import beside_b as found\nexcept ModuleNotFoundError:\n    found = None\n"
    )
    write(folder / "beside_b.py", "raise RuntimeError('imported by somebody else')\n")
    monkeypatch.syspath_prepend(str(installed))
    write(folder / "mine.py", "from careful import found\n")
    assert module_of_file("mine.py").found is None


# Names that two folders have ---------------------------------------------------------------------------


def test_each_folder_has_its_own_neighbours(folder: Path) -> None:
    for name in ("one", "two"):
        write(folder / name / "front.py", "import helpers_of_both\n\ndef which():\n    return helpers_of_both.NAME\n")
        write(folder / name / "helpers_of_both.py", f"NAME = {name!r}\n")
    for name in ("one", "two", "one"):
        assert load_object(f"{name}/front.py:which")() == name


def test_a_function_may_import_a_neighbour_when_it_is_called(folder: Path) -> None:
    write(folder / "mine" / "kind.py", "def made():\n    from late_rules import rule\n\n    return rule()\n")
    write(folder / "mine" / "late_rules.py", "def rule():\n    return 3\n")
    assert load_object("mine/kind.py:made")() == 3


@pytest.mark.parametrize("kind", ["file", "package", "searched"])
def test_a_file_is_one_module_also_for_a_neighbour_that_imports_it_late(
    folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A class that existed twice would reject its own objects."""
    text = f"from rules_of_{kind} import is_mine\n\nclass Tensor:\n    known = is_mine\n"
    write(folder / kind / f"tensor_of_{kind}.py", text)
    text = f"def is_mine(one):\n    from tensor_of_{kind} import Tensor\n\n    return isinstance(one, Tensor)\n"
    write(folder / kind / f"rules_of_{kind}.py", text)
    if kind == "package":
        write(folder / kind / "__init__.py", "")
    if kind == "searched":
        monkeypatch.syspath_prepend(str(folder / kind))
    made = load_object(f"{kind}/tensor_of_{kind}.py:Tensor")
    name = made.__module__
    assert made().known()
    assert sys.modules[name].__spec__.name == name


def test_a_module_named_as_pythons_own_stays_with_its_folder(folder: Path) -> None:
    assert "chunk" not in sys.modules
    write(folder / "front.py", "import chunk\n\ndef size():\n    return chunk.SIZE\n")
    write(folder / "chunk.py", "SIZE = 7\n")
    for _ in range(2):
        assert load_object("front.py:size")() == 7
        assert "chunk" not in sys.modules


@pytest.mark.parametrize(
    ("file", "text", "name", "home"),
    [
        ("mine.py", "", "mine", "."),
        ("pack/core/mine.py", "from . import helper\n", "core.mine", "pack"),
        ("torch/mine.py", "", "torch.mine", "."),
    ],
)
def test_a_program_imports_it_by_its_name_from_its_folder(
    folder: Path, file: str, text: str, name: str, home: str
) -> None:
    write(folder / file, text)
    if file != "mine.py":
        write(folder / Path(file).parent / "__init__.py", "")
        write(folder / Path(file).parent / "helper.py", "")
    module = module_of_file(file)
    assert (import_name(module), import_folder(module)) == (name, (folder / home).resolve())
    imported = subprocess.run([sys.executable, "-c", f"import {name}"], cwd=folder / home, capture_output=True)
    assert imported.returncode == 0, imported.stderr


def test_what_fails_leaves_nothing_behind(folder: Path) -> None:
    write(folder / "torch" / "__init__.py", "raise RuntimeError('this one fails')\n")
    write(folder / "torch" / "linear.py", "")
    finders, modules = list(sys.meta_path), set(sys.modules)
    with pytest.raises(RuntimeError, match="this one fails"):
        module_of_file("torch/linear.py")
    assert (list(sys.meta_path), set(sys.modules)) == (finders, modules)


# Processes ---------------------------------------------------------------------------------------------

#: Modules that something imports late: Python's processes, torch, NumPy, the report.
PLANTED = ("types", "queue", "random", "numpy", "torch", "yaml", "rich", "signal", "secrets", "statistics", "graphlib")
CASE = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: 2 * x}\n"
ENGINE = "from plain import Tensor\n"


def start(folder: Path, *words: str, reference: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("GRADCHECK_", "PYTHON"))}
    script = Path(sysconfig.get_path("scripts")) / "gradcheck"
    command = [sys.executable] if words[0].startswith("-") else [str(script)]
    return subprocess.run(
        [*command, *words],
        cwd=folder,
        env={**known, "HOME": str(folder), "PYTHONPATH": str(ROOT), "GRADCHECK_REFERENCE": reference},
        capture_output=True,
        text=True,
        check=False,
        timeout=1_000,
    )


@pytest.mark.parametrize(
    ("words", "reference"),
    [
        (("run",), "torch"),
        (("run", "-j", "2", "--no-cache"), "torch"),
        (("run", "--timeout", "100", "--no-cache"), "core"),
        (("run", "-j", "2", "--engine", "own/tensor.py:Tensor"), "core"),
        (("-P", "-m", "gradcheck", "run", "--no-cache"), "core"),
        (("-m", "gradcheck", "run", "-j", "2", "--no-cache"), "core"),
        (("conform", "own/tensor.py:Tensor", "--op", "mul"), "core"),
        (("explain", "cases/a.yaml"), "core"),
    ],
)
def test_no_file_of_the_working_directory_is_imported(folder: Path, words: tuple[str, ...], reference: str) -> None:
    for name in PLANTED:
        if words[0] == "-m" and name == "types":
            continue  # Python itself looks there before anything of gradcheck runs: that is what its `-P` is for
        write(folder / f"{name}.py", f"open({str(folder / 'ran')!r}, 'a').write({name + ' '!r})\n")
    write(folder / "cases" / "a.yaml", CASE)
    write(folder / "cases" / "b.yaml", CASE)
    write(folder / "own" / "tensor.py", TENSOR)
    done = start(folder, *words, reference=reference)
    assert not (folder / "ran").exists(), (folder / "ran").read_text()
    assert done.returncode == (words[0] == "conform"), done.stdout + done.stderr  # the class knows no broadcasting
    assert "Traceback" not in done.stderr


TENSOR = """
import numpy as np
import random

class Tensor:
    def __init__(self, data, parents=(), push=None):
        self.data, self.grad = np.asarray(data, dtype=float), None
        self.parents, self.push = parents, push
    def __mul__(self, other):
        return Tensor(self.data * other.data, (self, other), lambda g: (g * other.data, g * self.data))
    def sum(self):
        return Tensor(self.data.sum(), (self,), lambda g: (np.broadcast_to(g, self.data.shape),))
    def backward(self, grad=None):
        order, seen = [], set()
        def visit(node):
            if id(node) not in seen:
                seen.add(id(node))
                for parent in node.parents:
                    visit(parent)
                order.append(node)
        visit(self)
        self.grad = np.ones_like(self.data) if grad is None else np.asarray(grad)
        for node in reversed(order):
            if node.push is not None:
                for parent, part in zip(node.parents, node.push(node.grad)):
                    parent.grad = part if parent.grad is None else parent.grad + part
"""


def test_reserved_names_are_no_names_of_tensor_libraries_that_people_write() -> None:
    assert not RESERVED & {"autograd", "mygrad", "micrograd", "tinygrad", "dezero", "minitorch", "engine", "nn"}


# The folder from which a program imports a file, where its packages do not say it ----------------


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "my-clone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_package_inside_a_clone_precedes_an_installed_one(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(clone.parent / "installed" / "shelved" / "__init__.py", "")
    monkeypatch.syspath_prepend(clone.parent / "installed")
    write(clone / "__init__.py", "from shelved import cellar\n")
    write(clone / "shelved" / "__init__.py", "from .cellar import Tensor\n")
    write(clone / "shelved" / "cellar.py", PLAIN)
    assert resolve_engine("shelved/cellar.py:Tensor").name == "cellar.Tensor"


def test_a_file_may_import_what_stands_beside_its_folder(clone: Path) -> None:
    write(clone / "src" / "switches.py", "ON = 1\n")
    write(clone / "src" / "rev" / "nodes.py", f"from switches import ON\n{PLAIN}")
    assert module_of_program_file("src/rev/nodes.py").ON == 1


@pytest.mark.parametrize("around", [True, False])
def test_a_project_beside_that_of_the_engine_is_not_imported(
    clone: Path, monkeypatch: pytest.MonkeyPatch, around: bool
) -> None:
    """A clone that is named like a library that the engine lacks."""
    write(clone / "mine" / "nodes.py", f"import datasets\n{PLAIN}")
    write(clone / "datasets" / "__init__.py", "raise SystemExit('it ran')\n")
    (clone / ("datasets" if around else "mine") / ".git").mkdir()
    monkeypatch.chdir(clone if around else clone / "datasets")
    with pytest.raises(ModuleNotFoundError, match="datasets"):
        module_of_program_file(str(clone / "mine" / "nodes.py"))


def test_a_project_beside_the_engines_package_replaces_no_library(clone: Path) -> None:
    write(clone / "mine" / "__init__.py", "")
    write(clone / "mine" / "nodes.py", f"import mygrad\nfrom mine import helper\n{PLAIN}")
    write(clone / "mine" / "helper.py", "import beside\n")
    write(clone / "beside" / "__init__.py", "")
    write(clone / "mygrad" / "__init__.py", "raise SystemExit('it ran')\n")
    (clone / "mygrad" / ".git").mkdir()
    assert "mygrad/mygrad" not in str(module_of_program_file("mine/nodes.py").mygrad.__file__)


def test_files_of_other_users_and_clones_are_no_neighbours(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in `/tmp`, where anybody writes; root unpacks archives with the owners that they name."""
    ran = clone / "ran"
    planted = f"open({str(ran)!r}, 'w')\n"
    known = project_links._owners
    theirs = ("functional.py", "beside.py", "lacking.py", ".git")
    monkeypatch.setattr(project_links, "_owners", lambda path: {4711} if Path(path).name in theirs else known(path))
    for name in ("functional.py", "beside.py", "lacking.py", "ops/__init__.py", "tqdm/__init__.py"):
        write(clone / name, planted)
    for name in ("ops", "tqdm"):
        (clone / name / ".git").mkdir()
    write(clone / "ops.py", "")
    tries = "".join(f"try:\n    import {name}\nexcept ImportError: pass\n" for name in ("beside", "lacking", "tqdm"))
    write(clone / "engine.py", f"{tries}{PLAIN}")
    write(clone / "deep" / "engine.py", f"{tries}{PLAIN}")
    for file in ("engine.py", "deep/engine.py"):
        resolve_engine(f"{file}:Tensor")
    home = module_of_program_file("engine.py").__name__
    assert [Path(str(one.__file__)).name for one in modules_of([home], (), NEIGHBOURS)] == ["engine.py"]
    assert not ran.exists()


def test_what_stands_nowhere_is_missed_by_its_name(clone: Path) -> None:
    write(clone / "lone" / "nodes.py", "import nowhere_at_all\n")
    with pytest.raises(ModuleNotFoundError, match="nowhere_at_all"):
        module_of_program_file("lone/nodes.py")
    write(clone / "kit" / "__init__.py", "from kit.lost import thing\n")
    write(clone / "kit" / "nodes.py", PLAIN)
    with pytest.raises(UsageError, match=r"No module named 'kit\.lost'"):
        resolve_engine("kit/nodes.py:Tensor")


def test_a_folder_cannot_replace_a_library(clone: Path) -> None:
    write(clone / "numpy" / "thing.py", "")
    write(clone / "deep" / "nodes.py", "import numpy.thing\n")
    with pytest.raises(ModuleNotFoundError, match=r"numpy\.thing"):
        module_of_program_file("deep/nodes.py")


def test_a_relative_import_without_its_package_is_told_as_it_is(clone: Path) -> None:
    write(clone / "odd" / "__init__.py", "from twin import Tensor\n")
    write(clone / "odd" / "twin.py", "from ..... import nothing\n")
    with pytest.raises(ImportError, match="relative import"):
        module_of_program_file("odd/twin.py")
