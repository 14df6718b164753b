"""Gradients of a case as formulas, by the rules of differentiation."""

from __future__ import annotations

import math
from functools import cached_property

from gradcheck.checks.derivation import explain
from gradcheck.checks.failures.explanation_points import SEED
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Expr, Literal
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import free_names, rewrite

#: The most parts of a derived formula, with shared steps written out.
MAX_PARTS = 120
#: The most parts of a graph whose gradients are derived.
MAX_GRAPH = 400


#: Numbers by their digits, with the expressions that a person writes.
_NAMED_NUMBERS: dict[object, Expr] = {
    number: parse(text)
    for text, number in (
        ("pi", math.pi),
        ("sqrt(2 * pi)", math.sqrt(2 * math.pi)),
        ("sqrt(pi)", math.sqrt(math.pi)),
        ("sqrt(2)", math.sqrt(2)),
        ("sqrt(3)", math.sqrt(3)),
        ("2 / sqrt(pi)", 2 / math.sqrt(math.pi)),
        ("log(2)", math.log(2)),
        ("log(10)", math.log(10)),
    )
}


def with_named_numbers(expr: Expr, case: Case) -> Expr:
    """Return the formula with `pi` and `log(2)` for their digits."""
    if "pi" in {*case.inputs, *case.constants, *case.graph}:
        return expr
    return rewrite(expr, lambda node: _NAMED_NUMBERS.get(node.value, node) if isinstance(node, Literal) else node)


class DerivedFormulas:
    """The derived formulas of one case, on demand."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def of(self, tensor: str) -> list[Expr]:
        """Return formulas of a gradient: by children's gradients, and by inputs."""
        return [expr for expr, _ in self._by_tensor.get(tensor, ())]

    def without_shared_steps(self, tensor: str) -> list[Expr]:
        """Return formulas without shared steps: a person divides by no others."""
        return [expr for expr, shares in self._by_tensor.get(tensor, ()) if not shares]

    @cached_property
    def _by_tensor(self) -> dict[str, list[tuple[Expr, bool]]]:
        """Formulas by tensor, and whether they share steps with other tensors'."""
        found: dict[str, list[tuple[Expr, bool]]] = {}
        if sum(1 for claim in self._case.graph.values() for _ in claim.expr.walk()) > MAX_GRAPH:
            return found
        for expand in (False, True):
            explanation = explain(self._case, SEED, expand=expand)
            exprs = {one.tensor: one.expr for one in explanation.formulas}
            for tensor, expr in explanation.without_steps(MAX_PARTS).items():
                shares = not explanation.let.keys().isdisjoint(free_names(exprs[tensor]))
                found.setdefault(tensor, []).append((expr, shares))
        return found
