"""What is known of parts: their values at every point, and what follows from these."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.language.expr.common_subexpressions import InternPool
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.symbolic.simplify import part_properties as facts_module
from gradcheck.language.symbolic.simplify.part_properties import PartProperties
from tests.language.symbolic.simplify.examples import know, point


def of(facts: PartProperties, text: str) -> Expr:
    return facts.pool.intern(parse(text))


def test_values_shapes_and_dtypes_at_every_point() -> None:
    facts = know()
    values = facts.values(of(facts, "x @ v"))
    assert values is not None
    names = [point(2, 5, 0).names, point(3, 4, 1).names]
    for value, given in zip(values, names, strict=True):
        np.testing.assert_array_equal(value, given["x"] @ given["v"])
    assert facts.shapes(of(facts, "x @ v")) == ((2,), (3,))
    assert facts.dtype(of(facts, "x.to(torch.float16)")) == np.float16
    assert (facts.ndim(of(facts, "b")), facts.is_number(of(facts, "n * 2")), facts.is_number(of(facts, "s"))) == (
        3,
        True,
        False,
    )


def test_what_has_no_value_is_not_known() -> None:
    facts = know()
    for text in ("x @ x", "nothing", "grad(y)"):
        node = of(facts, text)
        assert facts.values(node) is None
        assert (facts.shapes(node), facts.ndim(node), facts.dtype(node)) == (None, None, None)
        assert not facts.is_number(node)
        assert not facts.are_equal(node, node)
    assert facts.shapes(of(facts, "n")) is None


def test_gradients_are_those_of_the_point() -> None:
    facts = know()
    assert facts.shapes(of(facts, "grad(x)")) == ((2, 5), (3, 4))


def test_a_tensor_of_the_same_shape_is_found_by_its_shapes_everywhere() -> None:
    facts = know(shaped=("x", "u", "v"))
    assert facts.tensor_of_same_shape(of(facts, "x * 2")) == parse("x")
    assert facts.tensor_of_same_shape(of(facts, "x @ v")) == parse("u")
    assert facts.tensor_of_same_shape(of(facts, "b")) is None
    assert facts.size_expr(of(facts, "b.shape[2]")) == parse("x.shape[1]")
    square = PartProperties([point(3, 3, 0), point(3, 4, 1)], InternPool(), shaped=("a",))
    assert square.tensor_of_same_shape(of(square, "x")) is None  # at the first point alone


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("x + y", "y + x", True),
        ("x * 3", "x + x + x", True),
        ("x", "x + 1e-8", False),
        ("x", "x.to(torch.float32)", False),
        ("x", "x[None]", False),
        ("h + g", "g + h", True),
        ("x / 0", "x * inf", True),
        ("k", "k + 0", True),
        ("n / 3", "n * (1 / 3)", True),
        ("n", "n + 0.0", False),
    ],
)
def test_alike_is_kind_shape_dtype_and_values_up_to_rounding(old: str, new: str, same: bool) -> None:
    facts = know()
    assert facts.are_equal(of(facts, old), of(facts, new)) is same


def test_beyond_a_number_of_numbers_nothing_more_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facts_module, "MAX_NUMBERS", 10)
    facts = know()
    assert facts.values(of(facts, "x")) is not None  # 22 numbers
    assert facts.values(of(facts, "y")) is None
