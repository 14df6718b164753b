"""`shapes`: words for the sizes of literals, which must agree."""

from __future__ import annotations

import pytest

from tests.language.loader.cases import one, wrong


def test_words_of_shapes_are_sizes_in_expressions() -> None:
    case = one("inputs: {x: [1, 2, 3]}\ngraph: {y: x.sum() / n}\nformulas: {x: ones(n) / n}\nshapes: {x: [n]}\n")
    assert case.symbol_sizes == {"n": 3}


def test_a_word_of_shapes_may_be_called_like_a_tensor() -> None:
    case = one("inputs: {n: [1, 2]}\ngraph: {y: n.sum()}\nshapes: {n: [n]}\n")
    assert case.symbol_sizes == {"n": 2}


@pytest.mark.parametrize(
    "creator",
    ["randn(a, b)", "randn([a, b])", "uniform(0.1, 2, [a, b])", "rand(a, b) + 0.5", "uniform(0, 1, size=(a, b))"],
)
def test_shapes_by_a_creator(creator: str) -> None:
    case = one(f"inputs: {{x: [[1, 2, 3]]}}\ngraph: {{y: x.sum()}}\nshapes: {{x: '{creator}'}}\n")
    assert case.symbol_sizes == {"a": 1, "b": 3}


@pytest.mark.parametrize(
    ("shapes", "message", "hint"),
    [
        ("{x: [n, m]}", "'x' has 1 dimensions, 2 sizes are given", "its shape is [3]"),
        ("{x: [n], w: [n]}", "the size 'n' is 2 in 'w'", "it is 3 in 'x'"),
        ("{x: [4]}", "the size '4' is 3 in 'x'", "its shape is [3]"),
        ("{x: [1.5]}", "a size is a word or an integer, not the number 1.5", "write [a, b] or [n, 3]"),
        ("{x: 3}", "a shape is a list of sizes or a creator, not the number 3", "write [a, b], or uniform"),
        ("{r: [n]}", "'r' is given as an expression", "shapes are for literals"),
        ("{x: 'randn(n * 2)'}", "the size 'n' cannot be read off the literal", "give it in `dims`"),
    ],
)
def test_sizes_that_do_not_agree(shapes: str, message: str, hint: str) -> None:
    text = f"inputs: {{x: [1, 2, 3], w: [1, 2], r: randn(2)}}\ngraph: {{y: x.sum()}}\nshapes: {shapes}\n"
    ((found, advice),) = wrong(text)
    assert found == message
    assert hint in advice
