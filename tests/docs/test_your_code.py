"""The page on one's own code: what it says passes passes, what it says fails fails."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from functools import partial
from pathlib import Path

import pytest

from gradcheck import load, run
from tests.documents import blocks, gradcheck, without_time
from tests.paths import ROOT
from tests.processes import run_python
from tests.sampling import EVERYTHING

FILE = ROOT / "docs" / "your-code.md"
PYTHON = blocks(FILE, "python")
FILES = {block.split()[2]: block.partition("\n")[2] for block in PYTHON if block.startswith("# file: ")}
SNIPPETS = [block for block in PYTHON if not block.startswith(("# file: ", "# pytest"))]
TESTS = [block for block in PYTHON if block.startswith("# pytest")]
CASES = [re.match(r"# (\S+), (passes|fails)\n", block) for block in blocks(FILE, "yaml")]
#: What a snippet may need, by its first line, and whether it is there.
NEEDED = {
    "# needs triton": importlib.util.find_spec("triton") is not None,
    "# needs a C++ compiler": shutil.which("c++") is not None and shutil.which("ninja") is not None,
}


#: What the page's extension uses of `torch/extension.h`, which takes 20 seconds to compile.
HEADER = """\
#define AT_PER_OPERATOR_HEADERS
#include <ATen/TensorOperators.h>
#include <ATen/ops/sigmoid.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
namespace torch { using at::Tensor; using at::sigmoid; }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name.removesuffix(".py"), raising=False)
    for block, case in zip(blocks(FILE, "yaml"), CASES, strict=True):
        assert case is not None
        (tmp_path / case[1]).write_text(block, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("number", range(len(CASES)))
def test_cases_do_what_the_page_says(folder: Path, number: int) -> None:
    case = CASES[number]
    assert case is not None
    (found,) = run(load([str(folder / case[1])]), allow_code=True).cases
    assert found.status == {"passes": "passed", "fails": "failed"}[case[2]]


def test_the_reports_shown_are_what_comes_out(folder: Path) -> None:
    """All lines shown come out, in their order; `…` stands for lines that are left out."""
    reports = [block for block in blocks(FILE, "text") if block.startswith("$ gradcheck run")]
    assert len(reports) == 2
    for shown in reports:
        command, _, rest = shown.partition("\n")
        _, out = gradcheck(folder, *command.split()[2:])
        lines = iter([without_time(line) for line in out.splitlines()])
        for line in map(without_time, rest.splitlines()):
            assert line == "…" or line in lines, f"{line!r} is not in\n{out}"


@pytest.mark.parametrize("text", SNIPPETS, ids=lambda text: text.splitlines()[0].strip("# ") + f", {len(text)}")
def test_snippets_do_what_they_say(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = text.splitlines()[0]
    if not NEEDED.get(first, True):
        pytest.skip(first.strip("# "))
    if "C++" in first and not EVERYTHING:
        compile_quickly(folder, monkeypatch)
    path = folder / "snippet.py"
    path.write_text(text, encoding="utf-8")
    compiled = compile(text, str(path), "exec")
    if not first.startswith("# fails: "):
        exec(compiled, {})
        return
    with pytest.raises(AssertionError, match=re.escape(first.removeprefix("# fails: "))) as raised:
        exec(compiled, {})
    if "BiasGelu" in text:
        (shown,) = [block for block in blocks(FILE, "text") if block.startswith("gradient of b")]
        assert all(line in str(raised.value) for line in shown.splitlines())


def compile_quickly(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let extensions find the small header first, and do not optimise them."""
    from torch.utils import cpp_extension

    header = folder / "include" / "torch" / "extension.h"
    header.parent.mkdir(parents=True)
    header.write_text(HEADER, encoding="utf-8")
    quick = partial(cpp_extension.load_inline, extra_include_paths=[str(folder / "include")], extra_cflags=["-O0"])
    monkeypatch.setattr(cpp_extension, "load_inline", quick)


@pytest.mark.parametrize("text", TESTS)
def test_tests_pass(folder: Path, text: str) -> None:
    (folder / "test_page.py").write_text(text, encoding="utf-8")
    found = run_python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page.py", cwd=folder)
    assert found.returncode == 0, found.stdout


def test_all_of_it_is_looked_at() -> None:
    page = FILE.read_text(encoding="utf-8")
    assert len(PYTHON) + len(CASES) == page.count("```python") + page.count("```yaml") + page.count("```py\n")
    assert all(CASES)
    firsts = {block.splitlines()[0] for block in PYTHON}
    assert {first for first in firsts if first.startswith("# needs")} == set(NEEDED)
