"""Phrases on engines: their properties, conventions, and planted faults."""

from __future__ import annotations

from gradcheck.facts import Fact
from gradcheck.reports.phrases.phrase_table import add_phrases

#: Swapped ops whose names say too little.
_SWAPPED = {"sum": "a mean for a sum", "mean": "a sum for a mean"}
#: An entry of each graph whose growth is reported.
_ENTRIES = {"chain": "h = h * x", "diamonds": "h = h + h", "fan": "h = h + x"}


def _counted(found: Fact) -> str:
    """Return `4, 8, 12 entries h = h + h take 95, 1,510, 24,000 calls`."""
    nodes, calls = (", ".join(f"{number:,}" for number in listed) for listed in (found["nodes"], found["calls"]))
    return f"{nodes} entries `{_ENTRIES[found['graph']]}` take {calls} calls of functions"


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
    }
)
