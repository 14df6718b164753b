"""Properties tell engines apart, and whatever one raises is its own."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from gradcheck.checks.conformance import properties
from gradcheck.checks.conformance.properties import PROPERTIES, PropertyFinding, check_properties
from gradcheck.engines.core import Core
from gradcheck.engines.resolve import adapt, resolve_engine
from gradcheck.errors import Unsupported
from tests.checks.conformance.test_cost import Listed
from tests.paths import wrong_engine

pytestmark = pytest.mark.usefixtures("shallow")


def wrong(name: str) -> Any:
    return resolve_engine(wrong_engine(name))


def by_name(found: tuple[PropertyFinding, ...]) -> dict[str, PropertyFinding]:
    return {one.name: one for one in found}


@cache
def checked(name: str) -> dict[str, PropertyFinding]:
    return by_name(check_properties(wrong(name)))


@pytest.mark.parametrize(
    ("name", "fails"),
    [
        ("right", set()),
        ("recurses", {"graphs of 100,000 nodes"}),
        (
            "overwrites",
            {"repeated backward accumulates", "a tensor used 1,000 times"},
        ),
        ("mutates", {"a tensor used 1,000 times"}),
        ("changes_inputs", {"inputs are not changed"}),
    ],
)
def test_properties_tell_engines_apart(name: str, fails: set[str]) -> None:
    found = {title for title, one in checked(name).items() if one.status == "fails"}
    assert fails <= found
    assert fails or not found


def test_all_hold_for_the_core() -> None:
    found = check_properties(Core())
    assert [one.name for one in found] == list(PROPERTIES)
    assert {(one.status, one.why) for one in found} == {("holds", None)}


def test_an_engine_that_raises_is_told_so() -> None:
    class Broken(Core):
        name = "broken"

        def evaluate(self, *args: Any, **kwargs: Any) -> Any:
            raise ZeroDivisionError("on purpose")

    found = by_name(check_properties(Broken()))
    assert set(found) == set(PROPERTIES)
    assert {one.status for one in found.values()} == {"fails"}
    why = found["zeroing forgets"].why
    assert why is not None
    assert (why.kind, why["error"], why["text"]) == ("crashed", "ZeroDivisionError", "on purpose")


def test_what_cannot_be_asked_is_unsupported() -> None:
    class Lacking(Core):
        name = "lacking"

        def backward(self, *args: Any, **kwargs: Any) -> None:
            raise Unsupported("no backward", lacks="backward")

    assert {one.status for one in check_properties(Lacking())} == {"unsupported"}


@pytest.mark.parametrize(
    ("name", "title", "kind"),
    [
        ("overwrites", "repeated backward accumulates", "property_numbers_differ"),
        ("changes_inputs", "inputs are not changed", "values_changed"),
    ],
)
def test_why_one_does_not_hold(name: str, title: str, kind: str) -> None:
    why = checked(name)[title].why
    assert why is not None
    assert why.kind == kind


@pytest.mark.parametrize(
    ("engine", "asked", "limits"),
    [(Core(), None, {None}), (Core(), 5.0, {5.0}), (wrong("right"), None, {properties.PROPERTY_TIMEOUT})],
)
def test_only_who_may_never_return_has_a_limit_unasked(
    monkeypatch: pytest.MonkeyPatch, engine: Any, asked: float | None, limits: set[float | None]
) -> None:
    seen: set[float | None] = set()
    honest = properties.deadline

    def noted(seconds: float | None) -> Any:
        seen.add(seconds)
        return honest(seconds)

    monkeypatch.setattr(properties, "deadline", noted)
    check_properties(engine, asked)
    assert seen == limits


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_endless_loop_is_told_as_out_of_time() -> None:
    """Where the time is up in what somebody has the collector call, that says so, and it is told the next time."""

    class Endless(Core):
        name = "endless"

        def backward(self, *args: Any, **kwargs: Any) -> None:
            while True:
                pass

    whys = [one.why for one in check_properties(Endless(), timeout=0.05)]
    assert [why and (why.kind, why["seconds"]) for why in whys] == [("ran_out_of_time", 0.05)] * len(PROPERTIES)


class Noting(Core):
    """The core, which notes of how many numbers' chains it is asked."""

    name = "noting"

    def __init__(self, refuses: int) -> None:
        super().__init__()
        self.refuses, self.depths = refuses, list[int]()

    def evaluate(self, problem: Any, *args: Any, **kwargs: Any) -> Any:
        (claim, *_) = problem.case.graph.values()
        depth = sum(1 for _ in claim.expr.walk())
        if depth > 2_500:
            self.depths.append(depth)
        if depth > self.refuses:
            raise RecursionError("too deep")
        return super().evaluate(problem, *args, **kwargs)


def test_what_fewer_nodes_are_too_many_for_is_not_asked_for_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(properties, "NODES", 12_000)
    deep = f"graphs of {100_000:,} nodes"
    engine = Noting(2_500)
    assert by_name(check_properties(engine))[deep].status == "fails"
    assert len(set(engine.depths)) == 1
    engine = Noting(10**6)
    assert by_name(check_properties(engine))[deep].status == "holds"
    assert len(set(engine.depths)) == 2


def test_a_deep_graph_is_not_asked_for_where_work_grows_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(properties, "_FEWER", 500)
    found = by_name(check_properties(adapt(Listed, "mine")))[f"graphs of {100_000:,} nodes"]
    assert found.status == "unsupported"
    assert found.why is not None
    assert found.why.kind == "work_grows_faster"
