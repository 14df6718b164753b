"""Forward mode: how tensors change where the inputs move along random directions (Jacobian-vector products).

Engine against reference for every op alone and for every tensor of the graph, both against a complex step or
differences of the forward; and forward against reverse mode, for each engine.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradcheck.checks.context import Context
from gradcheck.checks.result import Comparison


def applies(context: Context) -> bool:
    """Where the run asks for it."""
    return context.options.mode != "reverse" and context.can_be_checked


def check(context: Context) -> Iterator[Comparison]:
    """Ops alone, then every tensor of the graph, then, in the mode "both", forward against reverse mode; the last two
    at each point that was drawn, too."""
    from gradcheck.checks.claims.dot_product import check_dot_product  # not for runs that do not ask for it
    from gradcheck.checks.claims.jvp_points import JvpPoint
    from gradcheck.checks.claims.op_jvps import check_op_jvps

    points, options = context.points, context.options
    asked = options.oracle != "none"
    yield from check_op_jvps(points.own, context.engines.tested, options.tolerance, asked)
    for point in (points.own, *points.trials):
        forward = JvpPoint(point, options.tolerance, asked)
        if not forward.directions:
            return
        for engine in context.engines.tested:
            yield from forward.check(engine)
        if options.mode == "both":
            for engine in context.engines.all:
                yield from check_dot_product(forward, engine)
