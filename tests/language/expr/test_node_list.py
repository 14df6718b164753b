"""An expression is a list and comes back as it was, at any depth."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.node_list import from_node_list, to_node_list
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.parser import parse
from tests.samples import CALLS

FORMS = (
    "x[..., 1:, None] + 2j * -y.shape[0]",
    "sum(x, dim=(0, 1), keepdim=True) @ zeros([2, 3], dtype=torch.float32)",
    "x[::2] > len(y)",
    "max(x, 1)[0] ** 0.5",
    "pad(x, (1, 2), mode='circular', value=None)",
    " + ".join(["x"] * 1_500),
)


def places(expr: Expr) -> list[int]:
    return [node.at for node in expr.walk()]


@pytest.mark.parametrize("shares", [True, False])
def test_it_comes_back_as_it_was(shares: bool) -> None:
    for text in (*FORMS, *CALLS):
        expr = parse(text)
        back = from_node_list(to_node_list(expr, shares))
        assert back == expr
        assert places(back) == places(expr)


def test_what_occurs_twice_is_shared_or_written_twice() -> None:
    whole: Expr = Name("x")
    for _ in range(12):
        whole = Call("add", (whole, whole))
    back = from_node_list(to_node_list(whole))
    assert len(to_node_list(whole)) == 25
    assert len(to_node_list(whole, shares=False)) == 2**13 - 1
    assert len(set(map(id, back.walk()))) == 13
    assert back == whole
