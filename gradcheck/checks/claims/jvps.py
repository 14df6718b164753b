"""Forward mode: Jacobian-vector products along random directions.

Engines are compared with the reference for every op alone and every tensor of the graph, both with a complex step or
finite differences, and forward with reverse mode.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradcheck.checks.context import Context
from gradcheck.checks.result import Comparison


def applies(context: Context) -> bool:
    """Return whether the run checks forward mode."""
    return context.options.mode != "reverse" and context.can_be_checked


def check(context: Context) -> Iterator[Comparison]:
    """Check ops alone; at each trial all tensors, and in "both" the modes."""
    from gradcheck.checks.claims.dot_product import check_dot_product  # not for runs without forward mode
    from gradcheck.checks.claims.jvp_points import JvpPoint
    from gradcheck.checks.claims.op_jvps import check_op_jvps

    points, options = context.points, context.options
    uses_oracle = options.oracle != "none"
    yield from check_op_jvps(points.own, context.engines.tested, options.tolerance, uses_oracle)
    for point in (points.own, *points.trials):
        forward = JvpPoint(point, options.tolerance, uses_oracle)
        if not forward.directions:
            return
        for engine in context.engines.tested:
            yield from forward.check(engine)
        if options.mode == "both":
            for engine in context.engines.all:
                yield from check_dot_product(forward, engine)
