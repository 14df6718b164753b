"""The dependencies of a formula: derivation steps and other gradients."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gradcheck.errors import Unsupported
from gradcheck.language.expr.nodes import Derivative, Expr, Literal
from gradcheck.language.expr.traverse import derivatives_in, gradient_names, postorder
from gradcheck.language.problem import Problem, split_name
from gradcheck.language.symbolic.gradient_entries import gradients_of
from gradcheck.language.symbolic.symbolic_gradients import derive_gradients
from gradcheck.language.trial_draws import inner_roots
from gradcheck.oracles.exact.partial_evaluation import PointEvaluator


class FormulaDependencies(NamedTuple):
    """The `let` names, in order, the gradients and terms that a formula uses."""

    formula: Expr  # keeps its id unique
    steps: tuple[str, ...]
    gradients: tuple[str, ...]
    derivatives: tuple[Derivative, ...]


class Dependencies:
    """The dependencies of the formulas of one problem, cached."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.case = problem, problem.case
        self.evaluation = PointEvaluator()
        self._derived: Mapping[str, Expr] | None = None
        self._gradients_of: dict[str, Mapping[str, Expr]] = {}
        #: The roots that others depend on; their gradients are derived without their incoming gradients.
        self._inner = inner_roots(self.case)
        #: Whether gradients were derived with fixed numbers for some incoming ones.
        self.fixes_incoming = False
        self._mentioned: dict[int, FormulaDependencies] = {}
        #: By tensor, the tensors whose gradients its derived gradient uses.
        self._made_of: dict[str, tuple[str, ...]] = {}

    def __contains__(self, number: object) -> bool:
        """Return whether the file writes this number in an expression."""
        return number in self._numbers or any(number in _numbers_in(one.formula) for one in self._mentioned.values())

    @cached_property
    def _numbers(self) -> frozenset[object]:
        exprs = [claim.expr for claim in (*self.case.graph.values(), *self.case.let.values())]
        return frozenset().union(*map(_numbers_in, exprs))

    def of(self, formula: Expr) -> FormulaDependencies:
        """Return the dependencies. Raises Unsupported for a gradient not derived."""
        known = self._mentioned.get(id(formula))
        if known is None:
            steps = self.case.let_steps_of(formula)
            exprs = (*(self.case.let[step].expr for step in steps), formula)
            gradients = tuple(dict.fromkeys(name for expr in exprs for name in gradient_names(expr)))
            self._derive(gradients)
            terms = tuple(dict.fromkeys(term for expr in exprs for term in derivatives_in(expr)))
            known = self._mentioned[id(formula)] = FormulaDependencies(formula, steps, gradients, terms)
        return known

    def children_first(self, names: Iterable[str], known: Container[str] = ()) -> list[str]:
        """Return tensors and their dependencies, children first, less `known`."""
        found: dict[str, None] = {}
        stack = [*names][::-1]
        while stack:
            name = stack[-1]
            is_new = name not in found and name not in known
            missing = [one for one in self._made_of[name] if one not in found and one not in known] if is_new else []
            if missing:
                stack += missing[::-1]
                continue
            stack.pop()
            if is_new:
                found[name] = None
        return list(found)

    def derived(self, name: str) -> Expr:
        """Return the core's gradient as a formula. Raises Unsupported."""
        if self._derived is None:
            self._derived = derive_gradients(
                self.problem if self.fixes_incoming else self._without_inner(), expand=False
            )
        if name not in self._derived:
            raise Unsupported(f"the gradient of {name} is not derived")
        return self._derived[name]

    def gradients_of(self, root: str) -> Mapping[str, Expr]:
        """Return a one-element tensor's gradients, those that others use first.

        Raises GradcheckError."""
        if root not in self._gradients_of:
            self._gradients_of[root] = gradients_of(self.problem, root)
        return self._gradients_of[root]

    def is_incoming_only(self, name: str) -> bool:
        """Return whether a root's gradient is just its incoming gradient."""
        return name in self.problem.seeds[0] and not self.is_inner(name)

    def _look_at_roots(self) -> None:
        if len({tuple(seeds) for seeds in self.problem.seeds}) != 1:
            raise Unsupported("grad(…) after backward passes from different roots")
        pairs = [pair for seeds in self.problem.seeds for pair in seeds.items()]
        self.fixes_incoming = any(seed is None and self.is_inner(root) for root, seed in pairs)

    def is_inner(self, root: str) -> bool:
        """Return whether another root depends on it."""
        return split_name(root)[0] in self._inner

    def _without_inner(self) -> Problem:
        """Return the problem with no incoming gradient at inner roots."""
        if not self._inner:
            return self.problem

        def without(root: str, seed: np.ndarray | None) -> np.ndarray | None:
            return np.zeros_like(seed) if seed is not None and self.is_inner(root) else seed

        seeds = tuple({root: without(root, seed) for root, seed in one.items()} for one in self.problem.seeds)
        return replace(self.problem, seeds=seeds)

    def _derive(self, names: Sequence[str]) -> None:
        """Record what these gradients depend on. Raises Unsupported."""
        if not names:
            return
        self._look_at_roots()
        waiting, found = [*names], dict[str, tuple[str, ...]]()
        while waiting:
            name = waiting.pop()
            if name not in found and name not in self._made_of:
                speaks_of = () if self.is_incoming_only(name) else gradient_names(self.derived(name))
                found[name] = tuple(other for other in speaks_of if other != name)
                waiting += found[name]
        self._made_of |= found


def _numbers_in(expr: Expr) -> frozenset[object]:
    return frozenset(node.value for node in postorder(expr) if isinstance(node, Literal) and type(node.value) is float)
