"""Circular claims, such as `x: grad(x)` of a gradient, which always hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import NamedTuple, TypeAlias

from gradcheck.errors import InvalidCase
from gradcheck.language.case import Claim
from gradcheck.language.expr.nodes import Derivative, Expr
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import derivatives_in, free_names, gradient_names
from gradcheck.language.loader.name_scope import NameScope
from gradcheck.language.loader.yaml_document import Path

#: The most steps that are followed in one case; a case written by a person has hundreds.
_MOST_STEPS = 2_000_000

#: A tensor, for its gradient, or a Jacobian or Hessian.
Term: TypeAlias = str | Derivative


class _Uses(NamedTuple):
    """The terms and the other steps that a step of a derivation uses."""

    terms: frozenset[Term]
    steps: tuple[str, ...]


class CircularityChecker:
    """Reports the circular claims of one case, whose steps are `let`."""

    def __init__(self, scope: NameScope, graph: Mapping[str, object], let: Mapping[str, Claim]) -> None:
        self.scope, self.graph, self.let = scope, graph, let
        self._followed = 0

    @cached_property
    def _uses(self) -> dict[str, _Uses]:
        return {
            name: _Uses(frozenset(_terms(step.expr)), tuple(one for one in free_names(step.expr) if one in self.let))
            for name, step in self.let.items()
        }

    @cached_property
    def _used_terms(self) -> frozenset[Term]:
        """The terms that any step uses."""
        return frozenset().union(*(step.terms for step in self._uses.values()))

    @cached_property
    def _first_user(self) -> dict[str, str]:
        """Map each name to the first tensor of the graph that uses it."""
        found: dict[str, str] = {}
        for tensor, text in self.graph.items():
            for name in _names(str(text)):
                if name != tensor:
                    found.setdefault(name, tensor)
        return found

    def without_circular(self, term: Term, path: Path, claim: Claim | None) -> Claim | None:
        """Return a claim about a term; report it and return None if it uses it."""
        at = None if claim is None else _terms(claim.expr).get(term)
        names = {} if claim is None else free_names(claim.expr)
        step = self._step_with_term(term, names) if at is None else ""
        if self._followed > _MOST_STEPS:
            hint = "use fewer steps in `let`, or put the formulas into several cases"
            self.scope.add_error("the steps of the derivations are too many to be followed", path, hint)
            return None
        if claim is None or (at is None and not step):
            return claim
        way = "" if at is not None else f" by way of '{step}'"
        message, hint = self._explained(term, way)
        place = self.scope.document.locate(path, claim.text, names[step] if at is None else at)
        self.scope.add_error(f"{message}, so it claims nothing", place, hint)
        return None

    def _step_with_term(self, term: Term, names: Collection[str]) -> str:
        """Return the first name that is a step which uses the term, or ""."""
        if term not in self._used_terms:
            return ""
        seen: set[str] = set()
        for name in names:
            todo = [name] if name in self._uses else []
            while todo and self._followed <= _MOST_STEPS:
                step = todo.pop()
                if step in seen:
                    continue
                seen.add(step)
                self._followed += 1 + len(self._uses[step].steps)
                if term in self._uses[step].terms:
                    return name
                todo += self._uses[step].steps
        return ""

    def _explained(self, term: Term, way: str) -> tuple[str, str]:
        """Return the error, and a hint that names what the claim may use."""
        if isinstance(term, Derivative):
            hint = f"say it by the tensors that {term.tensors[0]} is made of"
            return f"the claim about {term.name} speaks of it itself{way}", hint
        hint = f"the gradient of {term} is what comes in there; leave the formula out"
        if user := self._first_user.get(term):
            hint = f"say it by the gradients of what {term} is used in, such as grad({user})"
        return f"the formula for the gradient of {term} speaks of grad({term}) itself{way}", hint


def _terms(expr: Expr) -> dict[Term, int]:
    """Return an expression's gradients and derivatives, with their places."""
    found: list[tuple[Term, int]] = [*gradient_names(expr).items(), *derivatives_in(expr).items()]
    return dict(found)


def _names(text: str) -> Collection[str]:
    """Return the names in an expression; none if it cannot be parsed."""
    try:
        return free_names(parse(text))
    except InvalidCase:
        return ()
