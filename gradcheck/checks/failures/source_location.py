"""The place of an op in the text of its graph entry."""

from __future__ import annotations

from gradcheck.checks.failures.point_failures import PointFailures
from gradcheck.engines.base import Application
from gradcheck.language.case import TextSpan
from gradcheck.language.expr.nodes import Call
from gradcheck.language.expr.parser import parse_with_spans
from gradcheck.language.expr.traverse import postorder


def source_part(failures: PointFailures, application: Application, number: int, inside: str = "") -> TextSpan | None:
    """Return where an op stands in its entry, None outside of entries.

    `number` is the op's among the point's; `inside` names the op that it is a part of. An op that stands in several
    places and cannot be told apart gives the whole entry.
    """
    claim = failures.context.case.graph.get(application.owner)
    if claim is None:
        return None
    name = inside or application.op.name
    root, known = parse_with_spans(claim.text)
    places = [
        known[id(node)] for node in postorder(root) if isinstance(node, Call) and node.op == name and id(node) in known
    ]
    alike = [
        number
        for number, other in enumerate(failures.point.applications)
        if other.owner == application.owner and other.op.name == name
    ]
    if len(places) == len(alike) and number in alike:
        start, end = places[alike.index(number)]
    else:
        start, end = places[0] if len(places) == 1 else (0, len(claim.text))
    return TextSpan(claim.text, start, end)
