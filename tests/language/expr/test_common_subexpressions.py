"""What formulas have in common becomes steps, and nothing else changes."""

from __future__ import annotations

from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.common_subexpressions import Derivation, extract_steps, tree_sizes, without_steps
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text


def texts(formulas: dict[str, Expr]) -> dict[str, str]:
    return {name: to_text(formula) for name, formula in formulas.items()}


def test_what_occurs_twice_becomes_a_step() -> None:
    let, formulas = extract_steps({"x": parse("exp(a @ b + c) * (exp(a @ b + c) - 1)"), "y": parse("a + b")}, least=4)
    assert texts(let) == {"t1": "exp(a @ b + c)"}
    assert texts(formulas) == {"x": "t1 * (t1 - 1)", "y": "a + b"}


def test_formulas_share_with_one_another() -> None:
    let, formulas = extract_steps({"x": parse("tanh(a @ b) * a"), "y": parse("tanh(a @ b) * b")}, least=3)
    assert texts(let) == {"t1": "tanh(a @ b)"}
    assert texts(formulas) == {"x": "t1 * a", "y": "t1 * b"}


def test_steps_use_those_above_them() -> None:
    inner = "(a @ b)"
    outer = f"tanh({inner} + {inner})"
    let, formulas = extract_steps({"x": parse(f"{outer} * {outer} - {inner}")}, least=3)
    assert texts(let) == {"t1": "a @ b", "t2": "tanh(t1 + t1)"}
    assert texts(formulas) == {"x": "t2 * t2 - t1"}


def test_small_parts_stay_where_they_are() -> None:
    let, formulas = extract_steps({"x": parse("a.shape[0] * a.shape[0]")})
    assert not let
    assert texts(formulas) == {"x": "a.shape[0] * a.shape[0]"}


def test_names_that_are_taken_are_left_alone() -> None:
    let, _ = extract_steps({"x": parse("exp(t1 @ b) * exp(t1 @ b)")}, taken={"t1", "b"}, least=3)
    assert list(let) == ["t2"]


def test_numbers_that_differ_in_kind_or_sign_are_different() -> None:
    let, _ = extract_steps(
        {"x": parse("(a * 1 + 2) @ (a * 1.0 + 2)"), "y": parse("(a * 0.0 + 2) @ (a * -0.0 + 2)")}, least=3
    )
    assert not let


def test_every_kind_of_part_is_rebuilt() -> None:
    text = "cat([x[t:, ..., None], x[t:, ..., None]], dim=sum(y * y).ndim) * zeros(y.shape, dtype=torch.float64)"
    text = text.replace("t:", "exp(y @ y):")
    formula = parse(f"{text} + {text} + exp(y @ y)")
    let, formulas = extract_steps({"x": formula}, least=3)
    (restored,) = formulas.values()
    for name, step in reversed(let.items()):
        restored = parse(to_text(restored).replace(name, f"({to_text(step)})"))
    assert restored == formula


def test_doubling_sizes_are_counted_without_walking() -> None:
    expr: Expr = Name("x")
    for _ in range(200):
        expr = Call("mul", (expr, expr))
    assert tree_sizes({"x": expr}) == {"x": 2**201 - 1}
    let, formulas = extract_steps({"x": expr}, least=3)
    assert len(let) == 199
    scope = {"x": 1.0}
    for name, step in let.items():
        scope[name] = evaluate(step, scope)
    assert evaluate(formulas["x"], scope) == 1.0


def test_steps_are_written_out_in_small_formulas_alone() -> None:
    let = {"t0": parse("x * x"), **{f"t{i}": parse(f"t{i - 1} * t{i - 1}") for i in range(1, 200)}}
    found = without_steps(Derivation(let, {"x": parse("t1 + x"), "y": parse("t199")}), 100)
    assert texts(found) == {"x": "x * x * (x * x) + x"}
