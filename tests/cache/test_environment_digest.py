"""Everything that results depend on counts: each of it, changed in the least, is noticed."""

from __future__ import annotations

import os
import py_compile
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from gradcheck.cache import environment_digest
from gradcheck.cache.environment_digest import (
    EnvironmentDigest,
    library_digest,
    machine_digest,
    package_digest,
    startup_code_digest,
    variables_digest,
)

DAY = 86_400 * 10**9


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Files, all written long ago."""
    folder = tmp_path / "site" / "pack"
    for name in ("__init__.py", "ops/__init__.py", "ops/mul.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("RULE = 2.0\n")
        os.utime(folder / name, ns=(DAY, DAY))
    return folder


def rewritten(file: Path, text: str) -> None:
    """In the very moment in which the file was written before, so that only its text tells."""
    about = file.stat()
    file.write_text(text)
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))


# gradcheck itself --------------------------------------------------------------------------------------


def test_its_own_files_are_all_of_them() -> None:
    own = set(environment_digest._files(environment_digest._PACKAGE_FOLDER))
    assert {path for path in own if path.endswith(".py")} == {
        str(p) for p in Path(environment_digest._PACKAGE_FOLDER).rglob("*.py")
    }
    assert package_digest() is not None
    assert package_digest() == package_digest()


@pytest.mark.parametrize(
    "change",
    [
        lambda p: rewritten(p / "ops/mul.py", "RULE = 3.0\n"),
        lambda p: (p / "ops/div.py").write_text(""),
        lambda p: (p / "ops/mul.py").unlink(),
        lambda p: (p / "ops/mul.py").rename(p / "ops/times.py"),
        lambda p: (p / "fast.so").write_bytes(b""),
        lambda p: (p / "ops/data").mkdir() or (p / "ops/data/table.json").write_text("{}"),
    ],
)
def test_a_digit_in_a_file_is_noticed_and_so_is_a_file(package: Path, change: Callable[[Path], object]) -> None:
    before = package_digest(str(package))
    assert before is not None
    change(package)
    assert package_digest(str(package)) not in (None, before)


def test_what_python_makes_of_them_is_not_among_them(package: Path) -> None:
    before = package_digest(str(package))
    py_compile.compile(str(package / "ops/mul.py"))
    (package / ".ops.swp").write_text("an editor's")
    os.utime(package / "ops/mul.py")
    assert package_digest(str(package)) == before


def test_a_linked_folder_counts_as_what_it_links_to(package: Path, tmp_path: Path) -> None:
    (package / "ops").rename(tmp_path / "elsewhere")
    (package / "ops").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "up").symlink_to(package)
    before = package_digest(str(package))
    rewritten(tmp_path / "elsewhere" / "mul.py", "RULE = 3.0\n")
    assert package_digest(str(package)) not in (None, before)


def test_nothing_is_known_where_python_runs_an_older_file_than_the_one_that_is_there(package: Path) -> None:
    """Written again within a second, and as long as before: Python takes what it has compiled."""
    file = package / "ops/mul.py"
    compiled = py_compile.compile(str(file))
    assert compiled is not None
    os.utime(compiled, ns=(DAY + 10, DAY + 10))
    file.write_text("RULE = 3.0\n")
    os.utime(file, ns=(DAY + 500, DAY + 500))
    assert package_digest(str(package)) is None
    os.utime(file, ns=(2 * DAY, 2 * DAY))  # now Python compiles it again
    assert package_digest(str(package)) is not None


def test_nothing_is_known_of_a_package_that_is_not_there(tmp_path: Path) -> None:
    assert package_digest(str(tmp_path)) is None
    assert package_digest(str(tmp_path / "not")) is None


# Libraries ---------------------------------------------------------------------------------------------


@pytest.fixture
def installed(package: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As an installer leaves it: a record, and no file later than that."""
    record = package.parent / "pack-1.0.dist-info" / "RECORD"
    record.parent.mkdir()
    record.write_text("pack/__init__.py,sha256=abc,10\n")
    os.utime(record, ns=(DAY, DAY))
    monkeypatch.syspath_prepend(package.parent)
    return package


def test_what_was_installed_is_known_by_its_record(installed: Path) -> None:
    before = library_digest("pack")
    assert before is not None
    (installed / "__pycache__").mkdir()
    (installed / "__pycache__" / "mul.pyc").write_bytes(b"")
    assert library_digest("pack") == before
    os.utime(installed / "ops/mul.py", ns=(0, 0))  # another installer, another moment
    assert library_digest("pack") == before
    rewritten(installed.parent / "pack-1.0.dist-info" / "RECORD", "pack/__init__.py,sha256=abd,10\n")
    assert library_digest("pack") not in (None, before)


def test_a_file_that_was_written_after_that_is_noticed(installed: Path) -> None:
    before = library_digest("pack")
    (installed / "ops/mul.py").write_text("RULE = 3.0\n")
    edited = library_digest("pack")
    assert edited not in (None, before)
    (installed / "ops/mul.py").write_text("RULE = 30.0\n")
    assert library_digest("pack") not in (None, before, edited)


def test_another_version_beside_it_is_noticed(installed: Path) -> None:
    before = library_digest("pack")
    (installed.parent / "pack-1.0.dist-info").rename(installed.parent / "pack-1.0.1.dist-info")
    (installed.parent / "pack-1.0.1.dist-info" / "RECORD").write_text("pack/__init__.py,sha256=xyz,10\n")
    assert library_digest("pack") not in (None, before)


def test_without_a_record_every_file_counts(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where somebody works on the library."""
    monkeypatch.syspath_prepend(package.parent)
    before = library_digest("pack")
    os.utime(package / "ops/mul.py", ns=(DAY, DAY + 1))
    assert library_digest("pack") not in (None, before)


def test_one_that_is_not_there_is_known_too_and_one_that_is_several_folders_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    assert library_digest("not_installed_at_all") == library_digest("not_installed_at_all") is not None
    for part in "ab":
        (tmp_path / part / "several").mkdir(parents=True)
        monkeypatch.syspath_prepend(tmp_path / part)
    assert library_digest("several") is None


# The rest ----------------------------------------------------------------------------------------------


READ = (
    *("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_CBWR", "MKL_NUM_THREADS", "KMP_AFFINITY"),
    *("ATEN_CPU_CAPABILITY", "NPY_DISABLE_CPU_FEATURES", "TORCH_LOGS", "PYTORCH_JIT", "LD_PRELOAD", "LD_LIBRARY_PATH"),
    *("PYTHONPATH", "PYTHONHASHSEED", "PYTHONWARNINGS", "CUDA_VISIBLE_DEVICES", "XLA_FLAGS", "JAX_ENABLE_X64"),
    *("GLIBC_TUNABLES", "GOTO_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "BLIS_NUM_THREADS", "NVIDIA_TF32_OVERRIDE"),
    *("DYLD_INSERT_LIBRARIES", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA"),
)


def test_a_variable_that_libraries_read_is_noticed() -> None:
    quiet = {"HOME": "/home/a", "PWD": "/a", "TERM": "dumb"}
    told = {name: {variables_digest(quiet), *(variables_digest({**quiet, name: one}) for one in "12")} for name in READ}
    assert [name for name, digests in told.items() if len(digests) < 3] == []


def test_a_variable_of_the_shell_is_not() -> None:
    assert (
        variables_digest({"PWD": "/a", "OLDPWD": "/b", "TERM": "xterm"})
        == variables_digest({"PWD": "/c"})
        == variables_digest({})
    )


def test_python_the_processor_and_how_many_there_are_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [machine_digest()]
    with monkeypatch.context() as patch:
        patch.setattr(sys, "version", "3.99")
        found.append(machine_digest())
    with monkeypatch.context() as patch:
        patch.setattr(sys, "warnoptions", ["error"])
        found.append(machine_digest())
    with monkeypatch.context() as patch:
        patch.setattr(environment_digest, "_processor", lambda: "another one")
        found.append(machine_digest())
    with monkeypatch.context() as patch:
        patch.setattr(environment_digest.platform, "machine", lambda: "riscv64")
        found.append(machine_digest())
    with monkeypatch.context() as patch:
        patch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3, 4}, raising=False)
        found.append(machine_digest())
    assert len(set(found)) == len(found)
    assert machine_digest() == found[0]


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="Linux tells of its processor there")
def test_how_the_processor_is_doing_is_not() -> None:
    told = environment_digest._processor()
    assert "flags" in told or "Features" in told
    assert "MHz" not in told


def test_what_somebody_has_python_run_at_its_start_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("usercustomize")
    module.__file__ = str(tmp_path / "usercustomize.py")
    Path(module.__file__).write_text("import numpy\n")
    monkeypatch.setitem(sys.modules, "usercustomize", module)
    before = startup_code_digest()
    Path(module.__file__).write_text("import numpy; numpy.add = numpy.subtract\n")
    assert startup_code_digest() not in (None, before)
    Path(module.__file__).unlink()
    assert startup_code_digest() is None


# Together ----------------------------------------------------------------------------------------------


def test_all_of_it_is_in_the_digest(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = lambda code="a", libraries=("pack",): EnvironmentDigest.of(code, libraries)  # noqa: E731
    found = [now(), now(code="b"), now(libraries=("pack", "numpy"))]
    (installed / "ops/mul.py").write_text("RULE = 3.0\n")
    found.append(now())
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    found.append(now())
    assert len({one.digest for one in found if one is not None}) == len(found) == 5


def test_nothing_is_known_where_a_part_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert EnvironmentDigest.of(None, ()) is None
    for part in ("library_digest", "startup_code_digest"):
        with monkeypatch.context() as patch:
            patch.setattr(environment_digest, part, lambda *_: None)
            assert EnvironmentDigest.of("code", ("numpy",)) is None


def test_they_hold_as_long_as_no_file_changes(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment_digest, "_PACKAGE_FOLDER", str(installed))
    monkeypatch.setattr(environment_digest, "package_digest", lambda: package_digest(str(installed)))
    known = EnvironmentDigest.of(package_digest(str(installed)), ("pack",))
    assert known is not None
    assert known.is_unchanged()
    monkeypatch.setenv("OMP_NUM_THREADS", "7")  # by a library, as torch does
    assert known.is_unchanged()
    rewritten(installed / "ops/mul.py", "RULE = 3.0\n")
    assert not known.is_unchanged()
    elsewhere = EnvironmentDigest(package_digest(str(installed)) or "", {"pack": "of yesterday"}, "others")
    assert not elsewhere.is_unchanged()
