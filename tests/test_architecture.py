"""The house keeps its shape: few rooms, a test file for every module, few parameters, no clock that decides."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

from tests.paths import ROOT

PACKAGE = ROOT / "gradcheck"
MODULES = sorted(path for path in PACKAGE.rglob("*.py"))
#: More than so many parameters, and somebody is missing a noun.
MOST_PARAMETERS = 6
#: Rooms in which every module has a test file of its own.
MIRRORED = ("autograd/compiled/", "checks/", "engines/", "oracles/")
#: The clock is read to limit a case by what the user asked for, and to show how long something took; and signals are
#: handed on.
READS_THE_CLOCK = {
    "checks/isolation/fork_call.py",
    "checks/isolation/time_limit.py",
    "checks/pipeline.py",
    "checks/scheduling/run.py",
    "checks/scheduling/sequential.py",
    "checks/isolation/worker_processes.py",
    "checks/conformance/cost.py",
    "checks/conformance/properties.py",
    "cli/supervisor.py",
    "interrupts.py",
    "reports/commands/progress.py",
}


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


# Rooms of checks -------------------------------------------------------------------------------------

#: Whoever raises one of these says why in its line.
MOST_ROOMS, MOST_FLOORS, MOST_ARROWS = 33, 15, 125


def arrows_inside(package: str) -> set[tuple[str, str]]:
    """Which child of a package imports which other one, in any of its modules."""
    graph = grimp.build_graph("gradcheck", cache_dir=None)
    place = package.count(".") + 1
    pairs = {
        (module.split(".")[place], other.split(".")[place])
        for module in graph.modules
        if module.startswith(f"{package}.")
        for other in graph.find_modules_directly_imported_by(module)
        if other.startswith(f"{package}.")
    }
    return {(room, other) for room, other in pairs if room != other}


def test_checks_can_be_read_aloud() -> None:
    """The contract "no circles" of import-linter holds besides."""
    arrows = arrows_inside("gradcheck.checks")
    rooms = {room for arrow in arrows for room in arrow}
    below = TopologicalSorter({room: {other for one, other in arrows if one == room} for room in rooms})
    floors: dict[str, int] = {}
    for room in below.static_order():
        floors[room] = 1 + max((floors[other] for one, other in arrows if one == room), default=0)
    assert len(rooms) <= MOST_ROOMS
    assert max(floors.values()) <= MOST_FLOORS
    assert len(arrows) <= MOST_ARROWS


# Mirrors ---------------------------------------------------------------------------------------------


def has_code(path: Path) -> bool:
    """Whether a module defines anything, beyond its docstring, its imports and what it exports."""
    return any(isinstance(node, (ast.FunctionDef, ast.ClassDef)) for node in parsed(path).body)


def mirror_of(path: Path) -> Path:
    """`tests/checks/test_result.py` for `checks/result.py`; a package's own code is tested in its folder."""
    parts = path.relative_to(PACKAGE).parts
    name = parts[-2] if path.name == "__init__.py" else path.stem
    return ROOT.joinpath("tests", *parts[:-1], f"test_{name}.py")


def test_every_module_has_its_test_file() -> None:
    mirrored = [path for path in MODULES if name_of(path).startswith(MIRRORED)]
    promising = [path for path in mirrored if path.name != "__init__.py" or has_code(path)]
    assert [name_of(path) for path in promising if not mirror_of(path).is_file()] == []


# Functions -------------------------------------------------------------------------------------------


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


def parameters_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    listed = function.args
    names = [arg.arg for arg in (*listed.posonlyargs, *listed.args, *listed.kwonlyargs)]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def test_no_function_has_too_many_parameters() -> None:
    """An op's signature is torch's, whatever its length; how the exact oracle acts on an op follows it."""
    found = [
        f"{name_of(path)}:{function.lineno} {function.name} has {len(parameters_of(function))}"
        for path in MODULES
        if not name_of(path).startswith(("autograd/ops/", "oracles/exact/ops/"))
        for function in functions(parsed(path))
        if len(parameters_of(function)) > MOST_PARAMETERS
    ]
    assert found == []


def test_files_stay_small() -> None:
    long_files = [name_of(path) for path in MODULES if len(path.read_text(encoding="utf-8").splitlines()) > 345]
    assert long_files == []


# Clocks ----------------------------------------------------------------------------------------------


def imports_of(tree: ast.AST) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found


def test_only_these_read_the_clock() -> None:
    readers = {name_of(path) for path in MODULES if imports_of(parsed(path)) & {"time", "datetime", "signal"}}
    assert readers <= READS_THE_CLOCK


# Folders ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES}), ids=lambda f: str(f.relative_to(ROOT)))
def test_every_folder_says_what_it_is_for(folder: Path) -> None:
    told = ast.get_docstring(parsed(folder / "__init__.py"))
    assert told is not None
    assert len(told.split()) >= 15


# Linear algebra --------------------------------------------------------------------------------------


def uses_linalg(path: Path) -> bool:
    tree = parsed(path)
    named = any(isinstance(node, ast.Attribute) and ast.unparse(node) == "np.linalg" for node in ast.walk(tree))
    imported = any(
        isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numpy.linalg") for node in ast.walk(tree)
    )
    return named or imported


def test_ops_call_lapack_through_one_module() -> None:
    """It refuses infinite elements, at which LAPACK may iterate for ever."""
    found = {name_of(path) for path in (PACKAGE / "autograd" / "ops").rglob("*.py") if uses_linalg(path)}
    assert found == {"autograd/ops/common/lapack.py"}
