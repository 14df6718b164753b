"""Parts of what has a name in the case: found by what the entry calls, or refused with their place."""

import pytest

from gradcheck import run
from gradcheck.language.expr.printer import to_text
from gradcheck.language.loader import load_text
from tests.language.loader.cases import one

GRAPH = "inputs: {{x: [[1, 2], [5, 3]]}}\ngraph:\n  m: torch.max(x, 1)\n  k: m\n  y: {}\n"


@pytest.mark.parametrize(
    ("text", "by_place"),
    [("m.values * 2", "m[0] * 2"), ("k.indices", "k[1]"), ("x.gather(1, m.indices[:, None])", None)],
)
def test_parts_of_a_name(text: str, by_place: str | None) -> None:
    expr = one(GRAPH.format(text)).graph["y"].expr
    assert to_text(expr) == (by_place or "gather(x, 1, m[1][:, None])")


def test_parts_in_a_derivation() -> None:
    """A half of each gradient comes by way of a name, a half by way of none."""
    case = one(
        "inputs: {x: [[1, 2], [5, 3]]}\n"
        "graph: {s: sort(x), m: 'max(x, dim=1)', y: '(s.values * s.values + m.values[:, None]).sum()'}\n"
        "let: {t: 'topk(x, 1)'}\n"
        "formulas: {x: 2 * x + 2 * (x == t.values)}\ngeneralize: false\n"
    )
    (result,) = run([case]).cases
    assert result.status == "passed"


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("m.Q.sum()", 8, ".values, .indices"),
        ("x.values", 8, "give parts"),
        ("x + x.max", 12, "call it: .max()"),
        ("m.values + y0.values", None, "unknown"),
    ],
)
def test_what_is_no_part_is_refused_at_its_place(text: str, column: int | None, words: str) -> None:
    _, errors = load_text(GRAPH.format(text), "f.yaml")
    assert len(errors) == 1 or column is None
    assert any(words in f"{error.message} {error.hint}" for error in errors)
    assert column is None or (errors[0].place.line, errors[0].place.column) == (5, column)


def test_values_are_those_of_the_parts() -> None:
    (case,), errors = load_text(
        GRAPH.format("m.values.sum()") + "values: {y: 7}\nexpected: {x: [[0, 1], [1, 0]]}\n", "f"
    )
    assert not errors
    assert run([case]).cases[0].status == "passed"
