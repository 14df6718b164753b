"""Warnings of libraries are recorded once each, without internal locations, and not printed."""

from __future__ import annotations

import warnings

import pytest

from gradcheck.checks.isolation.captured_warnings import WarningRecorder, capture_warnings
from gradcheck.facts import fact


def test_each_is_heard_once_and_none_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    recorder = WarningRecorder([])
    with capture_warnings(recorder):
        for _ in range(3):
            warnings.warn("one  thing\nmore", UserWarning, stacklevel=1)
        warnings.warn("another (Triggered internally at /a/b.cpp:18.)", UserWarning, stacklevel=1)
    assert [found["text"] for found in recorder.warnings] == ["one thing more", "another"]
    assert capsys.readouterr() == ("", "")


def test_there_is_a_limit_of_their_number_and_length() -> None:
    recorder = WarningRecorder([])
    with capture_warnings(recorder):
        for number in range(3_000):
            warnings.warn(f"{number} {'x' * 5_000}", UserWarning, stacklevel=1)
    assert [len(found["text"]) for found in recorder.warnings] == [1_000] * 100


@pytest.mark.parametrize(
    ("file", "library"),
    [
        ("/x/gradcheck/engines/torch.py", "torch"),
        ("/x/torch/functional.py", "torch"),
        ("/x/numpy/linalg/linalg.py", "NumPy"),
        ("/x/mine.py", "mine.py"),
    ],
)
def test_whose_it_is(file: str, library: str) -> None:
    recorder = WarningRecorder([])
    with capture_warnings(recorder):
        warnings.warn_explicit("careful", UserWarning, file, 1)
    assert recorder.warnings == [fact("warned", by=library, text="careful")]


def test_afterwards_warnings_are_what_they_were() -> None:
    with capture_warnings(WarningRecorder([])):
        pass
    with pytest.warns(UserWarning, match="again"):
        warnings.warn("again", UserWarning, stacklevel=1)
