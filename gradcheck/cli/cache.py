"""The folder `.gradcheck_cache`: what a run leaves for people and for the next run; never for version control."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

FOLDER = Path(".gradcheck_cache")


def keep(id: str, case: str) -> str:
    """Write a case file that reproduces a failure of the case with this id; its path, empty where it cannot be written.

    The same id gets the same file.
    """
    words = "-".join(re.findall(r"[A-Za-z0-9]+", id.rpartition("::")[2]))[:60] or "case"
    path = FOLDER / "smallest" / f"{words}-{hashlib.sha256(id.encode()).hexdigest()[:6]}.yaml"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (FOLDER / ".gitignore").write_text("*\n", encoding="utf-8")
        path.write_text(case, encoding="utf-8", newline="\n")
    except OSError:  # a folder that is not ours to write in; the report has the case all the same
        return ""
    return path.as_posix()
