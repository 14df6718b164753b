"""Phrases on verdicts, formulas and derivations."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.facts import Fact
from gradcheck.reports.number_formats import format_number
from gradcheck.reports.phrases.phrase_table import add_phrases, join_first, say

#: The most numbers of a tensor that are written.
_WRITTEN = 12


def _among_operations(found: Fact) -> str:
    """Return what is wrong with one op, and that the others are right."""
    what, operations, wrong = say(found["what"]), found["operations"], found["wrong"]
    if wrong > 1:
        return f"{what}; {wrong} of {operations} operations are wrong"
    right = operations - wrong
    if right < 1:
        return f"{what}; it is the only operation"
    return f"{what}; " + ("the other operation is right" if right == 1 else f"all {right} other operations are right")


def _put_together_wrongly(found: Fact) -> str:
    uses, operations = found["uses"], found["operations"]
    shown = "gradients go wrong here" if uses < 2 else f"the contributions of its {uses} uses are put together wrongly"
    if not operations:
        return shown
    if operations == 1:
        return f"{shown}; the operation is right on its own"
    return f"{shown}; all {operations} operations are right on their own"


def _nan_value(found: Fact) -> str:
    numbers = " and ".join(format_number("value", number) for number in found["operands"])
    made = f"; {found['op']} makes it" if found["op"] else ""
    where = f" at [{', '.join(map(str, found['index']))}]" if found["index"] else ""
    return f"nan{where}{made}{' of ' + numbers if made and numbers else ''}"


def _example(found: Fact) -> str:
    """Return `for x = [[1, 2]] the formula is 3 at [0, 1], …`."""
    given = [_given(name, values) for name, values in found["given"]]
    given += [_given(f"incoming gradient of {name}", values) for name, values in found["incoming"]]
    if not given:
        given = [f"{name} = {size}" for name, size in found["sizes"]]
    where = f"for {', '.join(given)} " if given else ""
    claimed, true = _text(found["claimed"]), _text(found["true"])
    if found["index"] is None:
        return f"{where}the formula has shape {claimed}, {found['tensor']} {true}"
    at = f" at {_text(found['index'])}" if found["index"] else ""
    return f"{where}the formula is {claimed}{at}, the gradient {true}"


def _given(name: str, values: Any) -> str:
    shape = np.shape(values)
    if np.prod(shape) <= _WRITTEN:
        return f"{name} = {_text(values)}"
    numbers = np.asarray(values)
    what = "small integers" if np.all(numbers == np.round(numbers)) else "numbers"
    return f"{name} of {'×'.join(map(str, shape))} {what}"


def _text(value: Any) -> str:
    """Return integers without a point, other numbers to six digits."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    return format_number("value", value) if isinstance(value, float) else str(value)


add_phrases(
    {
        # Sides
        "the_formula": "the formula",
        "the_file": "the file",
        "proved": "{what} (proved)",
        "stands_alone": "{wrong} is wrong: {agree:list} agree{closeness:closeness}",
        "oracle_sides_with": "{want} and {got} differ, {oracle} sides with {got}{closeness:closeness}",
        "all_differ": "{names:list} all differ",
        "oracle_cannot_tell": "{got} and {want} differ, and {oracle} cannot tell: {error:finite its error bar is "
        "{error:bar}|it does not converge there}",
        "wrong_together": "{wrong:list} {wrong:one is|are} wrong together: {agree:list} agree{closeness:closeness}",
        "parted": "{some:list} stand against {others:list}",
        "outside_subgradients": "{name} is wrong: no derivative there, and {name} ({value:value}) is outside of the "
        "subgradients, [{low:value}, {high:value}]",
        "outside_together": "{name} is wrong: no derivative there, and though each of its numbers may be a "
        "subgradient's, together they are none",
        "nobody_has_a_subgradient": "no derivative there, and {reference}'s own gradient is no subgradient either",
        "nonfinite_gradient": "{gradient:value}{index:if  at {index:shape}}, where {tensor} is {value:value}"
        "{derivative:if  and {derivative}}{born:if ; {born}}{safe:if ; {safe}}",
        "entry_is": "write {name}: {text}",
        "nan_value": _nan_value,
        "nonfinite_arises": "it arises in the gradient of {op}{entry:if  at {entry}}"
        "{argument:given , of {argument:value}}",
        "derivative_is": "the derivative{side:if  from the {side}} is {value:value}",
        "between_sides": "every number from {low:value} to {high:value} is a subgradient",
        "reference_wrong": "no failure, {reference} is wrong here: {what}",
        "by_ops_alone": "by its {ops:list} alone, where {what}",
        "repeats_reference": "it repeats a mistake of {reference}: {what}",
        "is_not_derivative": "{value:value} is no derivative here, which is {derivative:value}",
        "kink": "no derivative there, {jumps:if for the function jumps|and any of [{low:value}, {high:value}] is a "
        "subgradient}: {got} takes {got_value:value}, {want} {want_value:value}",
        "convention": "a difference of convention, not a failure: {kink}",
        "another_convention": "another convention at a kink: {kink}",
        "convention_at_first_kink": "a difference of convention, not a failure: first gradients have a kink there",
        "reverse_mode_of": "{engine}'s reverse mode",
        "forward_mode_of": "{engine}'s forward mode",
        "convention_of_tangents": "a difference of convention, not a failure: no derivative there along this direction",
        # Origins: words that name one, for its cause and its consequences
        "op_at": "{op} at {entry}",
        "op_inside": "{op} at {entry}, inside of {outer}",
        "tensor": "{name}",
        "incoming_at_root": "incoming gradient at the root",
        "step": "the step {name}",
        "the_backward_pass": "the backward pass",
        "outcome_of_step": "step {number}",
        "chance": "chance",
        "ops_of": "{engine}'s ops",
        # Faults: the sentence behind the colon
        "rule_fails": "its gradient rule raises an error",
        "it_raises": "raises an error",
        "its_gradient_is_wrong": "its gradient is wrong",
        "gradients_of_arguments_are_wrong": "{arguments:one gradient of its {arguments:ordinals} argument is|gradients "
        "of its {arguments:ordinals} arguments are} wrong",
        "shared_argument": "its gradient is wrong where two of its arguments are one and the same tensor; on "
        "tensors of their own it is right",
        "among_operations": _among_operations,
        "put_together_wrongly": _put_together_wrongly,
        "step_is_wrong": "is wrong{missing:if  ({missing})}; the {tensors:one formula|formulas} of {tensors:list} only "
        "because of it{beside:if  and of {beside:list}}",
        "its_jvp_is_wrong": "its Jacobian-vector product is wrong{reverse:if , though its gradient is right}",
        "tangents_go_wrong": lambda f: (
            "tangents go wrong here"
            + (f"; all {f['operations']} operations are right on their own" if f["operations"] else "")
        ),
        "not_cleared": "gradients are not cleared",
        "it_recurses": "it recurses",
        "goes_wrong_through_graph": "the operations are right; how gradients are put together is not",
        "not_the_same_twice": "the engine does not give the same answer twice",
        "change_arguments": "they change their arguments ({tensors:commas}) in place",
        "value_is_wrong": "its value is wrong, in the forward pass already",
        # Known failures
        "known_failure": "known: {file} has it",
        "known_no_more": "{claims:list} {claims:one fails|fail} no more, and {file} still has "
        "{claims:one it|them}; --update-baseline takes {claims:one it|them} out",
        "fails_until": "{reason} (until {until})",
        "holds_again": "{claims:list} {claims:one passes|pass}, though marked xfail",
        "fails_elsewhere": lambda found: (
            "marked xfail for certain claims alone, and fails elsewhere too: " + join_first(found["claims"], 5)
        ),
        "past_its_date": "marked xfail until {until}, which is past: {reason}",
        "has_drifted": "drift: {claim} agreed to {was:magnitude}, and now to {now:magnitude}",
        # Engines as a whole, and failures without a cause
        "recursion_engine": "the backward pass calls itself for every tensor that a gradient reaches; a long graph is "
        "deeper than Python's stack: walk it with a loop and a list",
        "not_deterministic_engine": "the same pass once more gives other gradients, or another error: something random "
        "decides, such as tensors told apart by random numbers, of which two may be the same",
        "rule_formula": "{formula}, for y = {graph}",
        "rule_is_not_linear": "twice the incoming gradient does not give twice the gradients, though a gradient is "
        "linear in it",
        "incoming_is_detached": "detached: the rule cannot be differentiated with respect to the incoming gradient",
        "inputs_mutated": "input mutated: after the run {tensors:commas} is not what the engine was given; an op "
        "writes its result into the memory of an argument",
        "no_explanation": "no known mistake explains it (some could not be tried: {error})",
        "nothing_explains_it": lambda found: (
            "no known mistake explains it; tried: " + ", ".join(kind.replace("_", " ") for kind in found["tried"])
        ),
        "small_graph_shows": "{evidence}; a tensor with three uses shows that it is not another",
        "not_traced": "not traced to its cause: {error}",
        "numbers_are_rounded": "the right numbers, rounded: tolerance: {{rtol: {rtol}}} allows for that",
        "did_you_mean": "did you mean  {formula} ?",
        "suggestion_proved": "proved for all values{sizes:one |, at {sizes} choices of sizes}{where:if , where "
        "{where:and}}",
        "suggestion_holds": "it holds at {points} point{points:s}",
        "none_found_near": "no small change mends it; the derived gradient is  {formula}",
        "derivative_derived": "no part of the derived one mends it, which is  {formula}",
        "not_searched_further": "not searched further; the derived gradient is  {formula}",
        "fails_at_ties": "it fails only where numbers tie, or at a kink{formula:if ; the derived gradient is  "
        "{formula}}",
        "these_numbers_only": "it holds at the file's own numbers; if it is meant for these alone, say "
        "generalize: false",
        "counterexample": lambda found: f"counterexample: {_example(found)}",
        "small_example": lambda found: f"in small numbers: {_example(found)}",
        "forward_raises": "the forward pass raises: {error}",
        "no_pass_completed": "no backward pass is completed",
        "pass_not_run": "the backward pass alone cannot be run",
        "formula_too_long": "a formula has {parts:,} parts; give parts of the graph names of their own",
        "derived_does_not_hold": "the derived gradient of {tensor} does not hold when it is read back",
        "derived_is_refuted": "the exact oracle refutes the derived gradient of {tensor}",
        "equals_derived": "equals the derived formula; not independent evidence",
    }
)
