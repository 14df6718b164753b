"""Cases one after another in this process."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gradcheck.checks.options import Engines, Options, Override, engines_of
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.checks.scheduling.run import run
from gradcheck.checks.scheduling.sequential import (
    check_isolated,
    engine_sessions,
    make_checker,
    run_sequentially,
    unreadable_result,
)
from gradcheck.engines.core import Core
from gradcheck.errors import InvalidCase, Place
from gradcheck.facts import fact
from gradcheck.language.case import Case
from gradcheck.language.loader import load_text
from gradcheck.language.value_precheck import find_value_errors
from tests.conftest import FOREVER
from tests.from_text import case_of

SQUARE = "{inputs: {x: [1, 2]}, graph: {loss: (x * x).sum()}}"
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks are made on Linux alone")

#: One list of steps for the whole process, which a pass empties when it has come to its end.
CLASS = """
import numpy as np

STEPS = []

class Tensor:
    def __init__(self, data):
        self.data, self.grad = np.asarray(data, float), None

    def __mul__(self, other):
        out = Tensor(self.data * other.data)
        STEPS.append((out, [(self, lambda g: g * other.data), (other, lambda g: g * self.data)]))
        return out

    def __add__(self, other):
        out = Tensor(self.data + other.data)
        STEPS.append((out, [(self, lambda g: g), (other, lambda g: g)]))
        return out

    def sin(self):
        out = Tensor(np.sin(self.data))
        STEPS.append((out, [(self, lambda g: g * undefined)]))
        return out

    def backward(self, gradient):
        self.grad = np.array(gradient)
        for out, shares in reversed(STEPS):
            for tensor, share in shares if out.grad is not None else ():
                old = 0 if tensor.grad is None else tensor.grad
                tensor.grad = old + share(out.grad)
        STEPS.clear()
"""
CASES = """
name: raises
inputs: {a: [1, 2]}
graph: {b: sin(a)}
backward: {b: [1, 0.5]}
---
name: right alone
inputs: {a: [1, 2], b: [3, 4]}
graph: {c: a * b, d: c + a}
backward: {d: [1, 0.5]}
"""


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
    return check_isolated(case_of(SQUARE), chosen, engines_of(chosen))


def raising(error: BaseException) -> Callable[[], Any]:
    def happens() -> Any:
        raise error

    return happens


class Speechless(Exception):
    def __str__(self) -> str:
        raise ValueError("nothing to say")


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (ZeroDivisionError("oh"), "crash", fact("crashed", error="ZeroDivisionError", text="oh")),
        (MemoryError("full"), "memory", fact("ran_out_of_memory", text="full")),
        (SystemExit(0), "crash", fact("crashed", error="SystemExit", text="0")),
        (GeneratorExit(), "crash", fact("crashed", error="GeneratorExit", text="")),
        (KeyboardInterrupt(), "crash", fact("crashed", error="KeyboardInterrupt", text="")),
        (Speechless(), "crash", fact("crashed", error="Speechless", text="")),
    ],
)
def test_what_an_engine_raises_is_a_crash_of_the_case(error: BaseException, kind: str, message: object) -> None:
    found = checked(Broken(raising(error)))
    (failure,) = found.errors
    assert (found.status, failure.kind, failure.message) == ("crashed", kind, message)
    assert found.reproduce.startswith("gradcheck run")
    assert found.seconds > 0


def interrupt() -> Any:
    signal.raise_signal(signal.SIGINT)


def test_only_an_interrupt_passes_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        checked(Broken(interrupt))


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
    found = check_isolated(case, chosen, engines_of(chosen))
    assert (found.status, found.errors[0].message.kind) == ("invalid", "said")


def test_what_only_the_graph_s_values_show_makes_a_case_fail() -> None:
    chosen = Options(engines=["core"])
    case = case_of("{inputs: {x: [[1, 2]]}, graph: {y: 'max(x, dim=0)'}, backward: {'y[0]': 'ones_like(y)'}}")
    found = check_isolated(case, chosen, engines_of(chosen))
    assert find_value_errors(case) == []
    assert (found.status, found.errors[0].kind) == ("failed", "invalid")


def test_more_may_be_told_and_what_that_raises_leaves_the_verdict() -> None:
    def noted(found: CaseResult, case: Case, options: Options, engines: Engines) -> CaseResult:
        return replace(found, reason=f"{found.reason}{case.name}!")

    def breaks(found: CaseResult, case: Case, options: Options, engines: Engines) -> CaseResult:
        raise KeyError("k")

    chosen = Options(engines=["core"])
    engines, case = engines_of(chosen), case_of(SQUARE)
    assert check_isolated(case, chosen, engines, {"one": noted, "other": noted}).reason == f"{case.name}!" * 2
    found = check_isolated(case, chosen, engines, {"power": breaks, "derived": noted})
    assert (found.status, found.reason, found.errors) == ("passed", f"{case.name}!", ())
    (lost,) = found.incomplete
    assert (lost.kind, lost.message["part"]) == ("crash", "power")


def test_where_time_is_up_nothing_further_is_begun() -> None:
    def slow(found: CaseResult, case: Case, options: Options, engines: Engines) -> CaseResult:
        time.sleep(FOREVER)
        return found

    chosen = Options(engines=["core"], timeout=4.0)
    found = check_isolated(case_of(SQUARE), chosen, engines_of(chosen), {"power": slow, "derived": slow})
    assert (found.status, [lost.message["part"] for lost in found.incomplete]) == ("passed", ["power"])


def test_what_engines_print_goes_with_the_case() -> None:
    class Loud(Core):
        name = "loud"

        class output:  # noqa: N801
            @staticmethod
            def take() -> str:
                return "hello"

    assert dict(checked(Loud()).output) == {"loud": "hello"}


def test_conventions_are_told_of_a_case_that_passes() -> None:
    class Half(Core):
        name = "half"
        conventions = (fact("computes_in", dtype="float32"),)

    found = checked(Half())
    assert (found.status, found.conventions) == ("passed", (("half", Half.conventions),))


def test_a_file_that_cannot_be_read_is_a_result_with_all_its_errors() -> None:
    errors = [InvalidCase("no", place=Place("a.yaml", 1, 2), hint="try yes"), InvalidCase("nor this")]
    found = unreadable_result(errors)
    assert (found.status, found.id, found.name) == ("invalid", "a.yaml", "")
    assert [(error.message, error.hint) for error in found.errors] == [
        (fact("said", text="no"), "try yes"), (fact("said", text="nor this"), ""),
    ]  # fmt: skip


def checked_class(folder: Path, *changes: tuple[str, str]) -> RunResult:
    text = CLASS
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "mine.py").write_text(text)
    cases, errors = load_text(CASES, "cases.yaml")
    assert errors == []
    return run(cases, engines=[f"{folder / 'mine.py'}:Tensor"])


def test_what_an_earlier_pass_has_left_is_no_fault_of_a_later_case(tmp_path: Path) -> None:
    found = checked_class(tmp_path)
    assert [case.status for case in found.cases] == ["failed", "passed"]
    assert "leaves_something" in {one.kind for _, one in found.conventions}


def test_what_is_wrong_alone_stays_wrong(tmp_path: Path) -> None:
    found = checked_class(tmp_path, ("lambda g: g * self.data)", "lambda g: g * other.data)"))
    assert [case.status for case in found.cases] == ["failed", "failed"]
    assert any(c.diagnoses for c in found.cases[1].comparisons)


CASE_TEXT = "name: a\ninputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\nformulas: {x: 2 * x}"
CASE = case_of(CASE_TEXT)
#: Arrays of 40 MB, which are given back at once when they are not needed any more.
LARGE = case_of("name: large\ninputs: {x: randn(5_000_000)}\ngraph: {y: (x * x).sum()}".replace("_", ""))


def test_cases_and_files_that_cannot_be_read_have_results_in_turn() -> None:
    options = Options()
    work = [[InvalidCase("no case", place=Place("a.yaml", 1, 1))], CASE]
    found = list(run_sequentially(work, options, engines_of(options)))
    assert [one.status for one in found] == ["invalid", "passed"]


def test_what_is_asked_for_besides_is_added() -> None:
    options = Options(power=True)
    engines = engines_of(options)
    with engine_sessions(options, engines):
        assert make_checker(options, engines)(CASE).power is not None


def test_engines_and_memory_may_differ_from_path_to_path(tmp_path: Path) -> None:
    others = [case_of(CASE_TEXT.replace("name: a", f"name: {name}")) for name in ("b", "c")]
    places = [replace(case, place=replace(case.place, file=str(tmp_path / name))) for case, name in zip(
        (CASE, *others), ("plain.yaml", "numpy.yaml", "both.yaml"), strict=True
    )]  # fmt: skip
    options = Options(
        overrides=(
            Override((str(tmp_path / "*m*.yaml"), str(tmp_path / "b*.yaml")), {"reference": "core"}),
            Override((str(tmp_path / "both.yaml"),), {"engines": ("torch",), "memory": 10**9, "timeout": 60.0}),
        )
    )
    for jobs in (1, 2):
        found = run(places, replace(options, jobs=jobs)).cases
        told = [{(c.engine, c.reference) for c in one.comparisons if c.what == "gradient"} for one in found]
        assert told == [{("core", "torch")}, {("core", "core")}, {("torch", "core")}]
    assert "--engine torch --reference core" in found[2].reproduce


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited on Linux alone")
def test_a_case_may_have_more_time_or_memory_than_others() -> None:
    where = "/x/large.yaml"
    large = replace(LARGE, place=replace(LARGE.place, file=where))
    small = Options(memory=20_000_000)
    wide = replace(small, overrides=(Override((where,), {"memory": 2_000_000_000}),))
    narrow = Options(overrides=(Override((where,), {"memory": 20_000_000}),))
    statuses = [run([large, CASE], chosen).cases for chosen in (small, wide, narrow)]
    assert [(a.status, b.status) for a, b in statuses] == [
        ("crashed", "passed"), ("passed", "passed"), ("crashed", "passed"),
    ]  # fmt: skip
