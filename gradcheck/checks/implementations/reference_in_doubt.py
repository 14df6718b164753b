"""Excuse code that differs from a wrong reference."""

from __future__ import annotations

from gradcheck.checks.claim_kind import ClaimKind
from gradcheck.checks.claims.tangent_comparison import as_passed
from gradcheck.checks.closeness.compare import compare
from gradcheck.checks.closeness.tolerance import base
from gradcheck.checks.context import Context
from gradcheck.checks.failures.blame_assignment import assign_blame
from gradcheck.checks.result import Comparison
from gradcheck.engines.core import Core
from gradcheck.facts import Fact


def excuse_reference(context: Context) -> None:
    """Pass gradients if the core and finite differences confirm the code."""
    verdicts: dict[str, Fact | None] = {}
    for place, c in enumerate(context.found):
        if c.status != "failed" or c.what is not ClaimKind.GRADIENT or verdicts.get(c.tensor, c) is None:
            continue
        if not _core_agrees_with_code(context, c):
            verdicts[c.tensor] = None
        elif c.tensor not in verdicts:
            verdicts[c.tensor] = _reference_error(context, c)
        told = verdicts[c.tensor]
        if told is not None:
            context.found[place] = as_passed(c, told)


def _reference_error(context: Context, c: Comparison) -> Fact | None:
    """Return the verdict of differences that the reference is wrong, or None."""
    alone = Context(context.case, context.options, context.engines, context.points)
    alone.found = [c]
    assign_blame(alone)
    return alone.found[0].verdict if alone.found[0].status == "passed" else None


def _core_agrees_with_code(context: Context, c: Comparison) -> bool:
    """Return whether the core agrees with the code."""
    if c.got_array is None:
        return False
    states = Core().evaluate(context.points.at(c.trial).problem).states
    ours = states[c.step].gradients.get(c.tensor) if len(states) > c.step else None
    return ours is not None and compare(ours, c.got_array, base(ours.dtype), c.subject).status == "passed"
