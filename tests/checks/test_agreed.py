"""Cases in which all agrees have the results that the stages come to, made when somebody looks."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from dataclasses import replace

import pytest

from gradcheck.checks.agreed import Agreed, agreed
from gradcheck.checks.context import Context
from gradcheck.checks.in_turn import checker, in_turn, ready
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.result import CaseResult, Comparison, RunResult
from gradcheck.errors import Place
from gradcheck.reports import Look, render
from gradcheck.reports.listing import MOST_CASES
from tests.from_text import case_of

RIGHT = """inputs: {x: [1, 2], w: randn(2)}
constants: {c: [3, 4]}
graph: {n: 'x.shape[0]', y: x * w + x * c, loss: y.sum()}
"""
AGREEING = (
    RIGHT,
    RIGHT + "dtype: float32\n",
    RIGHT + "backward: {y: [1, 2]}\n",
    RIGHT + "xfail: nothing is wrong\n",
    RIGHT + "formulas: {x: w + c}\ngeneralize: false\n",
    "inputs: {x: randn(4)}\ngraph: {m: 'sort(x)', y: 'm[0].sum()', unused: x.exp()}\n",
    "inputs: {x: randn(2), unused: 1.0}\ngraph: {y: (x - x).sum()}\n",
    "inputs: {x: {values: [1, 2], dtype: complex128}}\ngraph: {y: (x * x).abs().sum()}\ndtype: complex128\n",
)


def contexts(texts: tuple[str, ...], options: Options) -> list[Context]:
    return [Context.of(case_of(text), options, engines_of(options)) for text in texts]


def looked_at(context: Context) -> Context:
    """As if all points of many cases had been found to agree."""
    point = context.points.own
    for engine in context.engines.tested:
        point.evaluation(engine)
        point.agreeing.add(engine.name)
        point.agreeing_alone.add(engine.name)
    return context


@pytest.mark.parametrize("options", [Options(), Options(seed=5, dtype="float32"), Options(engines=("core", "core"))])
def test_comparisons_are_those_of_the_stages(options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Agreed] = []

    def noted(context: Context) -> Agreed | None:
        if (found := agreed(context)) is not None:
            made.append(found)
        return found

    monkeypatch.setattr("gradcheck.checks.in_steps.agreed", noted)
    work, engines = [case_of(text) for text in AGREEING], engines_of(options)
    together = list(in_turn(work, options, engines))
    with ready(options, engines):
        alone = [checker(options, engines)(case) for case in work]
    for one, other in zip(together, alone, strict=True):
        assert replace(one, seconds=0.0, case=None) == replace(other, seconds=0.0, case=None)
        assert repr(one.comparisons) == repr(other.comparisons)
    assert len(made) >= 5


@pytest.mark.parametrize(
    "claim",
    [
        "formulas: {x: w + c}\n",
        "expected: {w: [1, 2]}\n",
        "values: {n: 2}\n",
        "checks: [loss == y.sum()]\n",
        "wrong_formulas: {x: w}\n",
        "steps: [{backward: loss}, {backward: loss}]\n",
        "steps: [{backward: loss, expected: {w: [1, 2]}}]\n",
        "steps: [{backward: y, raises: non_scalar_backward}]\n",
    ],
)
def test_whatever_else_is_claimed_is_looked_at(claim: str) -> None:
    (context,) = contexts((RIGHT + claim,), Options())
    assert agreed(looked_at(context)) is None


@pytest.mark.parametrize("options", [Options(mode="forward"), Options(oracle="numeric"), Options(order=2)])
def test_whatever_else_is_asked_for_is_looked_at(options: Options) -> None:
    (context,) = contexts((RIGHT,), options)
    assert agreed(looked_at(context)) is None


def test_only_what_was_found_to_agree_does() -> None:
    (context,) = contexts((RIGHT,), Options())
    assert agreed(context) is None
    looked_at(context)
    assert agreed(context) is not None
    point, engine = context.points.own, context.engines.tested[0]
    got = point.evaluation(engine)
    (state,) = got.states
    for changed in (
        replace(state, gradients={**state.gradients, "x": None}),
        replace(state, gradients={name: found for name, found in state.gradients.items() if name != "x"}),
        replace(state, values={**state.values, "more": state.values["x"]}),
    ):
        point._evaluations[engine.name] = replace(got, states=(changed,))
        assert agreed(context) is None
    point._evaluations[engine.name] = replace(got, changed={"x": state.values["x"]})
    assert agreed(context) is None


def test_comparisons_are_made_once_also_by_whoever_reads_them_elsewhere() -> None:
    (context,) = contexts((RIGHT,), Options())
    known = agreed(looked_at(context))
    assert known is not None
    calls: list[int] = []

    def make() -> Iterator[Comparison]:
        calls.append(1)
        yield from known.comparisons()

    own = {"id": "a", "file": "a", "name": "a", "place": Place()}
    later = CaseResult.agreeing(make, **own)
    assert (later.status, later.noteworthy, calls) == ("passed", (), [])
    assert len(later.comparisons) == len(later.comparisons) == 9
    assert calls == [1]
    assert later == CaseResult("a", "a", "a", "passed", comparisons=later.comparisons)
    unmade = CaseResult.agreeing(known.comparisons, **own)
    assert copy.copy(unmade) == later
    elsewhere = pickle.loads(pickle.dumps(unmade))
    assert "comparisons" not in vars(elsewhere)
    assert elsewhere == later
    assert replace(unmade, comparisons=()).comparisons == ()
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(later, "nothing")  # noqa: B009


@pytest.mark.parametrize("verbosity", [-1, 0])
def test_a_short_report_of_many_makes_no_comparison(verbosity: int) -> None:
    work = [replace(case_of(RIGHT), id=f"a::{number}") for number in range(MOST_CASES + 1)]
    options = Options()
    cases = tuple(in_turn(work, options, engines_of(options)))
    text = render(RunResult(cases, 0.1, {}), "full", Look(verbosity=verbosity))
    assert text.endswith(f"{MOST_CASES + 1} passed in 0.10s\n")
    assert not any("comparisons" in vars(case) for case in cases)
