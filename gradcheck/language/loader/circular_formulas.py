"""Circular formulas, such as `x: grad(x)`, which always hold."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from gradcheck.errors import InvalidCase
from gradcheck.language.case import Claim, step_gradients
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import free_names, gradient_names
from gradcheck.language.loader.name_scope import NameScope
from gradcheck.language.loader.yaml_document import Path


class CircularityChecker:
    """Reports the circular formulas of one case, whose steps are `let`."""

    def __init__(self, scope: NameScope, graph: Mapping[str, object], let: Mapping[str, Claim]) -> None:
        self.scope, self.graph, self.reached = scope, graph, step_gradients(let)

    def report_if_circular(self, tensor: str, path: Path, claim: Claim) -> bool:
        """Report a formula that uses the gradient it claims; return if it does."""
        at = gradient_names(claim.expr).get(tensor)
        names = free_names(claim.expr)
        steps = [name for name in names if tensor in self.reached.get(name, ())]
        if at is None and not steps:
            return False
        way = "" if at is not None else f" by way of '{steps[0]}'"
        place = self.scope.document.locate(path, claim.text, names[steps[0]] if at is None else at)
        message = f"the formula for the gradient of {tensor} speaks of grad({tensor}) itself{way}, so it claims nothing"
        self.scope.add_error(message, place, self._hint(tensor))
        return True

    def _hint(self, tensor: str) -> str:
        for name, text in self.graph.items():
            if name != tensor and tensor in _names(str(text)):
                return f"say it by the gradients of what {tensor} is used in, such as grad({name})"
        return f"the gradient of {tensor} is what comes in there; leave the formula out"


def _names(text: str) -> Collection[str]:
    """Return the names in an expression; none if it cannot be parsed."""
    try:
        return free_names(parse(text))
    except InvalidCase:
        return ()
