"""What the documents show: their fenced blocks, their commands, and reports without the time that a run took."""

from __future__ import annotations

import contextlib
import io
import os
import re
from pathlib import Path
from unittest.mock import patch

import pytest

from gradcheck.cli import main


def blocks(file: Path, language: str) -> list[str]:
    """The fenced blocks of a document in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", file.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def without_time(text: str) -> str:
    return re.sub(r"in (\d+m )?\d+(\.\d+)?\s?m?s\b", "in …", text).strip()


def gradcheck(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code and the output of a command of a document's in a folder, in this process."""
    said = io.StringIO()
    plain = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "FORCE_COLOR")}
    with (
        patch.dict(os.environ, plain, clear=True),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(said),
        pytest.raises(SystemExit) as left,
    ):
        main(arguments)
    assert isinstance(left.value.code, int)
    return left.value.code, said.getvalue()
