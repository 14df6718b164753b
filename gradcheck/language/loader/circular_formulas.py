"""Circular formulas, such as `x: grad(x)`, which always hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import NamedTuple

from gradcheck.errors import InvalidCase
from gradcheck.language.case import Claim
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import free_names, gradient_names
from gradcheck.language.loader.name_scope import NameScope
from gradcheck.language.loader.yaml_document import Path

#: The most steps that are followed in one case; a case written by a person has hundreds.
_MOST_STEPS = 2_000_000


class _Uses(NamedTuple):
    """The gradients and the other steps that a step of a derivation uses."""

    gradients: frozenset[str]
    steps: tuple[str, ...]


class CircularityChecker:
    """Reports the circular formulas of one case, whose steps are `let`."""

    def __init__(self, scope: NameScope, graph: Mapping[str, object], let: Mapping[str, Claim]) -> None:
        self.scope, self.graph, self.let = scope, graph, let
        self._followed = 0

    @cached_property
    def _uses(self) -> dict[str, _Uses]:
        return {
            name: _Uses(
                frozenset(gradient_names(step.expr)), tuple(one for one in free_names(step.expr) if one in self.let)
            )
            for name, step in self.let.items()
        }

    @cached_property
    def _used_gradients(self) -> frozenset[str]:
        """The tensors whose gradients any step uses."""
        return frozenset().union(*(step.gradients for step in self._uses.values()))

    @cached_property
    def _first_user(self) -> dict[str, str]:
        """Map each name to the first tensor of the graph that uses it."""
        found: dict[str, str] = {}
        for tensor, text in self.graph.items():
            for name in _names(str(text)):
                if name != tensor:
                    found.setdefault(name, tensor)
        return found

    def report_if_circular(self, tensor: str, path: Path, claim: Claim) -> bool:
        """Report a formula that uses the gradient it claims; return if it does."""
        at = gradient_names(claim.expr).get(tensor)
        names = free_names(claim.expr)
        step = self._step_with_gradient(tensor, names) if at is None else ""
        if self._followed > _MOST_STEPS:
            hint = "use fewer steps in `let`, or put the formulas into several cases"
            self.scope.add_error("the steps of the derivations are too many to be followed", path, hint)
            return True
        if at is None and not step:
            return False
        way = "" if at is not None else f" by way of '{step}'"
        place = self.scope.document.locate(path, claim.text, names[step] if at is None else at)
        self.scope.add_error(
            f"the formula for the gradient of {tensor} speaks of grad({tensor}) itself{way}, so it claims nothing",
            place,
            self._hint(tensor),
        )
        return True

    def _step_with_gradient(self, tensor: str, names: Collection[str]) -> str:
        """Return the first name that is a step which uses the gradient, or ""."""
        if tensor not in self._used_gradients:
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
                if tensor in self._uses[step].gradients:
                    return name
                todo += self._uses[step].steps
        return ""

    def _hint(self, tensor: str) -> str:
        """Return a hint that names a gradient which the formula may use."""
        if user := self._first_user.get(tensor):
            return f"say it by the gradients of what {tensor} is used in, such as grad({user})"
        return f"the gradient of {tensor} is what comes in there; leave the formula out"


def _names(text: str) -> Collection[str]:
    """Return the names in an expression; none if it cannot be parsed."""
    try:
        return free_names(parse(text))
    except InvalidCase:
        return ()
