"""Walking, folding, rewriting, mentions: the order, each object once, no recursion however deep an expression is."""

from __future__ import annotations

import pytest

from gradcheck.language.expr.nodes import Attribute, Call, Expr, Literal, Name, Sequence, Slice
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import (
    compares_with_itself,
    differing_parts,
    fold,
    free_names,
    gradient_names,
    inline_steps,
    mentions,
    ops_in,
    postorder,
    replace_part,
    rewrite,
    with_children,
)

TEXT = "sum(x[1:n, 0] * (y, [x.shape]), dim=k)"


def names(nodes: object) -> list[str]:
    return [node.name for node in nodes if isinstance(node, Name)]  # type: ignore[attr-defined]


def deep(count: int) -> Expr:
    found: Expr = Name("x")
    for _ in range(count):
        found = Call("add", (found, Literal(1)))
    return found


def test_walk_gives_parents_first_in_reading_order() -> None:
    nodes = list(parse(TEXT).walk())
    assert names(nodes) == ["x", "n", "y", "x", "k"]
    assert [node.op for node in nodes if isinstance(node, Call)] == ["sum", "mul", "getitem"]


def test_postorder_gives_children_first_in_reading_order() -> None:
    nodes = list(postorder(parse(TEXT)))
    assert names(nodes) == ["x", "n", "y", "x", "k"]
    assert [node.op for node in nodes if isinstance(node, Call)] == ["getitem", "mul", "sum"]
    seen: list[Expr] = []
    for node in nodes:
        assert all(any(child is done for done in seen) for child in node.children)
        seen.append(node)


def test_what_occurs_twice_is_walked_twice_and_folded_once() -> None:
    part = parse("x + 1")
    whole = Call("mul", (part, part))
    assert len(list(whole.walk())) == len(list(postorder(whole))) == 7
    combined: list[Expr] = []
    size = fold(whole, lambda node, sizes: combined.append(node) or 1 + sum(sizes))  # type: ignore[func-returns-value]
    assert size == 7
    assert len(combined) == 4


def test_a_fold_carries_what_it_knows_to_the_next() -> None:
    part = parse("x * y")
    known: dict[int, tuple[Expr, int]] = {}
    calls: list[Expr] = []

    def count(node: Expr, below: list[int]) -> int:
        calls.append(node)
        return isinstance(node, Call) + sum(below)

    assert fold(part, count, known) == 1
    assert fold(Call("neg", (part,)), count, known) == 2
    assert len(calls) == 4  # the part was not looked into again
    assert all(node is kept for node, kept in zip(calls, [node for node, _ in known.values()], strict=True))


def test_a_rewrite_sees_changed_children_and_shares_what_is_shared() -> None:
    part = parse("x + 0")
    whole = Call("mul", (part, part))

    def change(node: Expr) -> Expr:
        zero = isinstance(node, Call) and node.op == "add" and node.args[1] == Literal(0)
        return node.children[0] if zero else node

    made = rewrite(whole, change)
    assert made == parse("x * x")
    assert made.children[0] is made.children[1]
    assert rewrite(whole, lambda node: node) is whole


def test_one_part_is_replaced_by_identity() -> None:
    whole = parse("x + x")
    assert replace_part(whole, whole.children[1], Name("y")) == parse("x + y")
    assert replace_part(whole, whole, Name("y")) == Name("y")
    assert replace_part(whole, Name("x"), Name("y")) is whole  # equal, but no part of it


@pytest.mark.parametrize("text", ["f", "x.shape", "(x, y)", "[x, y]", "x[1:]", "sum(x, dim=1)", "x[::2]", "len(x)"])
def test_a_node_over_equal_children_is_equal(text: str) -> None:
    for node in parse(text).walk():
        again = with_children(node, [with_children(child, list(child.children)) for child in node.children])
        assert again is node
        if node.children:
            assert node.rebuild(list(node.children)) == node


def test_a_node_over_other_children() -> None:
    assert with_children(parse("sum(x, dim=1)"), [Name("y"), Literal(2)]) == parse("sum(y, dim=2)")
    assert with_children(Slice(None, Literal(1), Name("n")), [Literal(2), Literal(3)]) == Slice(
        None, Literal(2), Literal(3)
    )
    assert with_children(Sequence((Name("x"),), True), [Name("y")]) == parse("(y,)")
    assert with_children(Attribute(Name("x"), "ndim"), [Name("y")]) == parse("y.ndim")


def test_depth_is_no_matter() -> None:
    tree = deep(20_000)
    assert sum(1 for _ in tree.walk()) == sum(1 for _ in postorder(tree)) == 40_001
    assert fold(tree, lambda node, below: 1 + max(below, default=0)) == 20_001
    renamed = rewrite(tree, lambda node: Name("y") if node == Name("x") else node)
    assert names(renamed.walk()) == ["y"]


def test_names_gradients_and_ops_are_listed_with_their_columns():
    expr = parse("a @ grad(b) + sum(a, dim=k) * pi")
    assert free_names(expr) == {"a": 0, "k": 25, "pi": 30}
    assert gradient_names(expr) == {"b": 4}
    assert ops_in(expr) == {"add": 0, "matmul": 0, "mul": 14, "sum": 14}


def test_all_at_once_in_reading_order() -> None:
    found = mentions(parse("b * a - grad(m[0]) + a.T"))
    assert list(found.names) == ["b", "a"]
    assert list(found.gradients) == ["m[0]"]
    assert list(found.ops) == ["add", "sub", "mul", "T"]


def test_they_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    expr = parse("a + grad(b)")
    assert mentions(expr) is mentions(expr)
    monkeypatch.setattr("gradcheck.language.expr.traverse._KEPT", 1)
    for _ in range(3):  # made and lost again, at the same place of memory
        assert [*free_names(parse("a + c"))] == ["a", "c"]
        assert [*free_names(parse("d + c"))] == ["d", "c"]


@pytest.mark.parametrize(
    ("one", "other", "pairs"),
    [
        ("a * exp(b)", "a * exp(c)", [("b", "c")]),
        ("a * exp(a)", "b * exp(b)", [("a", "b")]),
        ("a ** 6 + b", "a ** 7 + b", [("a ** 6", "a ** 7")]),
        ("a + b", "a - b", [("a + b", "a - b")]),
    ],
)
def test_the_smallest_parts_that_differ(one: str, other: str, pairs: list[tuple[str, str]]) -> None:
    found = differing_parts(parse(one), parse(other))
    assert [(to_text(a), to_text(b)) for a, b in found] == pairs


def test_steps_are_written_out_once() -> None:
    """Each step uses the one before it twice; as a tree, that would be 2 ** 200 names."""
    let = {"t0": parse("x + x")}
    for i in range(200):
        let[f"t{i + 1}"] = parse(f"t{i} * t{i}")
    found = inline_steps(parse("t200"), let)
    for _ in range(201):
        assert found.children[0] is found.children[1] or to_text(found) == "x + x"
        found = found.children[0]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("x == x", True),
        ("(x + 1 == x+1).all()", True),
        ("hessian(f, w) == hessian(f,w)", True),
        ("(x == y) & (grad(x) == grad(x))", True),
        ("x == y", False),
        ("x + y == y + x", False),
        ("h == h.T", False),
        ("grad(x) == x", False),
        ("x * 1 == x * 1.0", False),
        ("x >= x", False),
    ],
)
def test_an_equation_of_an_expression_with_itself(text: str, same: bool) -> None:
    assert compares_with_itself(parse(text)) == same


def test_an_equation_of_long_derivations_takes_linear_time() -> None:
    steps = {f"s{n + 1}": parse(f"s{n} + s{n}") for n in range(200)}
    assert compares_with_itself(inline_steps(parse("s200 == s199 + s199"), steps))
    assert not compares_with_itself(inline_steps(parse("s200 == s199"), steps))
