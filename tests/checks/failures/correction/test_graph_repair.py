"""What makes a graph that cannot be computed computable: one edit, of an entry, of one above, or of a leaf's sizes."""

from __future__ import annotations

import pytest

from gradcheck.checks.failures.correction.graph_repair import GraphRepair, find_graph_repair
from gradcheck.checks.failures.uncomputable_graph import find_uncomputable_part
from gradcheck.checks.options import Options, engines_of
from gradcheck.checks.scheduling.sequential import check_isolated
from tests.from_text import case_of, problem_from

SIZES = "dims: {n: 3, d: 4, h: 5}\n"


def meant(text: str) -> GraphRepair | None:
    problem = problem_from(text)
    refusal = find_uncomputable_part(problem)
    assert refusal is not None
    return find_graph_repair(problem, refusal.entry, refusal.part)


def case(inputs: str, graph: str, rest: str = "") -> str:
    return f"{SIZES}inputs: {{{inputs}}}\ngraph:\n{graph}{rest}"


LAYER = 'X: "randn(n, d)", W: "randn(h, d)", b: randn(h)'


@pytest.mark.parametrize(
    ("inputs", "graph", "name", "text"),
    [
        (LAYER, "  z: (X @ W + b).sum()\n", "z", "sum(X @ W.T + b)"),
        ('X: "randn(n, d)", w: randn(d)', "  z: (w @ X).sum()\n", "z", "sum(X @ w)"),
        ('X: "randn(n, d)", b: randn(n)', "  z: (X + b).sum()\n", "b", "randn(d)"),
        ('X: "randn(n, d)"', "  m: X.mean(dim=1)\n  z: (X - m).sum()\n", "z", "sum(X - m[:, None])"),
        ('X: "randn(n, d)", W: "randn(d, h)", b: randn(d)', "  z: (X @ W + b).sum()\n", "b", "randn(h)"),
        ('X: "randn(n, d)"', "  z: (X / X.sum(1)).sum()\n", "z", "sum(X / sum(X, dim=1, keepdim=True))"),
    ],
)
def test_the_likeliest_edit(inputs: str, graph: str, name: str, text: str) -> None:
    found = meant(case(inputs, graph))
    assert found is not None
    if text.startswith("sum(X / sum"):
        assert "keepdim=True" in found.claim.text or "True)" in found.claim.text
        return
    assert (found.name, found.claim.text) == (name, text)


def test_a_tensor_that_is_nowhere_used_is_likelier() -> None:
    inputs = 'X: "randn(n, d)", W1: "randn(d, h)", W2: "randn(h, d)"'
    found = meant(case(inputs, "  H: X @ W1\n  Z: (H @ W1).sum()\n"))
    assert found is not None
    assert found.claim.text == "sum(H @ W2)"


def test_what_holds_at_other_sizes_comes_before_what_fits_by_chance() -> None:
    text = case('X: "randn(n, n)", y: "randn(n, d)"', "  z: (y @ X).sum()\n")
    found = meant(text)
    assert found is not None
    assert found.claim.text in ("sum(X @ y)", "sum(y.T @ X)")


def test_formulas_have_a_say() -> None:
    rest = "formulas: {W: X.T @ grad(Z)}\n"
    found = meant(case(LAYER, "  Z: X @ W\n  loss: Z.sum()\n", rest))
    assert found is not None
    assert (found.name, found.claim.text) == ("W", "randn(d, h)")  # with `X @ W.T` the formula has another shape


def test_of_two_slips_the_first_is_mended_by_what_reaches_further() -> None:
    inputs = 'X: "randn(n, d)", W: "randn(d, h)", V: "randn(h, 2)"'
    found = meant(case(inputs, "  Z: X * W\n  Y: V @ Z\n  loss: Y.sum()\n"))
    assert found is not None
    assert (found.name, found.claim.text, found.reach) == ("Z", "X @ W", 1)


def test_there_may_be_none() -> None:
    assert meant(case("x: [1.0, 2.0], y: [1.0, 2.0, 3.0]", "  z: (x * y).sum()\n")) is None


def test_an_entry_of_several_parts_of_other_sizes_is_no_number() -> None:
    graph = "graph: {h0: 'tensor_split(x0, tensor(2))', loss: h0.sum()}"
    text = f"inputs: {{x0: 'uniform(-2, 2, [1])'}}\n{graph}\nformulas: {{x0: grad(h0)}}\n"
    chosen = Options()
    assert check_isolated(case_of(text), chosen, engines_of(chosen)).status == "failed"
