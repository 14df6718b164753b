"""Formulas that speak of the very gradient that they are about, `x: grad(x)`: whatever it is, they are right."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property

from gradcheck.errors import InvalidCase
from gradcheck.language.case import Claim
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import free_names, gradient_names
from gradcheck.language.loader.name_scope import NameScope
from gradcheck.language.loader.yaml_document import Path


class CircularityChecker:
    """Refuses such formulas of one case, whose steps of derivations are `let`."""

    def __init__(self, scope: NameScope, graph: Mapping[str, object], let: Mapping[str, Claim]) -> None:
        self.scope, self.graph, self.let = scope, graph, let

    @cached_property
    def _reached(self) -> dict[str, frozenset[str]]:
        """The gradients that each step is made of, by others too."""
        found: dict[str, frozenset[str]] = {}
        for name, step in self.let.items():
            own = frozenset(gradient_names(step.expr))
            found[name] = own.union(*[found[other] for other in free_names(step.expr) if other in found])
        return found

    def report_if_circular(self, tensor: str, path: Path, claim: Claim) -> bool:
        """Whether a formula for this tensor speaks of its gradient; then the scope has an error for it."""
        at = gradient_names(claim.expr).get(tensor)
        names = free_names(claim.expr)
        steps = [name for name in names if name in self._reached and tensor in self._reached[name]]
        if at is None and not steps:
            return False
        way = "" if at is not None else f" by way of '{steps[0]}'"
        place = self.scope.document.locate(path, claim.text, names[steps[0]] if at is None else at)
        self.scope.add_error(
            f"the formula for the gradient of {tensor} speaks of grad({tensor}) itself{way}, so it claims nothing",
            place,
            self._hint(tensor),
        )
        return True

    def _hint(self, tensor: str) -> str:
        """A gradient that it may speak of."""
        for name, text in self.graph.items():
            if name != tensor and tensor in _names(str(text)):
                return f"say it by the gradients of what {tensor} is used in, such as grad({name})"
        return f"the gradient of {tensor} is what comes in there; leave the formula out"


def _names(text: str) -> Collection[str]:
    """The names in an expression; none in one that cannot be read."""
    try:
        return free_names(parse(text))
    except InvalidCase:
        return ()
