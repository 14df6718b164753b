"""Files are written whole, and never through a link that leaves their folder."""

from __future__ import annotations

import os
import socket
import stat
import tempfile
import threading
from pathlib import Path
from typing import IO

import pytest

from gradcheck import safe_files
from gradcheck.checks.isolation.time_limit import deadline
from gradcheck.project_links import LinkRefused, resolve
from gradcheck.safe_files import (
    FileTooLarge,
    Folder,
    NotRegular,
    UnexpectedFile,
    read_regular,
    write,
)


def anything(file: IO[bytes]) -> bool:
    return True


def ours(file: IO[bytes]) -> bool:
    return file.read().startswith(b"ours")


@pytest.fixture(params=[True, False], ids=["by open folders", "by paths"])
def by_folder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways in which entries of a folder are reached."""
    monkeypatch.setattr(safe_files, "_HAS_DIR_FD", request.param)


def test_a_link_that_appears_meanwhile_is_not_followed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "out").mkdir()
    known = os.path.realpath

    def swapped(path: str) -> str:
        found = known(path)
        if str(path).endswith("r"):
            (project / "out").rmdir()
            (project / "out").symlink_to("..")
        return found

    monkeypatch.setattr(safe_files.os.path, "realpath", swapped)
    with pytest.raises(OSError, match="Not a directory"):
        write("out/r", b"new", anything)
    assert not (project.parent / "r").exists()


# What is there -----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("by_folder")
def test_what_is_not_ours_stays(project: Path) -> None:
    (project / "r").write_text("theirs")
    with pytest.raises(UnexpectedFile):
        write("r", b"new", ours)
    assert (project / "r").read_text() == "theirs"
    (project / "r").write_text("")
    write("r", b"ours", ours)
    write("r", b"ours again", ours)
    assert (project / "r").read_text() == "ours again"
    assert sorted(os.listdir()) == [".git", "r"]


@pytest.mark.usefixtures("by_folder")
def test_a_second_name_of_a_file_keeps_what_it_has(project: Path) -> None:
    (project / "r").write_text("ours")
    os.link(project / "r", project / "second")
    write("r", b"new", anything)
    assert (project / "second").read_text() == "ours"


@pytest.mark.usefixtures("by_folder")
def test_what_cannot_be_finished_leaves_what_was_there(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "r").write_text("old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gradcheck.safe_files.os.replace", full)
    with pytest.raises(OSError, match="No space left"):
        write("r", b"new", anything)
    assert sorted(os.listdir()) == [".git", "r"]
    assert (project / "r").read_text() == "old"


@pytest.mark.usefixtures("by_folder")
def test_the_longest_name_and_permissions_stay(project: Path) -> None:
    name = "\U0001d6c1" * 63
    (project / name).write_text("ours")
    (project / name).chmod(0o4750)
    write(name, b"ours again", ours)
    assert (project / name).read_text() == "ours again"
    assert stat.S_IMODE((project / name).stat().st_mode) == 0o750


@pytest.mark.usefixtures("by_folder")
def test_a_file_is_created_only_where_there_is_none(project: Path) -> None:
    (project / "link").symlink_to("../new")
    with Folder(".") as folder:
        folder.create("r", b"first")
        for name in ("r", "link"):
            with pytest.raises(FileExistsError):
                folder.create(name, b"second")
    assert (project / "r").read_bytes() == b"first"
    assert not (project.parent / "new").exists()


@pytest.mark.usefixtures("by_folder")
def test_only_what_is_empty_or_of_the_right_kind_may_be_replaced(project: Path) -> None:
    os.mkfifo(project / "pipe")
    (project / "link").symlink_to("nothing")
    (project / "empty").touch()
    (project / "ours").write_text("ours")
    (project / "theirs").write_text("theirs")
    with Folder(".") as folder:
        found = {name: folder.may_write(name, ours) for name in (*os.listdir(), "new")}
    assert {name for name, allowed in found.items() if allowed} == {"empty", "ours", "new"}


@pytest.mark.usefixtures("by_folder")
def test_only_regular_files_are_read_and_nobody_waits(project: Path) -> None:
    os.mkfifo(project / "pipe")
    (project / "link").symlink_to("../precious")
    with Folder(".") as folder:
        for name in ("pipe", "link", ".git", "nothing"):
            with pytest.raises(OSError):  # noqa: PT011
                folder.read(name)


def test_a_pipe_and_a_device_get_what_is_written(project: Path) -> None:
    os.mkfifo(project / "pipe")
    data = b"through" * 50_000  # more than a pipe holds
    found: list[bytes] = []
    with open(os.open("pipe", os.O_RDONLY | os.O_NONBLOCK), "rb") as pipe:
        os.set_blocking(pipe.fileno(), True)
        other = os.open("pipe", os.O_WRONLY)  # else the reader is at the end before anything is written
        reader = threading.Thread(target=lambda: found.append(pipe.read(len(data))))
        reader.start()
        write("pipe", data, ours)
        reader.join()
        os.close(other)
    assert found == [data]
    write(os.devnull, b"gone", ours)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no such device")
def test_a_system_that_cannot_wait_for_a_pipe_writes_to_its_null_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "set_blocking")
    monkeypatch.delattr(os, "O_NONBLOCK")
    write(os.devnull, b"nothing", anything)


def test_a_device_that_is_not_open_is_not_opened(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To open a watchdog restarts the machine."""
    opened = os.open

    def watched(path: str, *flags: int, **how: int | None) -> int:
        assert path != "full"
        return opened(path, *flags, **how)

    monkeypatch.setattr("gradcheck.safe_files.os.open", watched)
    with pytest.raises(NotRegular, match="it is a device"):
        write("/dev/full", b"data", ours)


def test_a_pipe_that_nobody_reads_is_not_waited_for(project: Path) -> None:
    os.mkfifo(project / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind("socket")
        for name in ("pipe", "socket"):
            with pytest.raises(OSError, match="a pipe that nobody reads"):
                write(name, b"data", ours)


@pytest.mark.skipif(not os.path.exists("/proc/self/cwd"), reason="the system has no such names")
@pytest.mark.parametrize(
    "path", ["/proc/self/cwd/precious", "/proc/self/root{}/precious", "/dev/fd/../../{}/precious", f"/dev/fd/{10**10}"]
)
def test_no_name_of_the_system_leads_to_a_file_that_is_not_open(project: Path, path: str) -> None:
    (project / "precious").write_text("mine")
    with pytest.raises(OSError):  # noqa: PT011
        write(path.format(project), b"data", ours)
    assert (project / "precious").read_text() == "mine"


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="the system has no such folder")
def test_a_file_among_devices_is_a_file(project: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder, "precious")
        path.write_text("mine")
        with pytest.raises(UnexpectedFile):
            write(path, b"data", ours)
        assert path.read_text() == "mine"


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="the system has no names for open files")
def test_the_systems_name_of_an_open_file_is_written(project: Path) -> None:
    with open("r", "wb") as file:
        write(f"/dev/fd/{file.fileno()}", b"through", ours)
    assert (project / "r").read_bytes() == b"through"


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="the system has no names for open files")
def test_a_file_that_is_open_for_reading_is_not_written(project: Path) -> None:
    (project / "precious").write_text("mine")
    with open("precious", "rb") as file, pytest.raises(OSError, match="Bad file descriptor"):
        write(f"/dev/fd/{file.fileno()}", b"data", ours)
    assert (project / "precious").read_text() == "mine"


def test_a_link_in_the_place_of_a_folder_is_no_folder(project: Path) -> None:
    (project / "link").symlink_to(".git")
    with Folder(".") as folder, pytest.raises(OSError, match="Not a directory"):
        folder.open_subfolder("link", create=True)
    with pytest.raises(LinkRefused):
        resolve("link/r")


# Reading ------------------------------------------------------------------------------------------------


def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for text in (b"", b"a", b"a" * 10):
        file.write_bytes(text)
        assert read_regular(file, 10) == text
    file.write_bytes(b"a" * 11)
    with pytest.raises(FileTooLarge, match="the file is larger than 10 bytes"):
        read_regular(file, 10)


def test_a_file_may_be_larger_than_the_system_says() -> None:
    """Files below /proc have no size."""
    found = read_regular("/proc/self/status", 100_000)
    assert found.startswith(b"Name:")
    assert b"\nVmData:" in found
    with pytest.raises(FileTooLarge):
        read_regular("/proc/self/status", 10)


def test_nothing_else_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.fspath(tmp_path / "socket"))
    with deadline(20):
        for name in (tmp_path / "pipe", tmp_path / "link", tmp_path, "/dev/zero", "/dev/tty0"):
            if Path(name).exists():
                with pytest.raises(NotRegular):
                    read_regular(name, 10)
    with pytest.raises(NotRegular):
        read_regular(tmp_path / "socket", 10)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "nothing", 10)
    with pytest.raises(ValueError, match="null"):
        read_regular("a\0b", 10)


def test_a_device_is_not_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a serial port resets what is connected to it, and opening a watchdog starts it."""
    opened: list[object] = []
    monkeypatch.setattr(os, "open", lambda path, *_: opened.append(path))
    with pytest.raises(NotRegular):
        read_regular(os.devnull, 10)
    assert not opened


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no such file here")
def test_a_link_to_the_environment_of_a_process_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "inner").symlink_to("/proc/self")
    (tmp_path / "own").write_text("own")
    (tmp_path / "fine").symlink_to("own")
    assert read_regular(tmp_path / "fine", 10) == b"own"
    for target in ("/proc/self/environ", "inner/environ"):
        link = tmp_path / "link"
        link.symlink_to(target)
        with pytest.raises(NotRegular, match="a link to a file of the system"):
            read_regular(link, 10_000_000)
        link.unlink()
    with pytest.raises(NotRegular, match="a link to a file of the system"):
        read_regular(tmp_path / "inner" / "environ", 10_000_000)
