"""Tracebacks through compiled code, whose source is named by a relative path."""

from __future__ import annotations

import linecache
import os
from pathlib import Path

import numpy as np
import pytest

from gradcheck.checks.isolation.failure_capture import failure_of
from gradcheck.engines.tensor_class.user_code_guard import as_code_error, is_deliberate
from gradcheck.errors import Place
from gradcheck.language.crash import crash_at
from gradcheck.tracebacks import format_traceback, frames_of


def error_of_numpy() -> Exception:
    """An exception whose innermost frame is of `numpy/random/_common.pyx`, or a file beside it."""
    try:
        np.random.default_rng(0).binomial(1, 2.0, 3)
    except ValueError as error:
        return error
    raise AssertionError


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, the working directory, with a file of that name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(linecache, "cache", {})
    frame = error_of_numpy().__traceback__.tb_next.tb_frame  # type: ignore[union-attr]
    file = tmp_path / frame.f_code.co_filename
    assert not Path(frame.f_code.co_filename).is_absolute()
    file.parent.mkdir(parents=True)
    return file


def test_no_line_of_the_working_directory_is_shown(planted: Path) -> None:
    planted.write_text("planted\n" * 10_000)
    error = error_of_numpy()
    outer = ValueError("outer")
    outer.__cause__ = ExceptionGroup("group", [error])
    assert "planted" not in format_traceback(outer)
    assert "binomial(1, 2.0, 3)" in format_traceback(outer)
    assert [bool(frame.line) for frame in frames_of(error)] == [True, *[False] * (len(frames_of(error)) - 1)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_no_pipe_of_the_working_directory_is_waited_for(planted: Path) -> None:
    os.mkfifo(planted)
    error = error_of_numpy()
    assert not is_deliberate(error)
    assert "_common" in failure_of(error).details
    assert "_common" in crash_at(error, Place("f.yaml", 1, 1)).details
    assert "_common" in as_code_error("mine", error).trace
