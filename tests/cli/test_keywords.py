"""`-k`: and, or, not, brackets; and errors that say what is wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcheck.cli.keywords import compile_keywords
from gradcheck.errors import UsageError


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("mlp", True),
        ("MLP", True),
        ("cases/nn", True),
        ("deep", False),
        ("not deep", True),
        ("not not mlp", True),
        ("mlp and deep", False),
        ("mlp or deep", True),
        ("deep or mlp and layers", True),
        ("(deep or mlp) and not layers", False),
        ("not deep and not shallow", True),
        ("not (mlp and layers)", False),
        ("'two layers'", True),
        ('"two  layers"', False),
        ("((mlp))", True),
        ("'and'", False),
        ("notmlp or ands", False),
    ],
)
def test_which_ids_match(expression: str, holds: bool) -> None:
    assert compile_keywords(expression)("cases/nn/mlp.yaml::Two layers") is holds


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("", "it is empty"),
        ("   ", "it is empty"),
        ("a b", "'b' stands where 'and' or 'or' is expected"),
        ("a and", "it ends where a word is expected"),
        ("and a", "'and' stands where a word is expected"),
        ("not", "it ends where a word is expected"),
        ("a not b", "'not' stands where 'and' or 'or' is expected"),
        ("(a", "a '(' has no ')'"),
        ("a)", "a ')' has no '('"),
        ("()", "')' stands where a word is expected"),
        ("a (b)", "'(' stands where 'and' or 'or' is expected"),
        ("'a", "a quotation mark is not closed"),
    ],
)
def test_what_cannot_be_understood(expression: str, reason: str) -> None:
    with pytest.raises(UsageError) as caught:
        compile_keywords(expression)
    assert reason in caught.value.message


def test_depth_is_no_limit() -> None:
    assert compile_keywords("(" * 50_000 + "not " * 50_001 + "a" + ")" * 50_000)("b")


WORDS = st.recursive(
    st.sampled_from(["red", "green", "blue"]),
    lambda inner: st.one_of(
        inner.map(lambda e: f"not {e}"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({' '.join(t)})"),
    ),
)


@given(expression=WORDS, colors=st.sets(st.sampled_from(["red", "green", "blue"])))
def test_it_agrees_with_pythons_own_logic(expression: str, colors: set[str]) -> None:
    truth = {color: color in colors for color in ("red", "green", "blue")}
    assert compile_keywords(expression)(" ".join(colors)) is bool(eval(expression, {}, truth))
