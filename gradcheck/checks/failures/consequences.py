"""What follows from what an engine does wrong, in steps that come later and in numbers that a file states."""

from __future__ import annotations

from collections.abc import Sequence

from gradcheck.checks.failures.diagnosis.evidence import Evidence
from gradcheck.checks.failures.point_failures import GRADIENTS, PointFailures, diagnose
from gradcheck.checks.result import Cause
from gradcheck.engines.base import Engine
from gradcheck.facts import fact
from gradcheck.language.claim_kind import ClaimKind


def explain_uncleared_gradients(failures: PointFailures, places: Sequence[int], step: int, engine: Engine) -> None:
    """What a step that is no backward pass should have cleared; what is left over there is so in all later steps."""
    states = failures.point.evaluation(engine).states
    before = states[step - 1].gradients if step else {}
    for place in places:
        c = failures.comparisons[place]
        if c.step != step or c.got_array is None:
            continue
        want = c.got_array * 0 if c.want_array is None else c.want_array
        evidence = Evidence(c.got_array, want, earlier=before.get(c.tensor))
        cause = Cause(fact("outcome_of_step", number=step + 1), fact("not_cleared"))
        failures.blame(place, cause, diagnose([evidence, evidence]))
        later = failures.failed(GRADIENTS, engine.name)
        failures.mark_consequences(cause.origin, [other for other in later if failures.comparisons[other].step >= step])
        return


def mark_stated_consequences(failures: PointFailures, engine: Engine) -> None:
    """Numbers that a file states are missed because the engine's gradient is wrong that they are compared with."""
    found = [failures.comparisons[place] for place in failures.failed((ClaimKind.GRADIENT,), engine.name)]
    wrong = {(c.tensor, c.step): c.cause.origin if c.cause is not None else c.consequence_of for c in found}
    for place in failures.failed((ClaimKind.EXPECTED,), engine.name):
        c = failures.comparisons[place]
        origin = wrong.get((c.tensor, c.step))
        if origin is not None:
            failures.mark_consequences(origin, [place])
