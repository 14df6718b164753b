"""In words: what comparisons of claims came to, where numbers do not say it; and what is noted beside them."""

from __future__ import annotations

import math

from gradcheck.facts import Fact
from gradcheck.reports.phrases.table import phrases, say
from gradcheck.reports.text import count

_WHOSE = {"got": "this side's", "want": "the reference's"}

# How two arrays differ, and what agreed ----------------------------------------------------------------

phrases(
    {
        "gradient_missing": "no gradient arrived, one was expected",
        "gradient_unexpected": "a gradient arrived, none was expected",
        "none_agrees_with_zeros": lambda f: f"none agrees with all zeros (none is {_WHOSE[f['none']]})",
        "shapes_differ": lambda f: f"shape {list(f['got'])}, expected {list(f['want'])}",
        "dtypes_differ": "dtype {got}, expected {want}",
        "elements_differ": "{mismatched} of {elements} elements differ",
        "nans_agree": lambda f: _agree(f["count"], "NaN"),
        "infinities_agree": lambda f: _agree(f["count"], "infinite element"),
        "no_elements": "nothing was compared: no elements",
    }
)


def _agree(number: int, noun: str) -> str:
    return f"{count(number, noun)} {'agrees' if number == 1 else 'agree'}"


# Rounding ----------------------------------------------------------------------------------------------

phrases(
    {
        "within_rounding": (
            "beyond the base tolerance by {beyond:.2g}, within the rounding noise of this graph at this point"
        ),
        "check_within_rounding": "within rounding noise, beyond the base tolerance",
        "as_near_to_double_precision": "as near to double precision ({error:.2g}) as {reference} is ({theirs:.2g})",
        "too_ill_conditioned": lambda f: (
            f"too ill-conditioned to be decided: rounding alone may move it {_extent(f['extent'])} at this point"
        ),
        "no_conditioning_by": "{engine} cannot estimate its rounding noise",
        "no_conditioning": "no estimate of rounding noise: {error}",
    }
)


def _extent(extent: float) -> str:
    return f"by {extent:.2g}" if math.isfinite(extent) else "anywhere"


# What engines do ---------------------------------------------------------------------------------------

phrases(
    {
        "raised": "raised {error} ({text})",
        "raised_nothing": "raised nothing",
        "outcomes_differ": "{got} {got_outcome}; {want} {want_outcome}",
        "engine_raised": "{engine} raised {error}: {text}",
        "not_as_asked": lambda f: f"{f['engine']} {say(f['came'])}; step {f['step']} should {_asked(f['asked'])}",
        "ran_fewer_steps": "{got} ran {ran[0]} of {steps} steps and {want} {ran[1]}, without an error",
        "reference_would_go_on": "{engine} itself would go on, since this graph saved nothing",
        "input_changed": "{engine} has changed {tensor}, which it was given",
        "not_compared": "not compared: {engine} says nothing about it",
        "says_nothing": "{engine} says nothing about {tensor}",
    }
)


def _asked(kind: str | None) -> str:
    return f"raise {kind}" if kind else "raise nothing"


# An op alone -------------------------------------------------------------------------------------------

phrases(
    {
        "op_alone": lambda f: f"{f['op']} alone: {_outcomes_of_op(f['what'])}",
        "gradients_missing": "{op} alone: {engine} gives {got} gradients, expected {want}",
        "gradient_of_op": lambda f: (
            f"the gradient of {f['op']}'s tensor {f['number']}, for a random incoming gradient"
            + (f": {say(f['mismatch'])}" if f["mismatch"] else "")
        ),
    }
)


def _outcomes_of_op(differ: Fact) -> str:
    sides = ((differ[side], differ[f"{side}_outcome"]) for side in ("got", "want"))
    return "; ".join(f"{engine} {_outcome_of_op(came)}" for engine, came in sides)


def _outcome_of_op(came: Fact) -> str:
    return f"raised {came['error']}: {came['text']}" if came.kind == "raised" else say(came)


# What the case says ------------------------------------------------------------------------------------

phrases(
    {
        "said": "{text}",
        "claim_raised": "{error}: {text}",
        "cannot_be_computed": "cannot be computed: {error}",
        "not_evaluated": "not compared: {entry} could not be evaluated",
        "is_not_true": "is not true",
        "refuted": "refuted: {how}",
        "not_refuted": lambda f: f"should be refuted, but holds at {count(f['points'], 'point')}",
    }
)

# Errors of a case --------------------------------------------------------------------------------------

phrases(
    {
        "in_engines": lambda f: f"{say(f['what'])} [{', '.join(f['engines'])}]",
        "forward_raised": "{entry}: {text}",
        "step_raised": lambda f: f"step {f['step']} raised {f['error']}{_not(f['asked'])}: {f['text']}",
        "not_raised": "step {step} should raise {asked}, and did not",
        "step_not_run": "step {step} was not run: {entry} could not be evaluated in the first place",
    }
)


def _not(asked: str | None) -> str:
    return f", not {asked}" if asked else ""


# At other points ---------------------------------------------------------------------------------------

phrases(
    {
        "cannot_be_drawn": "values cannot be drawn: {error}",
        "no_trial": "trial {trial} could not be verified in {attempts} draws: {why}",
        "not_evaluated_here": "the graph cannot be evaluated there",
        "not_raised_here": "{error} is not raised at these sizes",
        "all_is_nan": "every element of a formula is NaN",
        "at_these_numbers_only": "verified at these numbers only",
        "not_at_other_numbers": "holds at the numbers given, if at all, but not at others",
    }
)

# Oracles -----------------------------------------------------------------------------------------------

phrases(
    {
        "refuted_by_proof": lambda f: (
            f"holds at these numbers, but not for all values{_at(f['sizes'])}: the exact oracle refutes it"
        ),
        "within_tolerance_not_exact": "within the tolerance allowed, but not exact: the exact oracle refutes it",
        "not_proved": "not proved: {why}",
        "method_cannot_tell": "{method} cannot tell: the error bar is {error:.1g}",
        "jumps": "no derivative there: the function jumps",
        "any_subgradient": "no derivative there; any of [{low:.6g}, {high:.6g}] is a subgradient",
        "differs_along_directions": "differs along random directions",
        "differences_side_with": "differences in double precision side with {engine}: {reference} is rounded",
        "differences_cannot_confirm": "differences cannot confirm it: their error bar is {error:.1g}",
        "differences_disagree": "{got} and {want} agree, but not with differences of first gradients",
    }
)


def _at(sizes: tuple[tuple[str, int], ...]) -> str:
    return f" (at {', '.join(f'{name} = {size}' for name, size in sizes)})" if sizes else ""
