"""Phrases on diagnoses: mistakes that explain a wrong gradient."""

from __future__ import annotations

from gradcheck.checks.failures.mistakes import MEANINGS as MEANINGS
from gradcheck.facts import Fact
from gradcheck.reports.number_formats import format_number
from gradcheck.reports.phrases.phrase_table import add_phrases, join_names, say

#: What comes of an op's rule without the term that centres it.
_CENTRED = {
    "softmax": "y * g, where y * (g - (y * g).sum()) belongs",
    "softmin": "-y * g, where -y * (g - (y * g).sum()) belongs",
    "log_softmax": "g, where g - softmax(x) * g.sum() belongs",
    "var": "x, where x - x.mean() belongs",
    "std": "x, where x - x.mean() belongs",
}
_ROUNDED = {"trunc": "cut off", "floor": "rounded down", "rint": "rounded"}


def _in_sizes(found: Fact) -> str:
    """Return `off by the factor sqrt(d)`, `off by the factor n / m`."""
    number, powers = abs(found["number"]), found["powers"]
    above = [_power(word, power) for word, power in powers if power > 0]
    below = [_power(word, -power) for word, power in powers if power < 0]
    (above if number > 1 else below).insert(0, format_number("value", max(number, 1 / number)))
    top, bottom = (" * ".join(part for part in side if part != "1") for side in (above, below))
    bottom = f"({bottom})" if " " in bottom else bottom
    sign = "-" if found["number"] < 0 else ""
    return f"off by the factor {sign}{top or '1'}{f' / {bottom}' if bottom else ''}"


def _missing(found: Fact) -> str:
    """Return `missing / n`, if it is n times too large."""
    factors = (f"{'/' if power > 0 else '*'} {_power(word, abs(power))}" for word, power in found["powers"])
    return f"missing {' '.join(factors)}"


def _raised(tensor: str, power: int) -> str:
    """Return a power of an expression, in brackets where it needs them."""
    base = tensor if power == 1 or set(tensor).isdisjoint(" ") or tensor.endswith(")") else f"({tensor})"
    return f"1 / {base}" if power == -1 else f"{base}{'' if power == 1 else f' ** {power}'}"


def _power(word: str, power: float) -> str:
    return word if power == 1 else f"sqrt({word})" if power == 0.5 else f"{word} ** {format_number('value', power)}"


def _at(found: Fact) -> str:
    """Return where a derivative is wrong: in rows, in columns, at entries."""
    for places, one, several in (
        (found["rows"], "in row", "in rows"),
        (found["columns"], "in column", "in columns"),
        (found["entries"], "at entry", "at entries"),
    ):
        if places:
            listed = tuple(str(list(place)) if isinstance(place, tuple) else str(place) for place in places)
            return f"{one if len(listed) == 1 else several} {join_names(listed)}"
    return "at some entries"


def _factor(factor: str | float | complex) -> str:
    """Return a well-known factor by its name, another by its digits."""
    if isinstance(factor, str):
        return factor
    text = format_number("value" if isinstance(factor, complex) else "factor", factor)
    if text != "1":
        return text
    off = factor - 1  # as of an iteration that has not converged
    return f"1 {'-' if off.real < 0 else '+'} {format_number('gap', abs(off))}"


add_phrases(
    {
        # Jacobians and Hessians
        "derivative_transposed": "transposed: {term} has a row for each element of what is differentiated "
        "(numerator layout)",
        "derivative_layout": "the indices in another order: in {term}, those of what is differentiated come first "
        "(numerator layout)",
        "derivative_permuted": "the indices in another order: it is the right one permuted by {order:axes}",
        "derivative_reshaped": "the right entries, reshaped",
        "jvp_for_vjp": "J @ g where J.T @ g belongs: rmatvec multiplies by the Jacobian itself",
        "diagonal_alone": "the diagonal alone: the entries beside it are missing",
        "diagonal_missing": "the diagonal is missing, the entries beside it are right",
        "diagonal_wrong": "wrong on the diagonal alone: the entries beside it are right",
        "diagonal_as_vector": "the diagonal as a vector: diag(…) makes the matrix of it",
        "integers_in_claim": "{parts:and} holds integers, which no product takes beside floating numbers",
        "identity_missing": "one term is missing: the identity, eye(…)",
        "number_for_identity": "a number is added to all entries, where the identity times it belongs, eye(…)",
        "block_alone": "one block alone: it belongs where the indices of {order:axes} are equal, and 0 elsewhere",
        "blocks_without_axis": "the blocks alone: they belong where the indices of {order:axes} are equal, and 0 "
        "elsewhere",
        "blocks_everywhere": "right where the indices of {order:axes} are equal, not 0 elsewhere: eye(…) is missing",
        "block_diagonal_alone": "the entries at which the indices of {order:axes} differ are missing",
        "rows_summed": "summed over what is differentiated: {term} has a row for each element of it",
        "columns_summed": "summed over the elements by which it is differentiated: {term} has a column for each",
        "entries_missing": "0 stands {at} instead of what belongs there",
        "entries_negated": "the sign is wrong {at}",
        "is_the_value": "it is {tensor} itself, not its derivative",
        "chain_stops": "it is {term}: the factor {factor} of the chain rule is missing",
        "triangle_alone": "the {side} triangle alone",
        "derivative_inverted": "the inverse of what is right: the Jacobian of the inverse function",
        "derivative_factor": lambda f: f"off by the factor {_raised(f['tensor'], f['power'])}",
        "entries_somewhere": _at,
        "lines_permuted": lambda f: (
            f"the {f['lines']} stand in another order: {join_names(tuple(map(str, f['order'])))}"
        ),
        "entries_scaled": "off by the factor {factor:value} {at}",
        "derivative_constant": "off by the factor {factor:value}",
        "term_missing": "one term is missing: {term}",
        "term_scaled": "one term has the factor {count:value}: {term}",
        "terms_missing": "terms are missing: {terms:and}",
        "no_mask": lambda f: (
            f"a {'mask' if f['value'] == '0' else 'case'} is missing: {f['value']} belongs "
            f"{'where' if f['is_there'] else 'except where'} {f['condition']}"
        ),
        "term_of_other_sign": "one term has the wrong sign: {term}",
        "extra_term": "one term is too much: {term}",
        "no_factor": "the factor {factor} is missing",
        "no_divisor": "the division by {factor} is missing",
        "extra_factor": "the factor {factor} is too much",
        "extra_divisor": "the division by {factor} is too much",
        "other_dim": "{op} goes over dim {got}, where dim {want} belongs",
        "part_exchanged": "{got} stands where {want} belongs",
        "parts_swapped": "{one} and {other} stand in each other's place",
        "two_causes": "{one}; {other}",
        "no_keepdim": "{op} lacks keepdim=True",
        "extra_keepdim": "{op} has keepdim=True, where none belongs",
        "softmax_diagonal": "{op}'s Jacobian is taken as its diagonal: the sum over the other elements is missing",
        "factors_swapped": "the factors of {got} are in the other order: {want} belongs",
        "part_of_other_sign": "{got} has the wrong sign: {want} belongs",
        "part_transposed": "{got} is not transposed: {want} belongs",
        "transpose_term_missing": "one of two terms is missing: with its own transpose added it is right",
        "transpose_term_added": "its own transpose is added, which does not belong there",
        "outer_product_of_gradients": "the outer product of the gradients, which is no Hessian",
        "gauss_newton": "Gauss-Newton's approximation: it keeps the curvature of {of} by {inner}, and leaves out that "
        "of {inner} by {by}",
        # Any diagnosis
        "perhaps": "perhaps: {what}",
        "computed_at_points": "computed, this mistake gives what came out, at {points} point{points:s}",
        # Accumulation of contributions
        "mutated_incoming": "mutated: the incoming gradient itself has changed during the pass; it is added to in "
        "place, in an array that it shares with other gradients",
        "mutated_shared": "mutated: it is the gradient that {tensor} has, as if the two shared one array that is added "
        "to in place",
        "stale_kept": "stale: what an earlier pass left is still there, it was not cleared",
        "stale_again": "stale: an earlier pass's gradient takes part again, it was not cleared or was passed on a "
        "second time",
        "stale_unchanged": "stale: the tensor holds what an earlier pass left, nothing new",
        "overwritten_by_pass": "accumulated by overwriting: each pass replaces the gradient of those before, to which "
        "it should be added",
        "index_assigned": "accumulated by overwriting: where the index names an element twice, only its last gradient "
        "has arrived, as if it were assigned and not added",
        "only_use_arrived": "accumulated by overwriting: of its {uses} uses only the one in {use} has arrived",
        "use_not_arrived": "a use is dropped: of its {uses} uses the one in {use} has not arrived",
        "two_uses_not_arrived": "uses are dropped: of its {uses} uses those in {one} and {other} have not arrived",
        "use_counted_twice": "counted twice: its use in {use} contributes a second time",
        "all_but_one_counted_twice": "counted twice: every use but the one in {use} contributes a second time",
        "uses_counted_twice": "counted twice: {uses:one its only use|every use} contributes a second time",
        "passed_on_too_early": lambda found: (
            "passed on too early, before all children had reported: " + "; ".join(map(say, found["parts"]))
        ),
        "passed_on_when": "{name} passed on its gradient when only {reported:and} had reported",
        "passed_on_each_time": "{name} passed on what it had whenever a contribution arrived, {first} first",
        "goes_from_leaves": "the pass goes from the leaves to the root, so only the last op's operands get gradients: "
        "reverse the topological order",
        "passed_on_each_arrival": "passed on too early: whenever something arrives at a tensor, all that has arrived "
        "there by then is passed on, again and again",
        "passed_on_when_first_met": "passed on too early: a tensor passes on what it has when it is first met, and "
        "what arrives later stays there",
        "passed_on_once_for_each": "counted twice: a tensor passes its whole gradient on once for everything that has "
        "arrived there, not once",
        "counted_twice_everywhere": "counted twice: everything that arrives at a tensor is added a second time",
        "all_come_out_twice": "counted twice: every gradient is kept twice and passed on once, or the incoming one "
        "begins as twice what it is",
        "later_ones_counted_twice": "counted twice: what arrives at a tensor after the first is added a second time",
        "shown_by_small_graph": "two small graphs show it: this pass gives what came out there, at 3 points",
        "stale_after_zeroing": "stale: what is to be forgotten between two passes is still there in the second",
        "shown_by_property": "'{name}' fails, and gradients add up without it",
        "stale_everywhere": "stale: what earlier passes have left in intermediate tensors is passed on again",
        "op_assigns": "accumulated by overwriting: {op} assigns a gradient where it should add to it",
        "lost_beside_others": "a gradient that was there before the op's pass is gone, and other ops keep theirs",
        "overwritten_everywhere": "accumulated by overwriting: what arrives at a tensor replaces what has arrived "
        "there",
        "passed_on_array_shared": "mutated: gradients are added up in place, in arrays that several tensors share",
        "result_of": "the result of {op} at {entry}",
        "gradient_of_another": "mixed up: this is the gradient of {tensor}",
        "value_of_another": "mixed up: this is the value of {tensor}",
        "operands_exchanged": "the operands are swapped: this is the op's value with the two exchanged",
        "gradient_of_another_added": "mixed up: the gradient of {tensor} is added to it, as if the two were one tensor "
        "or shared one array",
        "nothing_arrives": "detached: no gradient arrives, from any of its uses",
        "nothing_passed_on": "detached: {op} passes no gradient on to this tensor",
        # Paths of the graph
        "path": "`{entry}`",
        "path_use": "{op} at `{entry}` (use {number} of {count})",
        "path_by_way_of": "`{entry}` (by way of `{above}`)",
        "path_not_there": "the path through {path} is dropped",
        "path_counted_twice": "the path through {path} is counted twice",
        "path_alone_there": "only the path through {path} is there",
        "path_for_another": "the path through {got} stands where that through {want} belongs",
        "path_sign": "the sign of the path through {path} is wrong",
        # Sums
        "broadcast_kept": "the broadcast is not undone: the sum over {axes:axes} of the incoming gradient's shape is "
        "missing",
        "broadcast_refused": "the broadcast is not undone: a gradient comes in the shape {got:shape} of the result, "
        "which does not fit its argument of shape {want:shape}, and that is what is raised",
        "right_without_broadcasting": "with arguments of the result's shape the same rule raises nothing and is right",
        "sum_reaches_other": "a pass from the sum of its result and another tensor reaches that tensor alone",
        "right_for_matrices_alone": "the rule is right for matrices alone, and not for operands of shapes "
        "{shapes:shapes}",
        "right_with_squares": "with square matrices of size {size} the same rule raises nothing and is right",
        "shown_by_squares": "with square matrices of size {size} nothing is raised, and this mistake gives what "
        "comes out",
        "broadcast_partly_kept": "the broadcast is only partly undone: the sum over {axes:axes} is missing",
        "broadcast_summed_elsewhere": "the broadcast is undone along another axis: the sum is over axis {axis}, where "
        "{axes:axes} belongs",
        "broadcast_one_taken": "the broadcast is not undone: only the {place:if last|first} of {axes:axes} is taken, "
        "where they should be summed",
        "sum_missing": "the broadcast is not undone: the sum over {axes:axes} is missing",
        "summed_over": "it is summed over {axes:axes}, where it should not be",
        "summed_and_spread": "it is summed over {axes:axes}, where it should not be, and spread out again",
        "averaged_over": "it is averaged over {axes:axes}, where it should not be",
        # One op's rule
        "no_centring_term": lambda found: f"{found['op']} without its centring term: {_CENTRED[found['op']]}",
        "layer_norm_constants": "layer_norm as if mean and variance were constants",
        "layer_norm_constant": "layer_norm without the term by which the {statistic} depends on x",
        "incoming_is_ignored": "the incoming gradient is ignored: this is what comes of {instead}",
        "ones_in_its_place": "ones in its place",
        "ones_for": "ones in place of the gradient of {tensor}",
        "incoming_is_passed_on": "the incoming gradient is passed on as it is, without the op's derivative",
        "incoming_is_spread": "the incoming gradient is passed on to every element, without the op's derivative",
        "value_for_derivative": "the value of {op} stands where its derivative belongs: incoming gradient times "
        "{op}'s result",
        "value_alone": "it is the value of {op}, where its derivative belongs",
        "gradient_of_other_tensor": "this is the gradient of the op's {got:ordinal} tensor, in place of that of its "
        "{want:ordinal}",
        "arguments_swapped": "the arguments are swapped: this is what comes of {one:ordinal} and {other:ordinal} "
        "exchanged{gradients:if , and the two gradients too}",
        "tensor_transposed": "the op's {position:ordinal} tensor is transposed where it should not be, or the reverse",
        "incoming_transposed": "the incoming gradient is transposed",
        "tensor_reshaped": "the op's {position:ordinal} tensor is reshaped where it should be transposed: its elements "
        "are mixed",
        "incoming_reshaped": "the incoming gradient is reshaped where it should be transposed: its elements are mixed",
        "factors_in_wrong_order": "the two factors are in the wrong order",
        "result_for_tensor": "computed with the op's result in place of its {position:ordinal} tensor, as if that was "
        "overwritten",
        "incoming_for_tensor": "computed with the incoming gradient in place of the op's {position:ordinal} tensor",
        "zeros_for_tensor": "computed with zeros in place of the op's {position:ordinal} tensor: the saved value was "
        "cleared",
        "is_conjugate": "it is the complex conjugate of what is right (torch's gradient is that of the conjugate "
        "variable)",
        "derivative_not_conjugated": "the derivative is not conjugated, as torch's convention asks for",
        "index_off_by_one": "off by one: the index in argument {argument:number} is one too {step:one large|small}",
        # Right numbers in other places
        "is_transpose": lambda found: (
            "it is the transpose of what is right" + (" in its last two axes" if found["ndim"] > 2 else "")
        ),
        "axes_permuted": "the axes are permuted: it is what is right with permute{order}",
        "back_to_front": "it is back to front{axis:given  along axis {axis}}",
        "matrices_back_to_front": "it is back to front along both of its last axes",
        "back_to_front_everywhere": "it is back to front along every axis",
        "one_place_off": "off by one: it is what is right, one place {step:one further|back}{axis:given  along axis "
        "{axis}}{zeros:if , with zeros following}",
        "only_shape_wrong": "the numbers are right, the shape is not: {got:shape} for {want:shape}",
        "order_of_transpose": "the numbers are right, but in the order of the transpose: a reshape in place of a "
        "transpose, or the reverse",
        "transposed_not_reshaped": "the numbers are right, but transposed where they should be reshaped",
        # Size and precision
        "wrong_sign": "the sign is wrong: it is -1 times what is right",
        "off_by_factor": lambda found: f"off by the constant factor {_factor(found['factor'])}",
        "off_by_rounded_number": lambda found: (
            f"off by the constant factor {_factor(found['factor'])}, as if a number were rounded to {found['dtype']}"
        ),
        "off_by_sizes": _in_sizes,
        "factor_missing": _missing,
        "off_by_count": "off by the constant factor {factor}, where {n} is {count}",
        "elements_of": "the number of elements{of_result:if  of the result}",
        "size_of_axis": "the size of axis {axis}{of_result:if  of the result}",
        "elements_but_for_axis": "the number of elements{of_result:if  of the result} but for axis {axis}",
        "mean_of_added": "a mean for a sum: 1/{n} of what is right, where {n} is how many numbers {op} adds up",
        "mean_of_broadcast": "a mean for a sum: 1/{n} of what is right, where {n} is how many numbers one element of "
        "the argument was broadcast to",
        "dtype_is": "its dtype is {got}, where it should be {want}",
        "computed_in_dtype": "computed in {dtype}: the error is that of {dtype}{exact:if , and every element is a "
        "number of {dtype}}",
        "rounded_to_integers": lambda found: (
            f"it is {_ROUNDED[found['how']]} to integers"
            + (f" (its dtype is {found['dtype']})" if found["dtype"] else "")
        ),
        "argument_truncated": "tensor {position:number} of the op is cut off to integers before it is used",
        "incoming_truncated": "the incoming gradient is cut off to integers before it is used",
        "nan_appears": "{is_nan:if NaN|infinity} appears here{index:if  at {index:shape}}, and in no gradient that it "
        "depends on",
        "nan_of_rule": "{is_nan:if NaN|infinity} is born in the gradient of {op}{index:if  at {index:shape}}"
        "{argument:given , where its argument is {argument:value}}",
    }
)
