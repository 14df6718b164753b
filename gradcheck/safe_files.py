"""Files that are written whole, and never through a link out of a folder.

A clone, or an archive, can contain links. `write` replaces a file in one step. It raises an error if a link on the way
leads out of the project that the link is in, or if there is a file of another kind. `Folder` is
the basis: an open folder, whose entries are reached by their names and never through a link. `read_regular` reads a
file that a user names: a named pipe would block the reader, and a device such as `/dev/zero` has no end.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from gradcheck.project_links import LinkRefused, resolve

#: Names of this process's open files; other paths below /proc may lead anywhere.
_OPEN = re.compile(r"/dev/(stdout|stderr|fd/[1-9][0-9]{0,6})|/proc/self/fd/[1-9][0-9]{0,6}")
#: Files that the kernel makes when they are read.
_OF_KERNEL = re.compile(r"/(proc|sys)/")
#: Whether the system opens files relative to an open folder.
_HAS_DIR_FD = {os.open, os.stat, os.mkdir, os.unlink, os.rename} <= os.supports_dir_fd
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
#: Opening a pipe without a reader is an error, and does not wait.
_APPEND = os.O_WRONLY | os.O_APPEND | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY")) | _NO_LINK
#: The permissions that a new file keeps: the right to run as its owner is not among them.
_PERMISSIONS = stat.S_IRWXU | stat.S_IRWXG | stat.S_IRWXO
_CREATE_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | _NO_LINK
#: Opening a pipe does not wait for its writer, and opening a terminal does not attach the process to it.
_READ_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC", "O_NOCTTY"))
#: Returns whether an existing file, open for reading, may be replaced.
MayReplace = Callable[[IO[bytes]], bool]


class UnexpectedFile(OSError):
    """The file exists, and gradcheck did not write it."""


class NotRegular(OSError):
    """A file of another kind than expected, such as a pipe or a device."""


class FileTooLarge(OSError):
    """A file of more bytes than may be read."""


class Folder:
    """An open folder, to use in a `with` statement. Raises OSError."""

    # a link in its place is an OSError too, except with `link=True`

    def __init__(self, path: str, within: Folder | None = None, *, link: bool = False) -> None:
        self.path: str = path if within is None else os.path.join(within.path, path)
        self._descriptor: int | None = None
        if _HAS_DIR_FD:
            flags = _FOLDER_FLAGS & ~getattr(os, "O_NOFOLLOW", 0) if link else _FOLDER_FLAGS
            self._descriptor = os.open(path, flags, dir_fd=None if within is None else within._descriptor)
        elif not stat.S_ISDIR((os.stat if link else os.lstat)(self.path).st_mode):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), self.path)

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def open_subfolder(self, name: str, *, create: bool = False) -> Folder:
        """Return the subfolder; with `create`, make it if needed. Raises OSError."""
        if create:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._name(name), dir_fd=self._descriptor)
        return Folder(name, self)

    def entry_stat(self, name: str) -> os.stat_result | None:
        """Return the status of an entry, not following a link; None without one."""
        try:
            return os.stat(self._name(name), dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def read(self, name: str) -> IO[bytes]:
        """Open a regular file without waiting. Raises OSError for other kinds."""
        descriptor = os.open(self._name(name), _READ_FLAGS | _NO_LINK, dir_fd=self._descriptor)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise NotRegular(errno.EINVAL, "not a regular file", name)
        return os.fdopen(descriptor, "rb")

    def is_replaceable(self, name: str, may_replace: MayReplace) -> bool:
        """Return `may_replace` of a regular file. Raises OSError."""
        with self.read(name) as file:
            return may_replace(file)

    def may_write(self, name: str, may_replace: MayReplace) -> bool:
        """Return whether the name is free, empty, or may be replaced."""
        known = self.entry_stat(name)
        if known is None:
            return True
        return stat.S_ISREG(known.st_mode) and (not known.st_size or self.is_replaceable(name, may_replace))

    def create(self, name: str, data: bytes, mode: int | None = None) -> None:
        """Write a new file, or nothing. Raises FileExistsError, other OSErrors."""
        descriptor = os.open(self._name(name), _CREATE_FLAGS, 0o666 if mode is None else mode, dir_fd=self._descriptor)
        try:
            with os.fdopen(descriptor, "wb") as file:
                if mode is not None and hasattr(os, "fchmod"):
                    os.fchmod(descriptor, mode)
                file.write(data)
        except BaseException:
            self.remove(name)
            raise

    def replace(self, name: str, data: bytes, mode: int | None = None, *, held: bytes | None = None) -> None:
        """Replace the whole file, or nothing; keep permissions without `mode`.

        With `held`, the file must hold just that. Raises UnexpectedFile, other OSErrors.
        """
        known = self.entry_stat(name) if mode is None else None
        beside = f".{name[:20]}.{os.urandom(8).hex()}"  # letters have up to four bytes, and names 255
        self.create(beside, data, mode if known is None else known.st_mode & _PERMISSIONS)
        try:
            if held is not None and not self.is_replaceable(name, lambda file: file.read(len(held) + 1) == held):
                raise UnexpectedFile(errno.ESTALE, "it has changed since it was read")
            os.replace(self._name(beside), self._name(name), src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        except BaseException:
            self.remove(beside)
            raise

    def append(self, name: str, data: bytes) -> None:
        """Write to a pipe with a reader or to an open device, not through a link."""
        known = self.entry_stat(name)
        if known is not None and stat.S_ISCHR(known.st_mode) and known.st_rdev not in _open_devices():
            raise NotRegular(errno.EINVAL, "it is a device", name)  # before it is opened, which starts some
        try:
            descriptor = os.open(self._name(name), _APPEND, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno == errno.ENXIO:
                raise NotRegular(errno.ENXIO, "it is a pipe that nobody reads, or a socket", name) from error
            raise
        with os.fdopen(descriptor, "wb") as file:
            mode = os.fstat(descriptor).st_mode
            if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
                raise NotRegular(errno.EINVAL, "it is neither a file nor a pipe", name)
            if hasattr(os, "O_NONBLOCK"):
                os.set_blocking(descriptor, True)
            file.write(data)

    def remove(self, name: str) -> None:
        """Remove a file, or a link itself, if it exists."""
        with contextlib.suppress(OSError):
            os.unlink(self._name(name), dir_fd=self._descriptor)

    def is_writable(self, name: str = os.curdir) -> bool:
        """Return whether this user may write an existing file, or the folder."""
        return os.access(self._name(name), os.W_OK, dir_fd=self._descriptor)

    def _name(self, name: str) -> str:
        return name if self._descriptor is not None else os.path.join(self.path, name)


def _open_devices() -> set[int]:
    """Return the null device, and those of this process's standard streams."""
    found = {os.stat(os.devnull).st_rdev}
    for stream in range(3):
        with contextlib.suppress(OSError):
            known = os.fstat(stream)
            found |= {known.st_rdev} if stat.S_ISCHR(known.st_mode) else set()
    return found


def is_open(path: str | os.PathLike[str]) -> bool:
    """Return whether a path names an open file of this process (/dev/stdout)."""
    return _OPEN.fullmatch(os.path.abspath(path)) is not None


def _open_number(path: str | os.PathLike[str]) -> int:
    """Return the file descriptor that a name of an open file refers to."""
    name = os.path.basename(os.path.abspath(path))
    return {"stdout": 1, "stderr": 2}.get(name) or int(name)


def is_same(number: int, known: os.stat_result) -> bool:
    """Return whether a file descriptor still refers to the same file or pipe."""
    try:
        return os.path.samestat(os.fstat(number), known)
    except OSError:
        return False


@contextmanager
def open_parent_folder(path: str | os.PathLike[str], *, create: bool = False) -> Iterator[tuple[Folder, str]]:
    """Open the folder of a file, or make it. Raises LinkRefused, OSError."""
    root, inner = resolve(path)
    *parts, name = inner.split(os.sep)
    while create and not os.path.isdir(root):  # the named folder does not exist yet
        root, missing = os.path.split(root)
        parts.insert(0, missing)
    opened = Folder(root, link=True)
    try:
        for part in parts:  # no links: one that appears meanwhile is not followed
            outer, opened = opened, opened.open_subfolder(part, create=create)
            outer.close()
        known = opened.entry_stat(name)
        if known is not None and stat.S_ISLNK(known.st_mode):
            raise LinkRefused(
                errno.ELOOP, f"a link leads to '{os.path.join(opened.path, name)}', which is a link again"
            )
        yield opened, name
    finally:
        opened.close()


def write(path: str | os.PathLike[str], data: bytes, may_replace: MayReplace) -> None:
    """Replace the whole file, or nothing. A link to a file stays a link.

    A terminal or a pipe gets the data. Raises LinkRefused, UnexpectedFile unless `may_replace` agrees, other OSErrors.
    """
    if is_open(path):
        # the name would open the file anew: for writing, even if it is open for reading
        with os.fdopen(os.dup(_open_number(path)), "wb") as file:
            file.write(data)
        return
    with open_parent_folder(path) as (folder, name):
        known = folder.entry_stat(name)
        if known is not None and not stat.S_ISREG(known.st_mode):
            folder.append(name, data)
        elif folder.may_write(name, may_replace):
            folder.replace(name, data)
        else:
            raise UnexpectedFile(errno.EEXIST, "it holds something that gradcheck has not written")


def rewrite(path: str | os.PathLike[str], before: bytes, after: bytes) -> None:
    """Replace a regular file that holds just `before`, unlike an emptied one.

    Raises LinkRefused, UnexpectedFile, NotRegular, FileNotFoundError, and any other OSError.
    """
    with open_parent_folder(path) as (folder, name):
        folder.replace(name, after, held=before)


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the bytes of a regular file, without waiting.

    No link is followed to a file of the kernel: some hold secrets, and some are lost by reading. Raises NotRegular,
    FileTooLarge for more than `most` bytes, any other OSError, and ValueError for a path that cannot be one.
    """
    if _OF_KERNEL.match(os.path.realpath(path)) and not _OF_KERNEL.match(os.path.abspath(path)):
        raise NotRegular(errno.EINVAL, "a link to a file of the system", os.fspath(path))
    if not stat.S_ISREG(os.stat(path).st_mode):  # before it is opened, which resets some devices
        raise NotRegular(errno.EINVAL, "not a regular file", os.fspath(path))
    descriptor = os.open(path, _READ_FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NotRegular(errno.EINVAL, "not a regular file", os.fspath(path))
        found = os.read(descriptor, min(status.st_size, most) + 1)
        if len(found) > status.st_size:  # it has grown, or has no size, as below /proc
            while len(found) <= most and (piece := os.read(descriptor, most + 1 - len(found))):
                found += piece
    finally:
        os.close(descriptor)
    if len(found) > most:
        raise FileTooLarge(errno.EFBIG, f"the file is larger than {most:,} bytes", os.fspath(path))
    return found
