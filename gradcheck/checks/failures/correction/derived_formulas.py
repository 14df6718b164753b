"""The gradients of a case as formulas that the rules of differentiation give: what may be missing in a wrong one, and
what is shown where nothing near it is right."""

from __future__ import annotations

from functools import cached_property
from itertools import islice

from gradcheck.checks.derivation import explain
from gradcheck.checks.failures.explanation_points import SEED
from gradcheck.language.case import Case
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.traverse import free_names, substitute

#: One of more parts is not looked at, steps that it shares with others written out.
MAX_PARTS = 120
#: The gradients of a graph of more parts are not derived.
MAX_GRAPH = 400


class DerivedFormulas:
    """Those of one case, derived when they are first asked for."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def of(self, tensor: str) -> list[Expr]:
        """A tensor's gradient as formulas: by way of its children's gradients, and by inputs alone."""
        return [expr for expr, _ in self._by_tensor.get(tensor, ())]

    def without_shared_steps(self, tensor: str) -> list[Expr]:
        """Those that share no step with other tensors': in these a person would divide by what they divide by."""
        return [expr for expr, shares in self._by_tensor.get(tensor, ()) if not shares]

    @cached_property
    def _by_tensor(self) -> dict[str, list[tuple[Expr, bool]]]:
        """By tensor, and whether they share steps with others, which are written out."""
        found: dict[str, list[tuple[Expr, bool]]] = {}
        if sum(1 for claim in self._case.graph.values() for _ in claim.expr.walk()) > MAX_GRAPH:
            return found
        for expand in (False, True):
            explanation = explain(self._case, SEED, expand=expand)
            shared: dict[str, Expr] = {}
            for name, step in explanation.let.items():
                shared[name] = substitute(step, shared)
            for one in explanation.formulas:
                expr = substitute(one.expr, shared)
                if one.holds_accumulated and sum(1 for _ in islice(expr.walk(), MAX_PARTS + 1)) <= MAX_PARTS:
                    shares = not explanation.let.keys().isdisjoint(free_names(one.expr))
                    found.setdefault(one.tensor, []).append((expr, shares))
        return found
