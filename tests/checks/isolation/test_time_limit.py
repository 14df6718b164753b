"""Time limits: what is stopped, when, and what is left alone."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import pytest

from gradcheck import forks
from gradcheck.checks.isolation import time_limit
from gradcheck.checks.isolation.time_limit import OutOfTime, case_time_limit, deadline, pause_time_limit
from tests.conftest import FOREVER


class Engine:
    """Whoever may never return says how long it may take."""

    def __init__(self, timeout: float | None = None) -> None:
        if timeout is not None:
            self.timeout = timeout


@pytest.mark.parametrize(
    ("asked", "engines", "limit"),
    [
        (None, [Engine()], None),
        (None, [Engine(), Engine(20.0), Engine(5.0)], 20.0),
        (3.0, [Engine(20.0)], 3.0),
        (None, [], None),
    ],
)
def test_a_run_limits_its_cases_else_an_engine_does(asked: float | None, engines: Any, limit: float | None) -> None:
    assert case_time_limit(asked, engines) == limit


def loops() -> None:
    while True:
        pass


def test_what_takes_too_long_is_stopped() -> None:
    with pytest.raises(OutOfTime), deadline(0.05):
        loops()


def test_it_rings_again_where_the_first_is_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradcheck.checks.isolation.time_limit.REPEAT_SECONDS", 0.05)

    def swallows() -> None:
        with contextlib.suppress(BaseException):  # as somebody's code does
            loops()
        loops()

    with pytest.raises(OutOfTime), deadline(0.05):
        swallows()


def test_what_is_quick_or_has_no_limit_is_left_alone() -> None:
    with deadline(1_000.0):
        pass
    with deadline(None):
        pass


def test_in_another_thread_it_is_told_at_the_end() -> None:
    found: list[str] = []

    def runs() -> None:
        try:
            with deadline(0.01):
                time.sleep(0.05)
                found.append("ended")
        except OutOfTime:
            found.append("late")

    thread = threading.Thread(target=runs)
    thread.start()
    thread.join()
    assert found == ["ended", "late"]


def test_nothing_that_takes_exceptions_takes_it_for_an_answer() -> None:
    assert not issubclass(OutOfTime, Exception)


def test_a_deadline_inside_another_leaves_it_as_it_was() -> None:
    start = time.perf_counter()

    def within() -> None:
        with pytest.raises(OutOfTime) as inner, deadline(0.05):
            loops()
        assert inner.value.seconds == 0.05
        loops()

    with pytest.raises(OutOfTime) as outer, deadline(3.0):
        within()
    assert outer.value.seconds == 3.0
    assert time.perf_counter() - start > 2.4


def test_what_is_loaded_late_takes_no_case_its_time() -> None:
    """Neither where a timer rings, nor where the time is looked at afterwards."""

    def loads() -> None:
        with deadline(1.0), pause_time_limit():
            time.sleep(1.2)

    loads()
    raised: list[BaseException] = []

    def listens() -> None:
        try:
            loads()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=listens)
    thread.start()
    thread.join()
    assert not raised


def test_the_time_goes_on_where_it_stopped() -> None:
    def loads_and_loops() -> None:
        with pause_time_limit():
            time.sleep(0.1)
        loops()

    with pytest.raises(OutOfTime), deadline(0.05):
        loads_and_loops()


def test_a_process_is_given_up_whose_code_swallows_every_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    given_up: list[bool] = []
    monkeypatch.setattr(time_limit, "REPEAT_SECONDS", 0.001)
    monkeypatch.setattr(forks, "give_up", lambda: given_up.append(True))
    with contextlib.suppress(OutOfTime), deadline(0.001):
        while not given_up:
            with contextlib.suppress(OutOfTime):
                time.sleep(FOREVER)
    assert given_up
