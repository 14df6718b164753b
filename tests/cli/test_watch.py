"""`--watch`: which files count, what they touch, and a run that goes on until Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import pytest

from gradcheck.cli.watch import affected_paths, code_folders, file_states
from tests.paths import ROOT

ENGINE = "from gradcheck.engines.core import Core\nfrom helper import NAME\n\nclass Mine(Core):\n    name = NAME\n"


def test_a_saved_file_touches_its_cases_and_code_all(cases: Path) -> None:
    assert affected_paths(["cases/good.yaml"], ["cases"]) == ("cases/good.yaml",)
    assert affected_paths(["cases/good.yaml"], ["cases/good.yaml::squares", "other"]) == ("cases/good.yaml::squares",)
    assert affected_paths(["mine.py"], ["cases", "a.yaml::b"]) == ("cases", "a.yaml::b")
    assert affected_paths([], ["cases"]) == ()


def test_files_of_cases_and_of_code_are_looked_at(cases: Path, folder: Path) -> None:
    (folder / "mine.py").write_text("")
    (folder / "package").mkdir()
    (folder / "package" / "engine.py").write_text("")
    known = file_states(["cases", "cases/good.yaml::squares", "nowhere.yaml"], ["package"])
    assert list(known) == ["cases/good.yaml", "package/engine.py"]
    (cases / "good.yaml").write_text("# changed")
    assert file_states(["cases"], [])["cases/good.yaml"] != known["cases/good.yaml"]
    engines = [{"engines": ["core", "mine.py:Tensor"]}, {"reference": "package.engine:Tensor"}]
    assert list(code_folders(["cases"], engines)) == [".", "."]
    allowing = [*engines, {"allow_code": True}]
    assert list(code_folders(["cases", "a.yaml::b"], allowing)) == ["cases", ".", ".", "."]


def lines_until(stream: IO[str], text: str) -> str:
    found = ""
    for line in stream:
        found += line
        if text in line:
            return found
    return found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs to fork")
def test_it_runs_again_what_is_saved_until_it_is_interrupted(wrong: Path, cases: Path, folder: Path) -> None:
    (folder / "mine.py").write_text(ENGINE)
    (folder / "helper.py").write_text("NAME = 'first'\n")
    command = [sys.executable, "-m", "gradcheck", "run", "--watch", "--engine", "mine.py:Mine", "--output-format"]
    process = subprocess.Popen(
        [*command, "concise"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    try:
        out: Any = process.stdout
        assert "1 failed, 2 passed" in lines_until(out, "watching 4 files")
        wrong.write_text(wrong.read_text().replace("3 * x", "2 * x"))
        assert "changed: cases/wrong.yaml\n1 passed" in lines_until(out, "watching")
        (folder / "helper.py").write_text("NAME = core\n")
        found = lines_until(out, "watching")
        assert "changed: helper.py" in found
        assert "NameError" in found
        (folder / "helper.py").write_text("import os\nos._exit(0)\n")
        assert "the process of this run has ended before its report was written" in lines_until(out, "watching")
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(200) == 130
    finally:
        process.kill()
        process.wait()
        out.close()


def test_the_standard_input_is_no_file(cases: Path, gradcheck: Any) -> None:
    outcome = gradcheck("run", "--watch", "-")
    assert (outcome.code, "name the file" in outcome.err) == (2, True)
