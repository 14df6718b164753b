"""`--changed-since REV`: which files have changed, as git tells it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from gradcheck.errors import UsageError
from gradcheck.language.case import Loaded

_HINT = "a clone that is not whole lacks it: in a workflow, fetch-depth: 0"


def changed_since(found: Loaded, revision: str, code: Sequence[str]) -> Loaded:
    """What stands in files that differ from how they were where this branch left `revision`, new ones included; all,
    where one of the files of `code` does. Raises UsageError where git does not know it."""
    changed = _changed(revision)
    if any(os.path.realpath(file) in changed for file in code):
        return found
    return Loaded(
        tuple(case for case in found.cases if os.path.realpath(case.place.file) in changed),
        tuple(error for error in found.errors if os.path.realpath(error.place.file) in changed),
    )


def _changed(revision: str) -> set[str]:
    top = Path(os.path.realpath(_git("rev-parse", "--show-toplevel").rstrip("\n")))
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", about=revision)
    since = _git("merge-base", commit.strip(), "HEAD", about=revision).strip()
    differ = _git("-C", str(top), "diff", "--name-only", "--no-renames", "-z", since, "--")
    new = _git("-C", str(top), "ls-files", "--others", "--exclude-standard", "-z")
    return {os.path.realpath(top / name) for text in (differ, new) for name in text.split("\0") if name}


def _git(*words: str, about: str | None = None) -> str:
    """What git says. Raises UsageError."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, check=False)
    except OSError as error:
        raise UsageError("--changed-since asks git, which cannot be run", hint=str(error.strerror)) from error
    if done.returncode:
        said = os.fsdecode(done.stderr).strip().splitlines()
        if about is not None:
            raise UsageError(f"git knows no commit '{about}' that this branch comes from", hint=_HINT)
        raise UsageError(f"--changed-since: git says: {said[0] if said else 'nothing'}")
    return os.fsdecode(done.stdout)
