"""The versions of what gradcheck needs that pyproject.toml promises, and what is checked with others than the usual.

`.ci/oldest`, `.ci/newest` and `.ci/pythons` are made of it. Each makes a virtual environment outside the tree.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What people install besides: engines and executors.
EXTRAS = ("engines", "dask")
#: What the tests below need, of the development tools; of these the newest do.
TOOLS = ("expecttest", "hypothesis", "jsonschema", "pytest", "pytest-timeout", "pytest-xdist")
#: Tests of what other versions may do otherwise: click, Jinja, rich and PyYAML; NumPy, SciPy and torch; the other
#: engines. Those that hold the op table to torch hold it to the one that constraints.txt names.
TESTS = (
    "tests/autograd/test_library_versions.py",
    "tests/autograd/test_torch_conventions.py",
    "tests/cli",
    "tests/engines/implementation",
    "tests/engines/test_hips.py",
    "tests/engines/test_jax.py",
    "tests/engines/test_torch.py",
    "tests/engines/test_torch_errors.py",
    "tests/engines/test_torch_versions.py",
    "tests/language/loader",
    "tests/reports/commands",
    "tests/reports/formats",
    "tests/reports/phrases",
)
_BOUND = re.compile(r"([A-Za-z0-9_.-]+)>=([0-9][0-9.]*)")


def promised() -> list[str]:
    """What pyproject.toml asks for, as it stands there: `torch>=2.4`; dependencies first, then those of the extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(one for extra in EXTRAS for one in extras[extra])]


def oldest() -> list[str]:
    """The lower bounds of all that is promised: `torch==2.4`. Raises ValueError where one has no plain lower bound."""
    found = []
    for requirement in promised():
        bound = _BOUND.fullmatch(requirement)
        if bound is None:
            raise ValueError(f"pyproject.toml: {requirement!r} is not NAME>=VERSION, so that its oldest is not known")
        found.append(f"{bound[1]}=={bound[2]}")
    return found


def newest() -> list[str]:
    """All that is promised, with the torch of `GRADCHECK_TORCH`, such as `torch==2.14.1`, where that is set."""
    torch = os.environ.get("GRADCHECK_TORCH")
    listed = promised()
    return [torch if torch and one.startswith("torch>=") else one for one in listed]


def check(requirements: list[str], interpreter: str = sys.executable) -> int:
    """Install the tree beside these, run its cases and the tests above; 0 where all is well."""
    with tempfile.TemporaryDirectory(prefix="gradcheck-versions.") as folder:
        _run(interpreter, "-m", "venv", folder, check=True)
        python = str(Path(folder, "bin", "python"))
        _run(python, "-m", "pip", "install", "--quiet", "--no-compile", *requirements, *TOOLS, check=True)
        _run(python, "-m", "pip", "install", "--quiet", "--no-deps", str(ROOT), check=True)
        _run(python, "-m", "pip", "list", "--format", "freeze", check=True)
        # the command of the environment, since `python -m` would take the package of the tree
        failed = _run(str(Path(folder, "bin", "gradcheck")), "run", "cases", "-q", "--no-cache")
        failed |= _run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "auto", *TESTS)
    print("some of it fails" if failed else "all is well", flush=True)
    return int(bool(failed))


def _run(*command: str, check: bool = False) -> int:
    print("$ " + " ".join(command), flush=True)
    environment = {
        key: value for key, value in os.environ.items() if not key.startswith(("GRADCHECK_", "PYTHON", "VIRTUAL_ENV"))
    }
    return subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=check).returncode


if __name__ == "__main__":
    sys.exit("run .ci/oldest, .ci/newest or .ci/pythons")
