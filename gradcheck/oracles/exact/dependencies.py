"""What a formula speaks of besides the forward's values: steps of a derivation, and gradients of other tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradcheck.errors import Unsupported
from gradcheck.language.case import Case
from gradcheck.language.expr.mentions import free_names, gradient_names
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.problem import Problem
from gradcheck.language.symbolic.derive import derive


def steps_of(case: Case, formula: Expr) -> tuple[str, ...]:
    """The names of `let` that it is made of, in their order."""
    needed = set(free_names(formula))
    for name in reversed(list(case.let)):
        if name in needed:
            needed.update(free_names(case.let[name].expr))
    return tuple(name for name in case.let if name in needed)


class Needs:
    """For the formulas of one problem; what was found out is kept."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.case = problem, problem.case
        self._derived: Mapping[str, Expr] | None = None
        #: Whether gradients were derived that have numbers written out for some incoming ones: those of a root that
        #: another is made of.
        self.speaks_of_numbers = False
        self._found: dict[int, tuple[Expr, tuple[str, ...], tuple[str, ...]]] = {}

    def steps(self, formula: Expr) -> tuple[str, ...]:
        """The names of `let` that it is made of, in their order."""
        return self._of(formula)[1]

    def gradients(self, formula: Expr) -> tuple[str, ...]:
        """The tensors whose gradients it is made of, each after those that its own gradient is made of."""
        return self._of(formula)[2]

    def derived(self, name: str) -> Expr:
        """The core's gradient as a formula that speaks of its children's. Raises Unsupported."""
        roots = {tuple(seeds) for seeds in self.problem.seeds}
        if len(roots) != 1:
            raise Unsupported("grad(…) after backward passes from different roots")
        if self._derived is None:
            self._derived = derive(self.problem, expand=False)
            self.speaks_of_numbers = any(len(seeds) > 1 for seeds in self.problem.seeds)
        if name not in self._derived:
            raise Unsupported(f"the gradient of {name} is not derived")
        return self._derived[name]

    def _of(self, formula: Expr) -> tuple[Expr, tuple[str, ...], tuple[str, ...]]:
        known = self._found.get(id(formula))
        if known is None:
            steps = steps_of(self.case, formula)
            spoken = {
                g: None for expr in (*(self.case.let[s].expr for s in steps), formula) for g in gradient_names(expr)
            }
            known = self._found[id(formula)] = (formula, steps, tuple(self._in_order(list(spoken))))
        return known

    def _in_order(self, names: list[str]) -> Iterator[str]:
        """These and all that they need, children first."""
        done: set[str] = set()
        stack = [(name, False) for name in reversed(names)]
        while stack:
            name, ready = stack.pop()
            if name in done:
                continue
            if ready:
                done.add(name)
                yield name
                continue
            stack.append((name, True))
            stack += [
                (other, False) for other in gradient_names(self.derived(name)) if other not in done and other != name
            ]
