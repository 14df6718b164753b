"""Calls in a graph that are defined, and hardly ever meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.traverse import ops_in

#: By a loss, the ops whose results it does not take, and what it takes.
_NOT_TAKEN = {
    "cross_entropy": (("softmax", "sigmoid"), "logits"),
    "binary_cross_entropy_with_logits": (("softmax", "sigmoid"), "logits"),
    "nll_loss": (("softmax", "sigmoid"), "logarithms of probabilities"),
    "kl_div": (("softmax", "sigmoid"), "logarithms of probabilities"),
}
#: The ops that are looked at.
_ASKED = frozenset((*_NOT_TAKEN, "mean"))


def likely_slips(case: Case) -> Iterator[Fact]:
    """Yield what is likely a slip in the graph."""
    for entry, claim in case.graph.items():
        for node in () if _ASKED.isdisjoint(ops_in(claim.expr)) else claim.expr.walk():
            if (
                isinstance(node, Call)
                and node.op in _ASKED
                and node.args
                and (found := _slip(entry, node, case.graph)) is not None
            ):
                yield found


def _slip(entry: str, node: Call, graph: Mapping[str, Claim]) -> Fact | None:
    first = _made_by(node.args[0], graph)
    if first is None:
        return None
    refused, takes = _NOT_TAKEN.get(node.op, ((), ""))
    if first.op in refused:
        return fact("takes_no_probabilities", entry=entry, name=_name(node.args[0]), op=node.op, takes=takes)
    has_options = len(node.args) + len(first.args) > 2 or node.kwargs or first.kwargs
    if node.op == first.op == "mean" and not has_options:
        return fact("mean_of_a_mean", entry=entry)
    return None


def _made_by(expr: Expr, graph: Mapping[str, Claim]) -> Call | None:
    """Return the call that makes a value, in this expression or an entry."""
    for _ in range(len(graph)):
        if not isinstance(expr, Name) or expr.name not in graph:
            break
        expr = graph[expr.name].expr
    return expr if isinstance(expr, Call) else None


def _name(expr: Expr) -> str:
    return expr.name if isinstance(expr, Name) else ""
