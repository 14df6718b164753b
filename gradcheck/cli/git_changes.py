"""`--changed-since REV`: the cases whose files differ from a commit's.

gradcheck compares the files itself with the commit's tree. git reads only commits and trees: its index, its list of
ignored files and its filters, which a downloaded `.git` can contain, do not decide what is checked.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from gradcheck.checks.isolation.memory_limit import memory_limit
from gradcheck.cli.engine_code import UserCode, user_code
from gradcheck.errors import UsageError
from gradcheck.language.case import STDIN, Case, Loaded
from gradcheck.language.loader.case_files import folders_below
from gradcheck.project_links import is_environment
from gradcheck.safe_files import read_regular

#: The configuration of a downloaded `.git` can name commands. These options run none: no hook,
#: no file monitor, no transport helper.
_SAFE = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.sshCommand=false")
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    # a word that no file can hold: a `.git` may define a helper for any other, and a git before 2.39.4 fetches lazily
    "GIT_ALLOW_PROTOCOL": secrets.token_hex(16),
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_GRAFT_FILE": os.devnull,
}
#: Where git finds no program, not even itself: old versions would fetch what a `.git` lacks, with its helpers.
_NO_PROGRAM = dict.fromkeys(("PATH", "GIT_EXEC_PATH"), os.path.join(os.devnull, "nothing"))
#: Seconds for a call of git, which may block on a named pipe in place of a file.
_MOST_SECONDS = 60.0
#: The most bytes of a file that is compared; a larger one counts as changed.
_MOST_BYTES = 2**26
_SLOW = "it may wait for a named pipe in place of a file of .git"
_HINT = "a clone that is not whole lacks it: in a workflow, fetch-depth: 0"
#: Errors of git that quote no file: one below `.git` may be a link to a file of secrets.
_KNOWN_ERROR = re.compile("fatal: (not a git repository|detected dubious ownership|this operation must be run).*")
#: The modes of a link and of a folder in a tree.
_LINK, _FOLDER = "120000", "040000"
#: The most links on the way to a file, as on Linux.
_MOST_LINKS = 40
#: The files that Python imports.
_MODULES = (".py", ".pyc", *EXTENSION_SUFFIXES)


def changed_since(
    found: Loaded, revision: str, code: Sequence[UserCode], code_of: Callable[[Case], Sequence[UserCode]]
) -> Loaded:
    """Return the cases of files that changed since the branch left `revision`.

    A file that the commit lacks counts; so does a case whose own code, or that of `code_of`, differs, also in a
    Python file that it may import. All cases are returned if `code` differs. Raises UsageError if git does not know
    the revision.
    """
    tree = _Tree(revision)
    if not all(map(tree.has_code, code)):
        return found

    def has(case: Case) -> bool:
        return tree.has(case.place.file) and all(map(tree.has_code, (*_code_of(case), *code_of(case))))

    return Loaded(
        tuple(case for case in found.cases if not has(case)),
        tuple(error for error in found.errors if not tree.has(error.place.file)),
    )


def _code_of(case: Case) -> list[UserCode]:
    """Return the code that a case names."""
    named = [
        user_code(reference, os.path.dirname(one.place.file))
        for one in case.implementations
        for reference in (one.call, one.backward)
    ]
    return [code for code in named if code]


class _Tree:
    """The files of the commit at which the branch left a revision."""

    def __init__(self, revision: str) -> None:
        _refuse_inside_of_repository()
        if ":" in revision or ".." in revision:  # git would read its index, and write it
            raise UsageError(f"git knows no commit '{revision}' that this branch comes from", hint=_HINT)
        self.top = os.path.realpath(_git("rev-parse", "--show-toplevel").rstrip("\n"))
        commit = _git("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}", about=revision)
        self._since = _git("merge-base", commit.strip(), "HEAD", about=revision).strip()
        self._folders: dict[str, dict[str, tuple[str, str]]] = {}
        self._known: dict[str, bool] = {}  # by file
        self._known_code: dict[str, bool] = {}  # by folder

    def has(self, file: str) -> bool:
        """Return whether the commit has this file with the same content."""
        if file not in self._known:
            self._known[file] = self._has(file)
        return self._known[file]

    def has_code(self, code: UserCode) -> bool:
        """Return whether it has this code and its folder's files, unchanged."""
        if code.folder not in self._known_code:
            self._known_code[code.folder] = all(map(self.has, self._python_files(code.folder)))
        return self.has(code.file) and self._known_code[code.folder]

    def _python_files(self, folder: str) -> Iterator[str]:
        """Yield the modules in a folder and those below, here or in the commit.

        A new one may be imported by a file that has not changed. A folder that is gone or a link is yielded, too."""
        waiting, seen, left_out = [folder], set[str](), list[str]()
        while waiting:
            real = os.path.realpath(waiting.pop())
            is_above = Path(self.top).is_relative_to(real)
            if not is_above and not Path(real).is_relative_to(self.top):
                continue
            for below, files in folders_below(self.top if is_above else real):
                here = os.path.relpath(below, self.top).replace(os.sep, "/")
                holds_modules = not isinstance(files, OSError) and any(name.endswith(_MODULES) for name in files)
                is_left_out = below.endswith("__pycache__") or (is_environment(below) and not holds_modules)
                if is_left_out and not _entries_of_folder("HEAD", here):  # else somebody's commit has it
                    left_out.append(os.path.join(below, ""))
                is_unread = f"{below}{os.sep}".startswith(tuple(left_out))
                if is_unread or below in seen or isinstance(files, OSError):
                    continue
                seen.add(below)
                entries = self._entries("" if here == "." else here)
                folders = {os.path.basename(path) for path, (mode, _) in entries.items() if mode == _FOLDER}
                linked = {entry.name for entry in os.scandir(below) if entry.is_symlink() and entry.is_dir()}
                waiting += (os.path.join(below, name) for name in linked if not name.startswith("."))
                changed = linked | {name for name in folders if not os.path.isdir(os.path.join(below, name))}
                modules = {name for name in (*map(os.path.basename, entries), *files) if name.endswith(_MODULES)}
                yield from (os.path.join(below, name) for name in sorted(changed | modules))

    def _has(self, file: str) -> bool:
        """Return whether the commit has a file or folder, by the same links."""
        if file == STDIN:
            return False
        waiting, path, links = [*reversed(Path(file).parts)], os.getcwd(), 0
        while waiting:
            part = waiting.pop()
            path = os.path.dirname(path) if part == os.pardir else os.path.join(path, part)
            if os.path.islink(path):
                links, target = links + 1, os.readlink(path)
                mode, digest = self._entry(path)
                is_known = mode == _LINK and _is_blob(digest, os.fsencode(target))
                if links > _MOST_LINKS or not (is_known or not Path(path).is_relative_to(self.top)):
                    return False
                path = os.path.dirname(path)
                waiting += reversed(Path(target).parts)
        mode, digest = self._entry(path)
        if mode in (_FOLDER, _LINK) or os.path.isdir(path):
            return mode == _FOLDER and os.path.isdir(path)
        try:
            data = read_regular(path, _MOST_BYTES)
        except (OSError, ValueError):
            return False
        plain = data.replace(b"\r\n", b"\n")  # git may have changed the ends of lines, but not of some alone
        return _is_blob(digest, data) or (b"\r" not in plain and _is_blob(digest, plain))

    def _entry(self, path: str) -> tuple[str, str]:
        """Return mode and hash of a path in the tree; empty texts without it."""
        path = os.path.relpath(path, self.top).replace(os.sep, "/")
        return self._entries(path.rpartition("/")[0]).get(path, ("", ""))

    def _entries(self, folder: str) -> dict[str, tuple[str, str]]:
        """Return mode and hash of each path in a folder of the tree."""
        if folder == ".." or folder.startswith("../"):
            return {}
        if folder not in self._folders:  # one at a time: a few trees, each in itself ten times, are 10^10 files
            self._folders[folder] = _entries_of_folder(self._since, folder)
        return self._folders[folder]


def _refuse_inside_of_repository() -> None:
    """Raise UsageError for a working directory that holds git's own files."""
    # git takes a folder with `HEAD`, `objects` and `refs` for a repository without `.git`; a commit may contain one
    folder = _git("rev-parse", "--absolute-git-dir").rstrip("\n")
    if Path.cwd().is_relative_to(os.path.realpath(folder)):
        message = f"--changed-since: '{folder}' holds a repository's own files, which a commit of another may contain"
        raise UsageError(message, hint="change to the root of the repository")


def _entries_of_folder(commit: str, folder: str) -> dict[str, tuple[str, str]]:
    """Return mode and hash of each path in a folder of a commit."""
    found: dict[str, tuple[str, str]] = {}
    below = ("--", f"{folder}/") if folder else ()
    for entry in filter(None, _git("ls-tree", "-z", "--full-tree", commit, *below).split("\0")):
        about, _, path = entry.partition("\t")
        mode, _, digest = about.split(" ")
        found[path] = mode, digest
    return found


def _is_blob(digest: str, data: bytes) -> bool:
    """Return whether git's hash of a file with this content is `digest`."""
    kind = hashlib.sha256 if len(digest) == 64 else hashlib.sha1
    return kind(b"blob %d\0" % len(data) + data).hexdigest() == digest


def _git(*words: str, about: str | None = None) -> str:
    """Return git's output; no command of a repository's configuration runs."""
    environment = {**os.environ, **_ENVIRONMENT, **(_NO_PROGRAM if os.name == "posix" else {})}
    command, nothing = [_program(), *_SAFE, *words], subprocess.DEVNULL
    try:
        with memory_limit(None):  # git has it, too: an object of some megabytes can hold gigabytes
            done = subprocess.run(
                command, stdin=nothing, capture_output=True, check=False, env=environment, timeout=_MOST_SECONDS
            )
    except OSError as error:
        raise UsageError("--changed-since asks git, which cannot be run", hint=str(error.strerror)) from error
    except subprocess.TimeoutExpired as error:
        message = f"--changed-since: 'git {words[0]}' has not ended after {_MOST_SECONDS:g} seconds"
        raise UsageError(message, hint=_SLOW) from error
    if about is not None and b" is ambiguous" in done.stderr:  # a fork's tag comes before a branch of that name
        raise UsageError(
            f"git has several commits of the name '{about}'", hint=f"write refs/remotes/{about}, or its hash"
        )
    if done.returncode:
        said = _KNOWN_ERROR.search(os.fsdecode(done.stderr))
        if about is not None:
            raise UsageError(f"git knows no commit '{about}' that this branch comes from", hint=_HINT)
        told = f"git says: {said[0]}" if said else f"'git {words[0]}' cannot read this repository"
        raise UsageError(f"--changed-since: {told}", hint="" if said else "git status may say why")
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
