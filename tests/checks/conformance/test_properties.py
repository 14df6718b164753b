"""Properties tell engines apart, and whatever one raises is its own."""

from __future__ import annotations

from typing import Any

import pytest

from gradcheck.checks.conformance import properties
from gradcheck.checks.conformance.properties import PROPERTIES, Finding, check_properties
from gradcheck.engines.core import Core
from gradcheck.engines.resolve import engine
from gradcheck.errors import Unsupported
from tests.paths import wrong_engine

pytestmark = pytest.mark.usefixtures("shallow")


def wrong(name: str) -> Any:
    return engine(wrong_engine(name))


def by_name(found: tuple[Finding, ...]) -> dict[str, Finding]:
    return {one.name: one for one in found}


def statuses(name: str) -> dict[str, str]:
    return {found.name: found.status for found in check_properties(wrong(name))}


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
    found = {title for title, status in statuses(name).items() if status == "fails"}
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
    why = by_name(check_properties(wrong(name)))[title].why
    assert why is not None
    assert why.kind == kind


@pytest.mark.parametrize(
    ("engine", "asked", "limits"),
    [(Core(), None, {None}), (Core(), 5.0, {5.0}), (wrong("right"), None, {properties.PATIENCE})],
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


def test_an_endless_loop_is_told_as_out_of_time() -> None:
    class Endless(Core):
        name = "endless"

        def backward(self, *args: Any, **kwargs: Any) -> None:
            while True:
                pass

    whys = [one.why for one in check_properties(Endless(), timeout=0.05)]
    assert [why and (why.kind, why["seconds"]) for why in whys] == [("ran_out_of_time", 0.05)] * len(PROPERTIES)
