"""A full disk and a folder that is read-only, for every command that writes: told in a line, what was there stays, what
was found out is shown all the same."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from gradcheck.safe_files import Folder

FIXABLE = "inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformula: {x: 2 * x}\n"


@pytest.fixture(params=[errno.ENOSPC, errno.EROFS], ids=["full", "read-only"])
def broken(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file takes anything any more."""

    def refused(folder: Folder, name: str, data: bytes, **_: object) -> None:
        raise OSError(request.param, "no room" if request.param == errno.ENOSPC else "read-only")

    monkeypatch.setattr(Folder, "replace", refused)


def files_of(folder: Path) -> dict[Path, bytes]:
    """All but what a run leaves for the next."""
    found = (path for path in folder.rglob("*") if path.is_file() and ".gradcheck_cache" not in path.parts)
    return {path: path.read_bytes() for path in found}


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("run", "-q"), 1),
        (("run", "-q", "--lf"), 1),
        (("run", "--report", "json=r.json", "--report", "junit=j.xml"), 2),
        (("run", "-o", "r.json", "--output-format", "json"), 2),
        (("run", "--baseline", "known.json", "--update-baseline"), 2),
        (("run", "--baseline", "new.json", "--update-baseline"), 2),
        (("run", "--fix"), 2),
        (("snapshot",), 2),
    ],
)
def test_nothing_is_lost(wrong: Path, folder: Path, gradcheck: Any, words: tuple[str, ...], code: int) -> None:
    (folder / "cases" / "fixable.yaml").write_text(FIXABLE if "--fix" in words else FIXABLE.replace("la:", "las:"))
    (folder / "known.json").write_text('{"gradcheck-baseline": 1, "failures": []}\n')
    before = files_of(folder)
    outcome = gradcheck(*words)
    assert outcome.code == code, outcome.err
    assert code != 2 or "cannot write '" in outcome.err.splitlines()[-1]
    assert "Traceback" not in outcome.err
    assert "its own fault" not in outcome.err
    assert files_of(folder) == before
    if "json" in words:
        assert json.loads(outcome.out)["summary"]["failed"] == 1
    elif words[0] == "run" and "--fix" not in words:
        assert "1 failed" in outcome.out or "passed" in outcome.out
