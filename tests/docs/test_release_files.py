"""What publishes a version, and the container: the named files exist, and the tag is compared with the version."""

from __future__ import annotations

import re
import subprocess
import tomllib

import yaml

import gradcheck
from tests.paths import ROOT


def test_only_the_tag_of_the_version_is_published() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8"))
    (compare,) = [step["run"] for step in workflow["jobs"]["build"]["steps"] if "__version__" in step.get("run", "")]
    for tag, code in ((f"v{gradcheck.__version__}", 0), (f"v{gradcheck.__version__}1", 1)):
        done = subprocess.run(["bash", "-c", compare], cwd=ROOT, env={"GITHUB_REF_NAME": tag, "PATH": "/usr/bin:/bin"})
        assert done.returncode == code


def test_the_matrix_has_the_pythons_that_are_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = re.findall(r"Python :: (3\.\d+)", " ".join(project["classifiers"]))
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["pythons"]["strategy"]["matrix"]["python"] == promised


def test_the_container_copies_what_there_is() -> None:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE):
        assert all((ROOT / name).exists() for name in line.split()[:-1])
