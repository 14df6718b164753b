"""One case on its own: whatever an engine does, there is a result."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gradcheck.checks.options import Engines, Options, engines_of
from gradcheck.checks.result import CaseResult
from gradcheck.checks.runner import OutOfTime, check_one, crash_of, deadline, limit_of, unreadable
from gradcheck.engines.core import Core
from gradcheck.errors import InvalidCase, Place
from gradcheck.facts import fact
from gradcheck.language.case import Case
from tests.from_text import case_of

SQUARE = "{inputs: {x: [1, 2]}, graph: {loss: (x * x).sum()}}"


class Broken(Core):
    """Does something else instead of evaluating."""

    name = "broken"

    def __init__(self, happens: Callable[[], Any]) -> None:
        super().__init__()
        self.happens = happens

    def evaluate(self, *args: Any, **kwargs: Any) -> Any:
        return self.happens()


def checked(engine: Any, **options: Any) -> CaseResult:
    chosen = Options(engines=[engine], **options)
    return check_one(case_of(SQUARE), chosen, engines_of(chosen))


def raising(error: BaseException) -> Callable[[], Any]:
    def happens() -> Any:
        raise error

    return happens


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ZeroDivisionError("oh"), "crash", fact("crashed", error="ZeroDivisionError", text="oh")),
        (MemoryError("full"), "memory", fact("ran_out_of_memory", text="full")),
    ],
)
def test_what_an_engine_raises_is_a_crash_of_the_case(error: Exception, kind: str, message: object) -> None:
    found = checked(Broken(raising(error)))
    (failure,) = found.errors
    assert (found.status, failure.kind, failure.message) == ("crashed", kind, message)
    assert found.reproduce.startswith("gradcheck run")
    assert found.seconds > 0


def test_only_an_interrupt_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        checked(Broken(raising(KeyboardInterrupt())))


def endless() -> Any:
    while True:
        pass


def test_an_engine_that_may_never_return_has_its_own_limit_and_the_run_s_wins() -> None:
    engine = Broken(endless)
    engine.timeout = 0.1  # type: ignore[attr-defined]
    assert checked(engine).errors[0].message == fact("ran_out_of_time", seconds=0.1)
    assert checked(engine, timeout=0.05).errors[0].message == fact("ran_out_of_time", seconds=0.05)


def test_numbers_that_cannot_be_drawn_make_a_case_invalid() -> None:
    chosen = Options(engines=["core"])
    case = case_of("{inputs: {x: [1]}, graph: {y: x * x}, backward: {y: 'randn(3) @ randn(4)'}}")
    found = check_one(case, chosen, engines_of(chosen))
    assert (found.status, found.errors[0].message.kind) == ("invalid", "said")


def test_more_may_be_told_and_what_that_raises_is_a_crash_too() -> None:
    def noted(found: CaseResult, case: Case, options: Options, engines: Engines) -> CaseResult:
        return replace(found, reason=f"{found.reason}{case.name}!")

    def breaks(found: CaseResult, case: Case, options: Options, engines: Engines) -> CaseResult:
        raise KeyError("k")

    chosen = Options(engines=["core"])
    engines, case = engines_of(chosen), case_of(SQUARE)
    assert check_one(case, chosen, engines, [noted, noted]).reason == f"{case.name}!" * 2
    assert check_one(case, chosen, engines, [breaks]).status == "crashed"


def test_what_engines_print_goes_with_the_case() -> None:
    class Loud(Core):
        name = "loud"

        class output:  # noqa: N801
            @staticmethod
            def take() -> str:
                return "hello"

    assert dict(checked(Loud()).output) == {"loud": "hello"}


def test_a_crash_is_its_type_and_the_first_line_of_what_it_says() -> None:
    assert crash_of(ValueError("one\ntwo")) == fact("crashed", error="ValueError", text="one")
    assert crash_of(ValueError()) == fact("crashed", error="ValueError", text="")


def test_a_file_that_cannot_be_read_is_a_result_with_all_its_errors() -> None:
    errors = [InvalidCase("no", place=Place("a.yaml", 1, 2), hint="try yes"), InvalidCase("nor this")]
    found = unreadable(errors)
    assert (found.status, found.id, found.name) == ("invalid", "a.yaml", "")
    assert [(error.message, error.hint) for error in found.errors] == [
        (fact("said", text="no"), "try yes"), (fact("said", text="nor this"), ""),
    ]  # fmt: skip


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
    assert limit_of(asked, engines) == limit


def loops() -> None:
    while True:
        pass


def test_what_takes_too_long_is_stopped() -> None:
    start = time.perf_counter()
    with pytest.raises(OutOfTime), deadline(0.05):
        loops()
    assert time.perf_counter() - start < 5


def test_it_rings_again_where_the_first_is_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gradcheck.checks.runner.AGAIN", 0.05)

    def swallows() -> None:
        with contextlib.suppress(BaseException):  # as somebody's code does
            loops()
        loops()

    with pytest.raises(OutOfTime), deadline(0.05):
        swallows()


def test_what_is_quick_or_has_no_limit_is_left_alone() -> None:
    with deadline(30.0):
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
