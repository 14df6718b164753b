"""Phrases on engines and user code: properties, calls, behaviour."""

from __future__ import annotations

from gradcheck.facts import Fact
from gradcheck.reports.number_formats import format_number
from gradcheck.reports.phrases.phrase_table import add_phrases
from gradcheck.reports.safe_text import truncate_alike

#: Swapped ops whose names say too little.
_SWAPPED = {"sum": "a mean for a sum", "mean": "a sum for a mean"}
#: An entry of each graph whose growth is reported.
_ENTRIES = {"chain": "h = h * x", "diamonds": "h = h + h", "fan": "h = h + x"}
#: The ways to call code.
MANNERS = {
    "backward_again": "in a second backward pass over the same graph",
    "called_in_between": "where it is called again between its forward and its backward",
    "only_input": "where {detail} alone gets a gradient",
    "all_but_input": "where all inputs but {detail} get a gradient",
    "one_output": "where {detail} alone has an incoming gradient",
    "incoming_strided": "for an incoming gradient that is not contiguous",
    "incoming_expanded": "for an incoming gradient that is expanded, as that of a sum is",
    "incoming_rows": "for an incoming gradient whose rows are one, as that of a sum over them is",
    "inputs_strided": "for inputs that are not contiguous",
    "inputs_expanded": "for inputs that are expanded",
    "no_grad": "under no_grad",
    "no_gradients": "where no input gets a gradient",
    "apart": "where gradients are asked for by torch.autograd.grad, which accumulates none",
    "incoming_sliced": "for an incoming gradient that is a part of a larger one, as below a cat",
    "inputs_sliced": "for inputs that are a part of larger ones",
    "incoming_transposed": "for an incoming gradient that is the transpose of a contiguous tensor",
    "inputs_transposed": "for inputs that are transposes of contiguous tensors",
    "incoming_channels_last": "for an incoming gradient in torch.channels_last",
    "inputs_channels_last": "for inputs in torch.channels_last",
    "incoming_offset": "for an incoming gradient that does not start at the start of its storage, as `g[1:]`",
    "inputs_offset": "for inputs that do not start at the start of their storage, as `x[1:]`",
    "empty": "for tensors without elements ({detail} = 0)",
    "no_dimensions": "for tensors without dimensions",
    "forward_mode": "in forward mode (`jvp`), with respect to {detail},",
    "vmap": "under vmap, all arguments mapped over their first dimension",
    "vmap_last": "under vmap, all arguments mapped over their last dimension",
    "vmap_one": "under vmap, {detail} alone mapped over its first dimension",
}
#: The longest formula in a line of a report.
_MOST_SHOWN = 100


def _counted(found: Fact) -> str:
    """Return `4, 8, 12 entries h = h + h take 95, 1,510, 24,000 calls`."""
    nodes, calls = (", ".join(f"{number:,}" for number in listed) for listed in (found["nodes"], found["calls"]))
    return f"{nodes} entries `{_ENTRIES[found['graph']]}` take {calls} calls of functions"


def _manner(found: Fact) -> str:
    return MANNERS[found["manner"]].format(detail=found["detail"])


def _off(factor: float | None) -> str:
    """Return by which factor forward mode is off, or the factor's name."""
    if factor is None:
        return ""
    named = {0.0: ": nothing moves", -1.0: ": it has the wrong sign"}
    return named.get(factor, f": it is off by the factor {format_number('value', factor)}")


add_phrases(
    {
        "is_not_linear": "the gradient for 3 a - 2 b is not 3 times that for a - 2 times that for b",
        "does_not_accumulate": "two passes do not leave twice what one leaves",
        "zeroing_leaves_something": "a pass after zeroing does not leave what a first pass leaves",
        "values_changed": "the values of {tensor} are no longer what they were",
        "incoming_gradient_changed": "the incoming gradient is no longer what it was",
        "depends_on_order": "the gradient depends on which of two summands was made first",
        "wrong_through_nodes": "the gradient through {nodes:,} nodes is wrong",
        "cannot_be_asked": "it cannot be asked",
        "work_of_paths": lambda found: (
            f"every path through the graph is walked, of which there are 2^n: {_counted(found)}; what arrives is "
            "passed on before all has arrived"
        ),
        "work_grows_faster": lambda found: f"it is more than in proportion to the graph: {_counted(found)}",
        "wrong_after_uses": "the gradient of a tensor used {uses:,} times is wrong",
        "no_gradient_arrives": "no gradient arrives at {tensor}",
        "property_shapes_differ": "{what}: its shape is {got:shape}, expected {want:shape}",
        "property_numbers_differ": "{what}: {got:value}, expected {want:value}",
        "raised_of_kind": "{error}: {text}",
        # Conventions of Tensor classes
        "not_understood": "it is not understood, so nothing is checked: {why}. Tried were an incoming gradient as an "
        "argument (an array, one of its tensors), as the root's own gradient, and none; five lines can tell gradcheck "
        "how it is used: docs/your-engine.md, 'If your class is not understood'",
        "computes_in": "it computes in {dtype}, and is held to that",
        "mutates_arrays": "give backward() a Tensor: it changes an array in place",
        "totals_have_shape": "its single numbers have the shape {shape:shape}",
        "constants_are_tracked": "gradients flow only where both operands want one, so constants want one too",
        "keeps_no_intermediates": "it keeps no gradients of intermediates: those of inputs are compared",
        "equals_are_one": "equal expressions are one to it, and have one gradient: those of inputs are compared",
        "keeps_no_roots": "it keeps no gradient of the root",
        "sets_intermediates_anew": "each pass overwrites all gradients but those of leaves",
        "sets_roots_anew": "each pass overwrites the root's own gradient",
        "leaves_something": "a pass that raises leaves something behind, so cases after it are checked with its "
        "modules imported anew",
        "passes_run_by": "passes are run by {name}(), with which more is right than with {method}()",
        "keeps_no_graph": "a graph is good for one pass",
        "begins_anew": "each pass begins anew: gradients of earlier ones do not stay",
        "takes_no_incoming_gradient": "backward() takes no incoming gradient, so the root is multiplied by it first",
        "takes_another_subgradient": "{op} takes another subgradient than torch where there is no derivative",
        "old_names_given": lambda found: (
            "it is written for an older NumPy, so gradcheck restores removed names such as np." + found["names"][0]
        ),
        "stood_in_for": lambda found: (
            f"{', '.join(found['modules'])}: not installed, so nothing is drawn, shown, read or checked with it"
        ),
        "numpy_stood_in_for": "{module} is not installed: NumPy stands in for it",
        "not_compiled": "Numba's functions run without compilation; {variable}=0 compiles them",
        # Failures that are not the class's own
        "right_on_the_bare_graph": "not understood: it is right where the graph runs with its leaves alone",
        "made_of_others": "it has no such op; what stands in its place is made of ops that are right alone",
        "incoming_cannot_be_given": "no incoming gradient can be given: a root times one is wrong already",
        # Mutants, and where they are
        "rule_negated": "negated",
        "rule_scaled": "factor",
        "rule_zeroed": "zero",
        "rule_transposed": "transposed",
        "rule_one_element_off": "one element off",
        "rule_not_summed": "broadcast not summed",
        "rule_mean_for_sum": "mean for sum",
        "use_lost": "a use lost",
        "use_doubled": "a use twice",
        "uses_overwritten": "uses overwritten",
        "passes_overwritten": "passes overwritten",
        "sign_changed": "a sign",
        "factor_added": "a factor of {factor:value}",
        "transpose_added": "a transpose added",
        "transpose_removed": "a transpose removed",
        "op_swapped": lambda found: _SWAPPED.get(found["old"], f"{found['new']} for {found['old']}"),
        "term_dropped": "a term dropped",
        "factors_exchanged": "factors exchanged",
        "power_changed": "another power",
        "size_changed": "another size",
        "dimension_changed": "another dimension",
        "in_rule": "the rule of {op} for '{argument}'",
        "in_uses": "{op:if a result of {op}|a leaf} of shape {shape:shape}, used {count} times",
        "in_second_pass": "gradients of a second backward pass",
        "in_formula": "the formula for {tensor}: {formula}",
        "in_step": "the step {name}: {formula}",
        "arguments_bound": "called with ({arguments:commas}), {how}",
        "parameters_unchecked": "its own {names:commas} {names:one stands|stand} for nothing in the case, and the "
        "gradient{names:one  there is|s there are} unchecked",
        "conjugated_for_torch": "the rule multiplies by the conjugate of the derivative, as torch's convention asks; "
        "in {library} the incoming gradient is multiplied by the derivative itself (2 * z * g for z ** 2)",
        "once_differentiable": "it says itself that it is differentiable once: second order is not asked for",
        "results_constant": "{names:commas} requires no gradient, and is taken as constant",
        "gradients_differentiable_once": "its gradient for {names:commas} cannot be differentiated again: there is no "
        "second order to check",
        "gradients_unrecorded": "its backward records no graph for {names:commas}: there is no second order to check, "
        "and torch takes such a gradient as constant, unless the backward is marked @once_differentiable",
        "narrower_domain": lambda found: (
            f"it {'raises' if found['text'] else 'keeps the given size of ' + found['kept']} at {found['count']} of "
            f"the points that were drawn, and is not checked there{': ' + found['text'] if found['text'] else ''}"
            + (f", first at {', '.join(found['sizes'])}" if found["sizes"] else "")
        ),
        "jacobian_itself": "the incoming gradient is multiplied by the Jacobian itself, where its {adjoint} belongs",
        "wrong_sum": "a sum of the incoming gradient over {dim} is wrong or missing, and all else is right",
        "saved_intermediate": "an intermediate was saved instead of an input: forward keeps {names:commas}, which it "
        "computed itself, and torch takes that as constant in a second derivative. Save arguments or results, and "
        "compute it from them in backward; order: 1 checks the first order alone",
        "returned_is_summed": "backward returned shape {got:shape} for {name} of shape {want:shape}; "
        "torch sums it over {axes:axes}",
        "returned_is_right": "summed once too often: backward returned shape {got:shape}, which torch sums over "
        "{axes:axes}, but each slice of it is the whole gradient already",
        "wider_dtype": "it computes in {dtypes:commas}, which is more precise than what it is given",
        "judged_in_single": "it raises in double precision (jax_enable_x64), and is held to that of float32",
        "judged_in_autocast": "it runs under torch.autocast, and is held to the precision of {dtype}",
        "aliases_argument": "what it returns shares memory with an argument: an in-place change of one changes both",
        "nondeterministic": "asked again it differs by {size:magnitude}, which is rounding",
        "not_the_same_again": "the function itself varies from call to call, by {size:magnitude}: {engine} "
        "keeps state, or draws from a generator of its own (the global ones of torch, NumPy and Python are restored)",
        "not_written": "{engine} never writes some elements of {names:commas}: they hold what torch.empty found in "
        "memory",
        "incoming_changed": "{engine} changes its incoming gradient in place",
        "argument_changed": "{engine} changes its argument {name} in place",
        "refuses": lambda found: f"{_manner(found)} {found['text']}",
        "otherwise": lambda found: f"the {found['what']} of {found['tensor']} is wrong {_manner(found)}",
        "jvp_wrong": lambda found: (
            f"forward mode (`jvp`) is wrong with respect to {found['tensor']}: along a direction the results change by "
            f"{format_number('value', found['got'])}, by the gradient, which is right, by "
            f"{format_number('value', found['want'])}{_off(found['factor'])}"
        ),
        "keeps_state": "it keeps what its backward needs in itself: each call is pulled back before the next",
        "refuses_integers": "it refuses integers, which its entry takes",
        "integers_otherwise": "given integers it computes something else than its entry: they stay integers on the way",
        "overflows_far": "{engine} overflows for numbers about {size:whole}, where its entry does not",
        "functions_replaced": "it puts something else in place of {names:commas}, which is undone",
        "rules_right": "its own {rules:commas} {rules:one is|are} right",
        "inside_the_graph": "inside the whole graph, with the case's own passes; alone it is right",
        "along_a_direction": "it is not what the results change by, moved at random",
        "along_all_together": "where {names:commas} move together it is not what the results change by, though each "
        "alone is: what each gets of a tie adds up to another total",
        "nothing_compared": "nothing is compared: {engine} has no gradient with elements and a finite result anywhere",
        "less_precise": "{engine} computes in less precision than {dtype} has: what it returns does not answer to "
        "changes that {dtype} sees",
        "rounded_operand": "the gradient of {name} is off by {size:magnitude}, where its largest is "
        "{largest:magnitude}: {name} is {own}, but its gradient is as rough as {dtype}, and nothing in the forward is",
        "between_the_sides": "no derivative there, and {engine} stays between the two sides",
        "undefined_at_kink": "no derivative there, and {engine} has no number for it",
        "differences_bar": "differences are known to {error:magnitude} there",
        "forward_not_followed": "torch does not follow its forward everywhere: differences decide",
        "inside_entry": "{where}: {what}",
        "part_not_there": "what flows through {where} is missing",
        "part_negated": "what flows through {where} has the wrong sign",
        "part_scaled": "what flows through {where} comes with the factor {factor:value}",
        "other_formula": lambda found: (
            "computed as {} where {} belongs".format(*truncate_alike(found["wrong"], found["right"], _MOST_SHOWN))
            + (f", in {found['formula']}" if _MOST_SHOWN >= len(found["formula"]) > len(found["wrong"]) else "")
        ),
        "derivative_of_another": "computed as the derivative of {wrong}, where that of {right} belongs",
        "divided_by": "divided by {got} where {want} belongs",
        "not_divided_by": "not divided by {want}",
        "divided_too_often": "divided by {got}, which does not belong",
        "slices_elsewhere": "the right slices along dim {dim} in another order",
        "numbers_elsewhere": "the right numbers at other places",
        "moved_along": lambda found: "moved along the last dims by " + " and ".join(map(str, found["by"])),
        "cut_out_of": "the right gradient stands in a larger one, at its {where}: it is not cut out",
        "whole_to_each_of_equals": "each of several equal numbers gets the whole gradient, and together they may "
        "get it once: choose one, or divide by how many there are",
        "nothing_in_a_part": "right in a part, and zero in the rest",
        "not_stopped_in_a_part": "right in a part, and in the rest, where it is zero, something arrives",
        "on_the_other_side": "a mask the other way round: zero where something belongs, something where zero does",
        "factor_in_a_part": "right in a part, and in the rest off by the factor {factor:value}",
        "signs_in_a_part": "right in size everywhere, and in a part of the wrong sign",
        "comes_with_factor": "off by a factor that is no constant: {factor}",
        "slices_overwritten": "the contributions of the slices of {tensor} along dim {dim} replace each other",
        "slices_left_out": "the slices {places:ranges} of {tensor} along dim {dim} are left out",
        "nested_overwritten": "contributions along dims {dims:commas} of {tensor} replace each other: the last is left",
        "windows_overwritten": "contributions of windows along dims {dims:commas} of {tensor} replace each other where "
        "they overlap",
        "slices_apart": "each slice along dim {own} has what arrives from the same slice of {tensor} along dim {dim} "
        "alone: paths between slices are dropped",
        "wrong_slices": "right but in the slices {places:ranges} along dim {dim}",
        "wrong_border": "right inside, and wrong at the border along dim {dim}",
        "result_with_factor": "what arrives from {tensor} comes with the factor {factor:value}",
        "computed_without": "the terms with {tensor} are missing: this is the gradient for 0 in its place",
        "incoming_of_one_ignored": "the incoming gradient of {tensor} is ignored",
        "slice_left_out": "the {which} slice of {tensor} along dim {dim} is left out",
        "slice_alone": "the {which} slice of {tensor} along dim {dim} alone is counted",
        "computed_with": "computed with {tensor}",
        "second_detached": "detached: what its backward has for {gradient} is not recorded as depending on {tensor}, "
        "as if it were computed of a detached tensor, or under no_grad",
        "rounding_alone": "{engine} has no digit there: inputs moved by a unit in the last place move its gradient by "
        "{size:magnitude}",
        "own_rounding": "{engine} rounds more than its entry: by up to {size:magnitude}, as inputs moved a little show",
    }
)
