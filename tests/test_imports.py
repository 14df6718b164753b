"""Imports run one way, and what is cheap to import stays cheap."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

from tests.paths import ROOT

#: The contract on who may import it.
TORCH = "only engines/torch, and what stands for somebody's code, import torch"
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT_IMPORTS), "--no-cache", "--config", "pyproject.toml"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=200)


def test_the_contracts_hold() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


#: What is added to a file, which contract breaks, and the import as it is then told.
WRONG_WAY = [
    ("language/units.py", "import torch", TORCH, "language.units -> torch"),
    ("checks/result.py", "def later():\n    import torch", TORCH, "checks.result -> torch"),
    ("checks/scope.py", "import yaml", "only language/loader imports yaml", "checks.scope -> yaml"),
    ("cli/options.py", "import rich", "only reports import rich and jinja2", "cli.options -> rich"),
    ("reports/words.py", "import click", "only cli imports click", "reports.words -> click"),
    (
        "autograd/op.py",
        "import gradcheck.language.case",
        "imports run one way",
        "autograd.op -> gradcheck.language.case",
    ),
    (
        "engines/base.py",
        "import gradcheck.checks.result",
        "imports run one way",
        "engines.base -> gradcheck.checks.result",
    ),
]


def test_imports_the_wrong_way_are_found(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "gradcheck", tmp_path / "gradcheck", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for file, line, _, _ in WRONG_WAY:
        with (tmp_path / "gradcheck" / file).open("a", encoding="utf-8") as planted:
            planted.write(f"\n{line}\n")
    result = lint_imports(tmp_path)
    assert result.returncode == 1
    for _, _, broken, found in WRONG_WAY:
        assert f"{broken} BROKEN" in result.stdout
        assert f"gradcheck.{found}" in result.stdout


def test_autograd_stands_on_numpy_alone() -> None:
    graph = grimp.build_graph("gradcheck", include_external_packages=True, cache_dir=None)
    own = {"gradcheck.autograd", *graph.find_descendants("gradcheck.autograd")}
    imported = {found for module in own for found in graph.find_modules_directly_imported_by(module)} - own
    assert imported - sys.stdlib_module_names == {"numpy", "ml_dtypes", "gradcheck.errors"}


@pytest.mark.parametrize(
    "statement",
    [
        "import gradcheck; dir(gradcheck)",
        "from gradcheck import Tensor, no_grad, ops; Tensor([1.0], requires_grad=True).exp().backward()",
        "from gradcheck import load; load(['cases'])",
        "import gradcheck.language.loader, gradcheck.language.expr.parser, gradcheck.autograd.ops",
        "import gradcheck.cli, gradcheck.reports",
        "import gradcheck.checks.pipeline, gradcheck.checks.scheduling.run",
    ],
)
def test_torch_is_not_imported(statement: str) -> None:
    code = f"import sys; {statement}; sys.exit('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert result.returncode == 0, result.stderr


def test_importing_gradcheck_imports_nothing_else() -> None:
    code = "import sys, gradcheck; sys.exit(bool({'numpy', 'yaml', 'rich', 'click'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=200)
    assert result.returncode == 0, result.stderr


CHECK = """
import sys
import torch
from gradcheck.testing import check_function
class Sin(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()
check_function(Sin.apply, x=torch.randn(2, 3, dtype=torch.float64, requires_grad=True))
check_function(Sin.apply, x=(2, 3), spec="sin(x)")
print(sorted({"sympy", "torch._dynamo", "jax"} & set(sys.modules)))
"""


def test_the_first_check_of_code_loads_no_compiler_and_no_algebra() -> None:
    """They take a second of the first check of each process."""
    command = [sys.executable, "-c", CHECK]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=200, check=True)
    assert done.stdout == "[]\n"
