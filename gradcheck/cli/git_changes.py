"""`--changed-since REV`: the files that git reports as changed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from gradcheck.errors import UsageError
from gradcheck.language.case import Loaded
from gradcheck.safe_files import read_regular

#: The configuration of a downloaded `.git` can name commands. These options run none: no hook,
#: no file monitor, no transport helper, no external diff.
_SAFE = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.sshCommand=false")
_ENVIRONMENT = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none", "GIT_PAGER": "cat"}
_NAMES = ("--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "-z")
#: Seconds for a call of git, which may block on a named pipe in place of a file such as .gitignore.
_MOST_SECONDS = 60.0
#: Bytes of an index that are read: those of a repository of millions of files.
_MOST_BYTES = 2**30
_SLOW = "it may wait for a named pipe, or search a large core.worktree; see git config --show-origin --list"
_HINT = "a clone that is not whole lacks it: in a workflow, fetch-depth: 0"


def changed_since(found: Loaded, revision: str, code: Sequence[str]) -> Loaded:
    """Return the cases of files that changed since the branch left `revision`.

    New files count; all cases are returned if a file of `code` changed. Raises UsageError if git does not know the
    revision.
    """
    changed = _changed(revision)
    if any(os.path.realpath(file) in changed for file in code):
        return found
    return Loaded(
        tuple(case for case in found.cases if os.path.realpath(case.place.file) in changed),
        tuple(error for error in found.errors if os.path.realpath(error.place.file) in changed),
    )


def _changed(revision: str) -> set[str]:
    top = Path(os.path.realpath(_git("rev-parse", "--show-toplevel").rstrip("\n")))
    own = {"GIT_DIR": _git("rev-parse", "--absolute-git-dir").rstrip("\n"), "GIT_WORK_TREE": str(top)}
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}", about=revision)
    since = _git("merge-base", commit.strip(), "HEAD", about=revision).strip()
    # `core.worktree` may lead to a folder with a .git of its own: git would find other filters there than are listed.
    with _copied_index(own) as index:
        safe = own | index | _without_filters(own)
        differ = _git("-C", str(top), "diff", *_NAMES, since, "--", variables=safe)
        new = _git("-C", str(top), "ls-files", "--others", "--exclude-standard", "-z", variables=safe)
    return {os.path.realpath(top / name) for text in (differ, new) for name in text.split("\0") if name}


@contextmanager
def _copied_index(own: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Return variables with which git reads a copy of the index.

    `git diff` refreshes an index in which files have another time only, also one that a link, or a `.git` that is a
    file, leads to. The copy has the time of the index, by which git knows what may have changed since, and is locked.
    Raises UsageError where the index cannot be read.
    """
    file = _git("rev-parse", "--git-path", "index", variables=own).rstrip("\n")
    with tempfile.TemporaryDirectory(prefix="gradcheck-") as folder:
        copy = Path(folder, "index")
        copy.with_name("index.lock").touch()
        try:
            known = os.stat(file)
            copy.write_bytes(read_regular(file, _MOST_BYTES))
            os.utime(copy, ns=(known.st_atime_ns, known.st_mtime_ns))
        except FileNotFoundError:
            pass  # a repository into which nothing was added yet
        except OSError as error:
            raise UsageError(f"--changed-since: cannot read the index '{file}': {error.strerror}") from error
        yield {"GIT_INDEX_FILE": os.fspath(copy)}


def _without_filters(own: Mapping[str, str]) -> dict[str, str]:
    """Return variables with which git runs no filter of this repository."""
    asked = ("config", "--name-only", "-z", "--get-regexp", r"^filter\.")
    names = _git(*asked, codes=(0, 1), variables=own).split("\0")
    settings: dict[str, str] = {}
    for name in sorted({name.rpartition(".")[0] for name in names if name}):
        settings |= dict.fromkeys((f"{name}.clean", f"{name}.smudge", f"{name}.process"), "")
        settings[f"{name}.required"] = "false"
    found = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (name, value) in enumerate(settings.items()):
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return found


def _git(
    *words: str,
    about: str | None = None,
    codes: tuple[int, ...] = (0,),
    variables: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return git's output; no command of a repository's configuration runs."""
    environment = {**os.environ, **_ENVIRONMENT, **variables}
    command, nothing = [_program(), *_SAFE, *words], subprocess.DEVNULL
    try:
        done = subprocess.run(
            command, stdin=nothing, capture_output=True, check=False, env=environment, timeout=_MOST_SECONDS
        )
    except OSError as error:
        raise UsageError("--changed-since asks git, which cannot be run", hint=str(error.strerror)) from error
    except subprocess.TimeoutExpired as error:
        asked = words[2] if words[0] == "-C" else words[0]
        message = f"--changed-since: 'git {asked}' has not ended after {_MOST_SECONDS:g} seconds"
        raise UsageError(message, hint=_SLOW) from error
    if done.returncode not in codes:
        said = os.fsdecode(done.stderr).strip().splitlines()
        if about is not None:
            raise UsageError(f"git knows no commit '{about}' that this branch comes from", hint=_HINT)
        raise UsageError(f"--changed-since: git says: {said[0] if said else 'nothing'}")
    return os.fsdecode(done.stdout)


def _program() -> str:
    """Return the path of git, not from the working directory."""
    # Windows, and a relative entry of PATH, would find one there, too
    name = "git.exe" if os.name == "nt" else "git"
    for folder in filter(os.path.isabs, os.get_exec_path()):
        found = shutil.which(os.path.join(folder, name))
        if found is not None:
            return found
    raise UsageError("--changed-since asks git, which is in no folder of PATH", hint="install git")
