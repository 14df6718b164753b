"""Phrases on comparisons, notes, whole cases and oracles."""

from __future__ import annotations

from gradcheck.facts import Fact
from gradcheck.reports.phrases.phrase_table import add_phrases, say
from gradcheck.reports.safe_text import truncate

#: What is said if a part of the explanation failed.
_PARTS = {
    "cause": "where it comes from was not found out",
    "part": "which part cannot be computed was not found out",
    "suggestion": "what may have been meant was not found out",
    "counterexample": "no counterexample was found",
    "smallest": "no smaller case was found",
    "derived": "whether formulas are the derived ones was not found out",
    "power": "its power was not measured",
    "report": "what was found out cannot be told",
}
_WHOSE = {"got": "this side's", "want": "the reference's"}


def _outcomes(differ: Fact) -> str:
    """Return two outcomes, at least one of which is an error."""
    got, mine, want, theirs = differ["got"], differ["got_outcome"], differ["want"], differ["want_outcome"]
    if mine.kind == "raised" and mine["error"] == "unsupported":
        return f"{got}: {mine['text']}"
    if mine.kind != "raised":
        return f"{want} {say(theirs)}, and {got} raises nothing"
    return f"{got} {say(mine)}, and {want} {say(theirs) if theirs.kind == 'raised' else 'raises nothing'}"


def _raised(came: Fact) -> str:
    """Return an error; without its kind, if the engine's own code raised it."""
    text = came["text"].removeprefix("torch: ")
    return f"fails: {text}" if came["error"] in ("engine_error", "code_raised") else f"raises {came['error']} ({text})"


def _library_warning(found: Fact) -> str:
    """Return the first sentence of a warning, which fits in a line."""
    first = found["text"].partition(". ")[0].rstrip(".")
    return f"{found['by']} warns: {truncate(first, 160)}"


def _gradient_is_zero(found: Fact) -> str:
    advice = f"; {_randomly(found['write'])} asks about others" if found["write"] else ""
    return f"its gradient is 0 for all incoming gradients of this case{advice}"


def _randomly(tensor: str) -> str:
    return f"backward: {{{tensor}: randn_like({tensor})}}"


add_phrases(
    {
        # Differences of arrays, and agreement
        "gradient_missing": "no gradient arrived, one was expected",
        "gradient_unexpected": "a gradient arrived, none was expected",
        "none_agrees_with_zeros": lambda f: f"none agrees with all zeros (none is {_WHOSE[f['none']]})",
        "derived_formula_is_wrong": "what was derived, {formula}, does not hold everywhere",
        "gradient_not_proved": "the gradient that is differentiated again was not proved",
        "shapes_differ": "shape {got:shape}, expected {want:shape}",
        "dtypes_differ": "dtype {got}, expected {want}",
        "elements_differ": "{mismatched} of {elements} elements differ",
        "nans_agree": "{count} NaN{count:s} {count:one agrees|agree}",
        "infinities_agree": "{count} infinite element{count:s} {count:one agrees|agree}",
        "no_elements": "nothing was compared: no elements",
        "only_nan": "nothing was compared: both sides are NaN everywhere",
        "same_sides": "{check} compares an expression with itself, which always holds",
        # Rounding
        "within_rounding": "beyond the base tolerance by {beyond:gap}, within the rounding noise of this graph at this "
        "point",
        "check_within_rounding": "within rounding noise, beyond the base tolerance",
        "reference_rounds_more": "{reference} is off by {off:gap} against itself in double precision, beyond rounding "
        "noise; {engine} is not",
        "reference_rounds": "{reference} is off by {off:gap} by its own rounding, beside much larger elements: {what}",
        "right_in_double_precision": "right in double precision; in {dtype} its steps overflow, or lose their digits",
        "off_by_rounding": "off by {by:gap} by rounding alone, and proved: {who:if {who}|the formula} rounds so much",
        "takes_no_probabilities": "{entry}: {name:if {name}|its argument} holds probabilities, and {op} takes {takes}",
        "mean_of_a_mean": "{entry} is the mean of a mean, which is one number",
        "gradient_is_zero": _gradient_is_zero,
        "vanishes_here": "every number of both sides is 0 here, so any multiple of the formula holds too",
        "incoming_is_one": lambda f: f"only for grad({f['tensor']}) = 1; {_randomly(f['tensor'])} asks about any",
        "torch_approximates": "torch approximates {op} where {where}, by up to {by:gap}",
        "too_ill_conditioned": "too ill-conditioned to be decided: rounding alone may move it {extent:finite by "
        "{extent:gap}|anywhere} at this point",
        "fast_path_differs": "the core's fast path differs from its definition at {op}, in {owner}: a mistake in "
        "gradcheck itself; please report it",
        "no_conditioning": "no estimate of rounding noise: {error}",
        # Another dtype
        "not_in_this_dtype": "holds in {own}, the case's own dtype, and cannot be shown in {dtype}: {why}",
        "written_for_real_numbers": "it is written for real numbers",
        "overflows": "it overflows",
        "loses_digits": "too few digits are left",
        # Engines
        "raised": _raised,
        "raised_nothing": "raises nothing",
        "outcomes_differ": _outcomes,
        "engine_raised": "{engine} raised {error}: {text}",
        "not_as_asked": "{engine} {came}; step {step} should raise {asked:if {asked}|nothing}",
        "ran_fewer_steps": "{got} ran {ran[0]} of {steps} steps and {want} {ran[1]}, without an error",
        "reference_would_go_on": "{engine} itself would go on, since this graph saved nothing",
        "input_changed": "{engine} has changed {tensor}, which it was given",
        "not_compared": "not compared: {engine} says nothing about it",
        "says_nothing": "{engine} says nothing about {tensor}",
        # An op alone
        "op_alone": lambda f: f"{f['op']} alone: {_outcomes(f['what'])}",
        "gradients_missing": "{op} alone: {engine} gives {got} gradients, expected {want}",
        "wrong_where_shared": "the gradient of {op} is wrong where two of its arguments are one and the same tensor",
        "gradient_of_op": "the gradient of {op}'s tensor {number}, for {ones:if an|a random} incoming gradient"
        "{ones:if  of ones}{mismatch:if : {mismatch}}",
        # Forward mode
        "jvp_of_op": "the tangent of {op}'s output {number:number}, for random directions of its tensors{mismatch:if : "
        "{mismatch}}",
        "jvp_fails": lambda f: f"{f['op']} alone in forward mode: {_outcomes(f['what'])}",
        "tangents_disagree": "{got} and {want} agree, but not with {method}",
        "no_forward_mode": "{engine} has no forward mode{why:if : {why}}",
        # Statements of the case
        "said": "{text}",
        "not_evaluated": "not compared: {entry} could not be evaluated",
        "is_not_true": "is not true",
        "no_comparison": "is neither true nor false; write left == right",
        "refuted": "refuted: {how}",
        "compared_nowhere": "the graph is NaN or out of range at all points, so the formula was compared nowhere",
        "not_refuted": "should be refuted, but holds at {points} point{points:s}",
        "differs_at_kinks": "should be refuted, but differs only where no derivative is, by another subgradient",
        # Errors of a case
        "in_engines": "{what} [{engines:commas}]",
        "forward_raised": "{entry}: {text}",
        "step_raised": "step {step} raised {error}{asked:if , not {asked}}: {text}",
        "not_raised": "step {step} should raise {asked}, and did not",
        "step_not_run": "step {step} was not run: {entry} could not be evaluated in the first place",
        "ran_out_of_time": "ran out of time after {seconds:value} seconds",
        "ran_out_of_time_inside": "ran out of time after {seconds:value} seconds: {inside} had not returned",
        "ran_out_of_memory": "ran out of memory{text:if : {text}}",
        "cache_differs": "computed afresh, it comes out otherwise than the cache has it",
        "process_ended": "the process that ran it ended {text}",
        "warned": _library_warning,
        "crashed": "{error}{text:if : {text}}",
        "not_found_out": lambda f: f"{_PARTS[f['part']]}: {say(f['why'])}",
        # At other points
        "cannot_be_drawn": "values cannot be drawn: {error}",
        "no_trial": "trial {trial} could not be verified in {attempts} draws: {why}",
        "code_raises_here": "the code raises there",
        "not_evaluated_here": "the graph cannot be evaluated there",
        "not_raised_here": "{error} is not raised at these sizes",
        "graph_is_nan": "the graph is NaN here: nothing is claimed of its gradient",
        "leaves_range": "what gradients start from leaves its dtype's range: {who:list} can tell nothing of it",
        "not_finite_here": "a value or a gradient is not finite there",
        "ill_conditioned_here": "rounding decides what the graph comes to there",
        "needs_sizes": "needs {condition}: else the graph is undefined, or rounding decides what it comes to",
        "undefined_at": "{overflows:if overflows on the way|undefined (NaN)} at {count} of {elements} "
        "element{elements:s}{own:if | elsewhere}{where:if : {where}}",
        "check_undefined": "undefined at {points} other point{points:s}",
        "where_element": "where {tensor} {condition}",
        "where_some_element": "where some {tensor} {condition}",
        "branch_not_visited": "not decided for {where:if {where}|numbers on the other side of `{op}` in {owner}}",
        "sizes_not_tried": "not decided for {where}: too large to be tried",
        "sides_not_searched": "not decided for {sides} side{sides:s} of comparisons, since the budget of their "
        "search is spent{where:if : {where:commas}}",
        "size_stays": "{size} stays {value}{tensor:if : {tensor} is written out}",
        "input_stays": "{tensor} stays {value}",
        "size_stays_small": "{size} stays {value}: at other sizes a tensor has more than {most:,} elements",
        "all_is_nan": "every element of a formula is NaN",
        "at_these_numbers_only": "verified at these numbers only",
        "not_at_other_numbers": "holds at the numbers given, if at all, but not at others",
        # Oracles
        "refuted_by_proof": "holds at these numbers, but not for all values{sizes:if  (at {sizes:sizes})}: the exact "
        "oracle refutes it",
        "hidden_by_rounding": "near at these numbers only by rounding: in high precision the formula is "
        "{got:value}, the derivative {want:value}",
        "beyond_rounding": "near, but not equal: off by {part:bar} of its size, {times:whole} times what rounding "
        "explains",
        "off_in_double_precision": "off by {part:bar} of its size in double precision, though not by more than this "
        "dtype rounds",
        "within_tolerance_not_exact": "within the tolerance allowed, but not exact: the exact oracle refutes it",
        "not_proved": "not proved: {why}",
        "method_cannot_tell": "{method} cannot tell: the error bar is {error:bar}",
        "kinks_not_searched_further": "no derivative there, and the subgradients at {elements} element{elements:s} "
        "were not searched further",
        "jumps": "no derivative there: the function jumps",
        "any_subgradient": "no derivative there; any of [{low:value}, {high:value}] is a subgradient",
        "differs_along_directions": "differs along random directions",
        "differences_side_with": "differences in double precision side with {engine}: {reference} is rounded",
        "differences_cannot_confirm": "differences cannot confirm it: their error bar is {error:bar}",
        "differences_disagree": "{got} and {want} agree, but not with differences of first gradients",
        "exact_dtype": "{dtype} is no field of real numbers",
        "exact_steps": "its steps are more than backward passes",
        "exact_error": "{message}",
        "exact_uninterpreted": "it differs where {functions:commas} may take any value",
        "exact_degree": "its degree is {degree:,}, too large for {points} points",
        "exact_core_gradient": "the core's own gradient of {tensor} is not proved",
        "no_complex_step": "{message}",
    }
)
