from __future__ import annotations

from typing import Any

import pytest

from gradcheck.checks.conformance.cost import GRAPHS, cost_of, growth_of
from gradcheck.checks.conformance.properties import PROPERTIES, check_properties
from gradcheck.engines.base import Engine
from gradcheck.engines.core import Core
from gradcheck.engines.resolve import adapt
from gradcheck.engines.torch import Torch
from gradcheck.reports.phrases import say
from tests.engines.dialects import arrays, bare, figures, sound

pytestmark = pytest.mark.usefixtures("shallow")


class Looks(sound.Tensor):
    """Quadratic: at every tensor all that came before is looked at again."""

    def order(self) -> list[Any]:
        found = super().order()
        for number in range(len(found)):
            for tensor in found[:number]:
                tensor.look()
        return found

    def look(self) -> None:
        return None


class Listed(sound.Tensor):
    """Quadratic: what has been visited stands in a list."""

    def order(self) -> list[Any]:
        visited: list[Any] = []
        for tensor in super().order():
            if tensor not in visited:
                visited.append(tensor)
        return visited


def engine_of(kind: type) -> Engine:
    return adapt(kind, "mine")


@pytest.mark.parametrize(
    "engine",
    [Core(), Torch(), *map(engine_of, (sound.Tensor, figures.Value, arrays.LeavesOnly, arrays.TotalsOnly))],
    ids=lambda engine: engine.name,
)
def test_work_is_in_proportion_to_the_graph(engine: Engine) -> None:
    for name in GRAPHS:
        found = growth_of(engine, name)
        assert found is not None
        assert 0.9 < found.ratio < 1.1, found


def test_a_pass_on_each_arrival_walks_every_path() -> None:
    for kind in (figures.Var, arrays.OnEachArrival):
        found = growth_of(engine_of(kind), "diamonds")
        assert found is not None
        assert found.is_exponential
        chain = growth_of(engine_of(kind), "chain")
        assert chain is not None
        assert chain.is_linear


def test_what_is_looked_at_again_and_again_is_no_path() -> None:
    found = growth_of(engine_of(Looks), "chain")
    assert found is not None
    assert not found.is_linear
    assert not found.is_exponential


def test_it_is_the_same_each_time() -> None:
    engine = engine_of(sound.Tensor)
    assert growth_of(engine, "diamonds") == growth_of(engine, "diamonds")


def test_what_cannot_be_asked_has_none() -> None:
    assert growth_of(engine_of(bare.Adding), "chain") is None
    assert growth_of(engine_of(bare.Counting), "fan") is not None


def test_growth_is_a_property_and_tells_the_graph() -> None:
    (name,) = [name for name in PROPERTIES if "work" in name]
    (found,) = [one for one in check_properties(engine_of(arrays.OnEachArrival)) if one.name == name]
    assert found.status == "fails"
    assert "h = h + h" in say(found.why)


def test_a_list_that_is_looked_through_for_every_tensor_is_found_out() -> None:
    found = growth_of(engine_of(Listed), "chain")
    assert found is not None
    assert not found.is_linear
    assert not found.is_exponential
    assert Listed.__eq__ is object.__eq__


class ListedNumbers(figures.Value):
    """What has been visited is looked for in a list, which a chain does not show: there it is found at once."""

    def order(self) -> list[Any]:
        found: list[Any] = []

        def visit(value: Any) -> None:
            if value not in found:
                for child in value.previous:
                    visit(child)
                found.append(value)

        visit(self)
        return found[::-1]


def test_many_diamonds_are_asked_for_where_paths_are_not_walked() -> None:
    chain, diamonds = (growth_of(adapt(ListedNumbers, "mine"), name) for name in ("chain", "diamonds"))
    assert chain is not None
    assert chain.is_linear
    assert diamonds is not None
    assert (diamonds.nodes, diamonds.is_linear, diamonds.is_exponential) == (64, False, False)


def test_time_and_memory_are_told_beside_others() -> None:
    found = cost_of(adapt(sound.Tensor, "mine"), [Core()])
    assert [name for name, _ in found.seconds] == ["mine", "core"]
    assert all(seconds is not None and 0 < seconds < 100 for _, seconds in found.seconds)
    assert found.bytes_a_node is not None
    assert 100 < found.bytes_a_node < 100_000
    assert [one.graph for one in found.growth] == ["chain", "diamonds", "fan"]


def test_an_engine_that_cannot_multiply_has_no_time() -> None:
    found = cost_of(adapt(bare.Counting, "mine"))
    assert found.seconds == (("mine", None),)
    assert found.bytes_a_node is None
