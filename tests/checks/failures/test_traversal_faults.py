"""Wrong ways through a graph give what such engines have."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gradcheck.checks.failures.gradient_flow import GradientFlow
from gradcheck.checks.failures.traversal_faults import (
    AS_WRITTEN,
    REVERSED,
    TRAVERSAL_FAULTS,
    TraversedGraph,
    run_in_orders,
)
from gradcheck.language.sampling import literal_problem

#: b is used once, a twice, c twice: by d and by e, which is made of d.
_INPUTS, _ENTRIES = {"a": [2.0], "b": [3.0]}, {"c": "a * b", "d": "c * a", "e": "c + d"}


@pytest.fixture
def flow() -> GradientFlow:
    return GradientFlow(literal_problem("case", _INPUTS, _ENTRIES, {"e": [1.0]}), 0)


def graph(flow: GradientFlow) -> TraversedGraph:
    return TraversedGraph(*flow.roots_and_seeds(), (), {tensor: number for number, tensor in enumerate(flow.owners)})


def given(flow: GradientFlow, kind: str, order: int) -> Iterator[tuple[float, float]]:
    """What a and b have after every pass of this kind."""
    for wrong in TRAVERSAL_FAULTS:
        for run in wrong.traversals if wrong.kind == kind else ():
            for totals in run_in_orders(graph(flow), run, [order]):
                yield tuple(float(np.sum(totals.get(flow.tensors[name], 0))) for name in "ab")  # type: ignore[misc]


def test_what_is_right_is_none_of_them(flow: GradientFlow) -> None:
    """e = a b + a a b, of which a has b + 2 a b = 15, and b has a + a a = 6."""
    followed = flow.run_backward()
    assert {name: float(followed.expected[name][0]) for name in "ab"} == {"a": 15, "b": 6}
    for kind in ("passed_on_early", "counted_twice", "overwritten"):
        assert (15, 6) not in set(given(flow, kind, AS_WRITTEN))


def test_of_what_is_overwritten_the_last_is_left(flow: GradientFlow) -> None:
    """c has 1 from e, then 2 from d: b has 2 times 2, and a what c gave it last."""
    assert (6.0, 4.0) in set(given(flow, "overwritten", AS_WRITTEN))


def test_what_is_met_first_is_passed_on_too_early(flow: GradientFlow) -> None:
    """c passes on its 1 from e alone, where it is met before d; taken backwards, d is met first."""
    assert (9.0, 2.0) in set(given(flow, "passed_on_early", AS_WRITTEN))
    assert (15.0, 6.0) in set(given(flow, "passed_on_early", REVERSED))


def test_on_each_arrival_all_is_passed_on_again(flow: GradientFlow) -> None:
    """c passes on 1, then 1 + 2: b has 2 + 6."""
    assert (18.0, 8.0) in set(given(flow, "passed_on_early", AS_WRITTEN))


def test_everything_twice(flow: GradientFlow) -> None:
    """c has 2 from e and 2 * 2 * 2 from d's 2: b has 2 * 2 * 10."""
    assert 40.0 in {b for _, b in given(flow, "counted_twice", AS_WRITTEN)}


def test_few_ops_are_taken_in_every_order(flow: GradientFlow) -> None:
    assert len(list(graph(flow).operand_orders())) == 2 ** len(flow.owners)
