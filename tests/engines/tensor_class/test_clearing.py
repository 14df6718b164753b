"""Which method of a class's own is called to clear a gradient."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradcheck.engines.resolve import adapt

SUM = "    def sum(self):"


@pytest.mark.parametrize(
    ("does", "called"),
    [
        ("self.grad = None", True),
        ("pass", True),  # it should, and a case says that it does not
        ("self.grad, self.makers = None, []", False),
        ("raise ValueError", False),
    ],
    ids=["its own", "nothing", "cuts the graph", "raises"],
)
def test_one_that_forgets_no_more_than_it_should_is(variant: Callable[..., type], does: str, called: bool) -> None:
    kind = variant((SUM, f"    def zero_grad(self):\n        {does}\n\n{SUM}"))
    engine = adapt(kind, "mine")
    assert not engine.capabilities.not_understood
    assert engine.api.clearing_name == ("zero_grad" if called else "")
