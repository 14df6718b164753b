"""The sizes beyond which a file is refused."""

from __future__ import annotations

from gradcheck.language.loader import Limits, load_text
from tests.language.loader.cases import VALID, wrong


def test_errors_are_capped_and_counted() -> None:
    _, errors = load_text("".join(f"k{i}: 1\n" for i in range(150)) + VALID, "f.yaml", Limits(errors=10))
    assert len(errors) == 11
    assert str(errors[-1]) == "f.yaml: and 140 more errors in this file"


def test_limits_can_be_raised() -> None:
    text = "inputs:\n  x: [" + "1, " * 110_000 + "1]\ngraph: {y: x}\n"
    cases, errors = load_text(text, "f.yaml", Limits(numbers=200_000))
    assert not errors
    assert cases[0].inputs["x"].array.shape == (110_001,)


def test_depth_and_elements_have_limits_too() -> None:
    text = "inputs: {x: [[1]]}\ngraph: {y: 'zeros(3)'}\n"
    assert wrong(text) == []
    (deep,) = load_text(text, "f.yaml", Limits(depth=3))[1]
    (large,) = load_text(text, "f.yaml", Limits(elements=2))[1]
    assert (deep.message, large.message) == (
        "nested more than 3 deep",
        "zeros would make a tensor of 3 elements, where 2 are allowed",
    )
