"""Cases that are begun together have the results, the warnings and the faults that each has alone."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gradcheck.autograd import TABLE
from gradcheck.checks import ahead, in_steps
from gradcheck.checks.agreed import Agreed
from gradcheck.checks.ahead import begun_together
from gradcheck.checks.context import Context
from gradcheck.checks.in_turn import checker, in_turn, ready
from gradcheck.checks.options import Options, Override, engines_of
from gradcheck.checks.pipeline import Begun
from gradcheck.checks.result import CaseResult
from gradcheck.engines.core import Core
from gradcheck.errors import InvalidCase, Place
from gradcheck.language.case import Case, Claim, Work
from gradcheck.language.expr.parser import parse
from tests.from_text import case_of

RIGHT = "inputs: {x: [1, 2], w: randn(2)}\ngraph: {y: x * w + x, loss: y.sum()}\n"
#: Right and wrong ones, in several precisions, of several steps, with kinks, that raise, that cannot be evaluated.
TEXTS = (
    RIGHT,
    RIGHT + "formulas: {x: w}\n",
    RIGHT + "formulas: {x: w + 1}\ndtype: float32\n",
    RIGHT + "expected: {x: [1, 1]}\n",
    RIGHT + "steps: [{backward: loss}, {backward: loss}, {zero_grad: x}]\n",
    RIGHT + "steps: [{backward: y, raises: non_scalar_backward}, {backward: loss}]\n",
    RIGHT + "skip: not now\n",
    RIGHT + "only: [torch]\n",
    RIGHT + "xfail: nothing is wrong\n",
    "inputs: {x: [0, 1]}\ngraph: {y: (x.abs() * x.relu()).sum()}\n",
    "inputs: {x: [[1, 2]]}\ngraph: {y: (x @ x).sum()}\n",
    "inputs: {x: 'randn(2, 3)'}\ngraph: {y: linalg.inv(x).sum()}\n",
    "inputs: {x: [1.0, 2.0]}\ngraph: {y: (x - x).sum(), z: y + x.log()}\nbackward: {z: [1, 2]}\n",
)


def cases() -> list[Case]:
    return [case_of(f"name: case {number}\n{text}") for number, text in enumerate(TEXTS)]


def alone(work: Sequence[Work], options: Options) -> list[CaseResult]:
    engines = engines_of(options)
    check = checker(options, engines)
    with ready(options, engines):
        return [check(item) for item in work]


def told(found: Sequence[CaseResult]) -> list[str]:
    """All that results say, but how long they took."""
    return [repr(replace(one, seconds=0.0, case=None)) for one in found]


def begun(work: Sequence[Work], options: Options | None = None) -> list[Begun | None]:
    chosen = Options() if options is None else options
    return [one for _, one in begun_together(work, chosen, engines_of(chosen))]


@pytest.mark.parametrize(
    "options",
    [Options(), Options(seed=3, dtype="float32", explained=False), Options(mode="forward", explained=False)],
)
def test_results_are_those_of_each_alone(options: Options) -> None:
    together = list(in_turn(cases(), options, engines_of(options)))
    assert told(together) == told(alone(cases(), options))
    assert {one.status for one in together} >= {"passed", "failed", "skipped"} or options.mode == "forward"


def test_items_come_in_their_order_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "MOST", 8)
    broken = [InvalidCase("no case", place=Place("a.yaml", 1, 1))]
    more = [case_of(f"name: c{n}\n{RIGHT}") for n in range(18)]
    work: list[Work] = [*more[:-2], broken, *more[-2:]]
    found = list(begun_together(work, Options(), engines_of(Options())))
    assert [item for item, _ in found] == work
    assert [one is not None and one.context is not None for _, one in found[-4:]] == [True, False, True, True]


def test_the_references_graph_is_let_go_where_all_agrees() -> None:
    for one in begun([case_of(f"name: c{n}\n{RIGHT}") for n in range(2)]):
        assert one is not None
        assert one.context is not None
        own = one.context.points.own
        assert (own.record(one.context.engines.reference), own.asked) == (None, {})


def test_one_case_alone_is_not_begun() -> None:
    (only,) = begun([case_of(RIGHT)])
    assert only is not None
    assert only.context is None


def test_only_plain_engines_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(Core):
        name = "mine"

    work = [case_of(f"name: c{n}\n{RIGHT}") for n in range(3)]
    assert begun(work, Options(engines=(Mine(),))) == [None] * 3
    assert begun(work, Options(timeout=5.0)) == [None] * 3
    assert begun(work, Options(overrides=(Override(("*",), {"memory": 10**9}),))) == [None] * 3
    assert all(begun(work, Options(engines=("core",), reference="core")))


def test_what_draws_numbers_is_not_begun() -> None:
    work = [case_of(RIGHT), case_of("inputs: {x: [1, 2]}\ngraph: {y: (x * x).sum()}\n")]
    drawing = replace(work[1], graph={"y": Claim("rand(2) * x", parse("rand(2) * x"))})
    assert [one is None for one in begun([*work, drawing])] == [False, False, True]


def test_large_tensors_are_left_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_steps, "ELEMENTS", 8)
    work = [case_of(f"name: c{n}\n{RIGHT}") for n in range(4)]
    found = begun(work)
    stages = [one.stages for one in found if one is not None]
    assert stages[-1] == 0
    assert told(list(in_turn(work, Options(), engines_of(Options())))) == told(alone(work, Options()))


def test_warnings_belong_to_their_case(monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(array: np.ndarray) -> np.ndarray:
        warnings.warn(f"careful with {array.size}", UserWarning, stacklevel=1)
        return np.sinh(array)

    exchange(monkeypatch, "sinh", warn)
    work = [case_of(f"name: c{n}\ninputs: {{x: randn({n})}}\ngraph: {{y: sinh(x).sum()}}\n") for n in (2, 3, 2)]
    found = list(in_turn(work, Options(), engines_of(Options())))
    assert [[one["text"] for one in case.warnings] for case in found] == [
        ["careful with 2"],
        ["careful with 3"],
        ["careful with 2"],
    ]


def test_what_breaks_is_told_of_its_case_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(array: np.ndarray) -> np.ndarray:
        if array.size == 3:
            raise AssertionError("nobody expected this")
        return np.cosh(array)

    exchange(monkeypatch, "cosh", breaks)
    work = [case_of(f"name: c{n}\ninputs: {{x: randn({n})}}\ngraph: {{y: cosh(x).sum()}}\n") for n in (2, 3, 4)]
    found = list(in_turn(work, Options(), engines_of(Options())))
    assert [one.status for one in found] == ["passed", "crashed", "passed"]
    assert told(found) == told(alone(work, Options()))


def test_the_time_of_a_case_has_what_was_begun() -> None:
    found = list(begun_together(cases()[:4], Options(), engines_of(Options())))
    for item, one in found:
        assert isinstance(item, Case)
        assert one is not None
        assert one.seconds > 0
        one.seconds = 1000.0
    engines = engines_of(Options())
    assert all(checker(Options(), engines)(item, one).seconds > 999 for item, one in found)


def exchange(monkeypatch: pytest.MonkeyPatch, name: str, forward: Callable[[np.ndarray], Any]) -> None:
    """Another forward for an op of the core."""
    monkeypatch.setitem(TABLE, name, replace(TABLE[name], forward=forward))


def test_a_run_of_files_begins_them_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    known = ahead.begin
    monkeypatch.setattr(ahead, "begin", lambda several, *rest: (counted.append(len(several)), known(several, *rest))[1])
    from gradcheck.checks.run import run

    for number in range(3):
        (tmp_path / f"{number}.yaml").write_text(RIGHT, encoding="utf-8")
    assert [one.status for one in run(tmp_path).cases] == ["passed"] * 3
    assert counted == [3]


def test_an_interrupt_leaves_what_had_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    work = [case_of(f"name: c{number}\n{RIGHT}") for number in range(4)]
    known = in_steps.agreed

    def agreed(context: Context) -> Agreed | None:
        if context.case.name == "c2":
            raise KeyboardInterrupt
        return known(context)

    monkeypatch.setattr(in_steps, "agreed", agreed)
    found = in_turn(work, Options(), engines_of(Options()))
    assert [next(found).name, next(found).name] == ["c0", "c1"]
    with pytest.raises(KeyboardInterrupt):
        next(found)
