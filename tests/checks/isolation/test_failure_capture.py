"""What explains a verdict may fail: how is kept, and whether to go on."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

from gradcheck.checks.isolation.failure_capture import capture_warnings, crash_of, failure_of, try_part
from gradcheck.checks.isolation.time_limit import OutOfTime
from gradcheck.checks.result import Failure
from gradcheck.errors import Place
from gradcheck.facts import fact
from gradcheck.interrupts import Interrupt


def raising(error: BaseException) -> Callable[[], None]:
    def look() -> None:
        raise error

    return look


@pytest.mark.parametrize(
    ("error", "kind", "goes_on"),
    [(IndexError("i"), "crash", True), (MemoryError(), "memory", True), (OutOfTime(2.0), "timeout", False)],
)
def test_what_fails_is_kept_and_after_the_time_nothing_is_begun(error: BaseException, kind: str, goes_on: bool) -> None:
    lost: list[Failure] = []
    assert try_part("cause", raising(error), lost) == goes_on
    assert [(one.kind, one.message.kind, one.message["part"]) for one in lost] == [(kind, "not_found_out", "cause")]


def test_what_goes_well_leaves_nothing() -> None:
    lost: list[Failure] = []
    assert try_part("cause", lambda: None, lost)
    assert lost == []


def test_an_interrupt_passes_through() -> None:
    with pytest.raises(Interrupt):
        try_part("cause", raising(Interrupt()), [])


def test_a_crash_has_a_traceback_and_the_place_that_is_known() -> None:
    place = Place("a.yaml", 1, 2)
    try:
        raising(KeyError("k"))()
    except KeyError as error:
        found = failure_of(error, place)
    assert found.place == place
    assert "in look" in found.details
    late = OutOfTime(2.0)
    assert failure_of(late).message == fact("ran_out_of_time", seconds=2.0)
    late.add_note("its tanh")
    assert failure_of(late).message == fact("ran_out_of_time_inside", seconds=2.0, inside="its tanh")


def test_a_crash_is_its_type_and_the_first_line_of_what_it_says() -> None:
    assert crash_of(ValueError("one\ntwo")) == fact("crashed", error="ValueError", text="one")
    assert crash_of(ValueError()) == fact("crashed", error="ValueError", text="")


def test_each_is_heard_once_and_none_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with capture_warnings() as warned:
        for _ in range(3):
            warnings.warn("one  thing\nmore", UserWarning, stacklevel=1)
        warnings.warn("another (Triggered internally at /a/b.cpp:18.)", UserWarning, stacklevel=1)
    assert [found["text"] for found in warned] == ["one thing more", "another"]
    assert capsys.readouterr() == ("", "")


def test_there_is_a_limit_of_their_number_and_length() -> None:
    with capture_warnings() as warned:
        for number in range(3_000):
            warnings.warn(f"{number} {'x' * 5_000}", UserWarning, stacklevel=1)
    assert [len(found["text"]) for found in warned] == [1_000] * 100


@pytest.mark.parametrize(
    ("file", "library"),
    [
        ("/x/gradcheck/engines/torch.py", "torch"),
        ("/x/site-packages/torch/functional.py", "torch"),
        ("/x/site-packages/numpy/linalg/linalg.py", "NumPy"),
        ("/x/autograd/core/functions.py", "functions.py"),
        ("/x/mine.py", "mine.py"),
    ],
)
def test_whose_it_is(file: str, library: str) -> None:
    with capture_warnings() as warned:
        warnings.warn_explicit("careful", UserWarning, file, 1)
    assert warned == [fact("warned", by=library, text="careful")]


def test_afterwards_warnings_are_what_they_were() -> None:
    with capture_warnings():
        pass
    with pytest.warns(UserWarning, match="again"):
        warnings.warn("again", UserWarning, stacklevel=1)
