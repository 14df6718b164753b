"""Gradients of a case as formulas, by the rules of differentiation."""

from __future__ import annotations

import math
from functools import cached_property

from gradcheck.checks.derivation import explain
from gradcheck.checks.failures.explanation_points import SEED
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Expr, Literal, Name
from gradcheck.language.expr.traverse import free_names, rewrite

#: The most parts of a derived formula, with shared steps written out.
MAX_PARTS = 120
#: The most parts of a graph whose gradients are derived.
MAX_GRAPH = 400


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

    def _with_names(self, expr: Expr) -> Expr:
        """Return the formula with `pi` for its digits."""
        is_taken = "pi" in {*self._case.inputs, *self._case.constants, *self._case.graph}
        return rewrite(expr, lambda node: Name("pi") if node == Literal(math.pi) and not is_taken else node)

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
                found.setdefault(tensor, []).append((self._with_names(expr), shares))
        return found
