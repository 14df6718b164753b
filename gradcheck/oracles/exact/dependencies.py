"""What a formula speaks of besides the forward's values: steps of a derivation, and gradients of other tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from typing import NamedTuple

from gradcheck.errors import Unsupported
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.traverse import gradient_names
from gradcheck.language.problem import Problem
from gradcheck.language.symbolic.derive import derive


class Mentioned(NamedTuple):
    """The names of `let` that a formula is made of, in their order; and the tensors whose gradients it is made of, each
    after those that its own gradient is made of."""

    formula: Expr  # keeps its id its own
    steps: tuple[str, ...]
    gradients: tuple[str, ...]


class Dependencies:
    """For the formulas of one problem; what was found out is kept."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.case = problem, problem.case
        self._derived: Mapping[str, Expr] | None = None
        #: Whether gradients were derived that have numbers written out for some incoming ones: those of a root that
        #: another is made of.
        self.fixes_incoming = False
        self._mentioned: dict[int, Mentioned] = {}

    def of(self, formula: Expr) -> Mentioned:
        """Raises Unsupported where a gradient that it is made of is not derived."""
        known = self._mentioned.get(id(formula))
        if known is None:
            steps = self.case.steps_of(formula)
            exprs = (*(self.case.let[step].expr for step in steps), formula)
            gradients = self._in_order([name for expr in exprs for name in gradient_names(expr)])
            known = self._mentioned[id(formula)] = Mentioned(formula, steps, gradients)
        return known

    def derived(self, name: str) -> Expr:
        """The core's gradient as a formula that speaks of its children's. Raises Unsupported."""
        roots = {tuple(seeds) for seeds in self.problem.seeds}
        if len(roots) != 1:
            raise Unsupported("grad(…) after backward passes from different roots")
        if self._derived is None:
            self._derived = derive(self.problem, expand=False)
            self.fixes_incoming = any(len(seeds) > 1 for seeds in self.problem.seeds)
        if name not in self._derived:
            raise Unsupported(f"the gradient of {name} is not derived")
        return self._derived[name]

    def _in_order(self, names: Sequence[str]) -> tuple[str, ...]:
        """These and all that they are made of, children first."""
        if not names:
            return ()
        waiting, made_of = [*names], dict[str, list[str]]()
        while waiting:
            name = waiting.pop()
            if name not in made_of:
                made_of[name] = [other for other in gradient_names(self.derived(name)) if other != name]
                waiting += made_of[name]
        return tuple(TopologicalSorter(made_of).static_order())
