"""Cases are values: what they say decides, and not where it stood."""

from __future__ import annotations

from gradcheck.errors import InvalidCase, Place
from gradcheck.language.case import Claim, Edit, Loaded, Step, Value, apply_edits
from gradcheck.language.expr.parser import parse
from tests.language.loader.cases import one


def test_places_take_no_part_in_equality() -> None:
    expr = parse("x + 1")
    assert Claim("x + 1", expr, Place("f.yaml", 3, 4)) == Claim("x + 1", expr)
    assert Value(expr=expr, place=Place("f.yaml", 3, 4)) == Value(expr=expr)
    assert Step("backward", roots={"x": None}) != Step("backward", roots={"y": None})


def test_a_claim_of_an_expression_has_the_printer_s_text() -> None:
    assert Claim.of(parse("(x+1)")) == Claim("x + 1", parse("x + 1"))


def test_an_edit_changes_a_part_of_a_text() -> None:
    assert Edit(4, 5, "c.T").apply_to("a @ b + 1") == "a @ c.T + 1"


def test_edits_apply_to_the_text_before_any_of_them() -> None:
    assert apply_edits("a @ b + 1", [Edit(0, 1, "aa"), Edit(8, 9, "2"), Edit(4, 5, "")]) == "aa @  + 2"


def test_a_formula_uses_the_gradients_of_its_steps() -> None:
    case = one(
        "inputs: {x: [1, 2]}\ngraph: {h: x * x, y: h.sum()}\nlet: {d: grad(h) * 1, e: d * grad(y)}\nchecks: [e == d]"
    )
    assert case.gradients_in(parse("e + x")) == {"h", "y"}
    assert case.gradients_in(parse("grad(x) * d")) == {"h", "x"}


def test_what_was_loaded_can_be_taken_apart() -> None:
    error = InvalidCase("wrong")
    cases, errors = Loaded((), (error,))
    assert (cases, errors) == ((), (error,))
