"""In words: why a gradient is wrong: mistakes that were recognised."""

from __future__ import annotations

from gradcheck.facts import Fact
from gradcheck.reports.phrases.table import named, phrases, say
from gradcheck.reports.text import count, ordinal

#: What each kind of diagnosis means, as `docs/diagnoses.md` lists it.
MEANINGS = {
    "mutated": "an array is changed in place while others still use it",
    "stale": "what an earlier pass left behind takes part again",
    "detached": "nothing arrives",
    "overwritten": "contributions replace each other where they should add up",
    "use_dropped": "the contribution of one use is missing",
    "counted_twice": "the contribution of one use is added twice",
    "passed_on_early": "a tensor passes its gradient on before all of its children have reported",
    "path_dropped": "a path of the graph is left out",
    "sign": "the sign is wrong",
    "mean_for_sum": "averaged over what should be summed",
    "incoming_ignored": "the incoming gradient plays no part",
    "forward_value": "the op's value stands where its derivative belongs",
    "no_centring": "the term that centres the gradient is missing",
    "swapped": "arguments are swapped, or two gradients are",
    "transposed": "transposed",
    "operand_transposed": "computed with a factor that is transposed, or is not where it should be",
    "conjugate": "the complex conjugate",
    "flipped": "back to front along an axis",
    "off_by_one": "one place further along an axis, or at an index that is off by one",
    "incoming_passed_on": "the incoming gradient is passed on as it is",
    "mixed_up": "the gradient of another tensor stands here, or has been added",
    "permuted": "the axes are in another order",
    "reshaped": "the right numbers in another shape or order",
    "broadcast_not_undone": "not summed over the axes along which the argument was broadcast",
    "summed": "summed over an axis where it should not be",
    "saved_value": "computed from an argument that has been overwritten, or from the result instead of it",
    "truncated": "rounded to integers on the way",
    "dtype": "computed in a lower precision",
    "nan": "NaN appears where the gradient is finite",
    "factor": "off by a constant factor",
    "not_deterministic": "the same pass gives other gradients each time",
    "input_mutated": "an op changes its arguments",
    "recursion": "the backward pass calls itself, and long graphs are too deep for that",
}

# Of any diagnosis.
phrases(
    {
        "perhaps": "perhaps: {what}",
        "computed_at_points": lambda found: (
            "computed, this mistake gives what came out, at " + count(found["points"], "point")
        ),
    }
)


# How contributions are put together ------------------------------------------------------------------


def _uses_counted_twice(found: Fact) -> str:
    what = "its only use" if found["uses"] == 1 else "every use"
    return f"counted twice: {what} contributes a second time"


def _passed_on_too_early(found: Fact) -> str:
    return "passed on too early, before all children had reported: " + "; ".join(map(say, found["parts"]))


def _passed_on_when(found: Fact) -> str:
    reported = " and ".join(map(named, found["reported"]))
    return f"{named(found['name'])} passed on its gradient when only {reported} had reported"


phrases(
    {
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
        "only_use_arrived": ("accumulated by overwriting: of its {uses} uses only the one in {use} has arrived"),
        "use_not_arrived": "a use is dropped: of its {uses} uses the one in {use} has not arrived",
        "two_uses_not_arrived": ("uses are dropped: of its {uses} uses those in {one} and {other} have not arrived"),
        "use_counted_twice": "counted twice: its use in {use} contributes a second time",
        "uses_counted_twice": _uses_counted_twice,
        "passed_on_too_early": _passed_on_too_early,
        "passed_on_when": _passed_on_when,
        "passed_on_each_time": "{name} passed on what it had whenever a contribution arrived, {first} first",
        "result_of": "the result of {op} at {entry}",
        "gradient_of_another": "mixed up: this is the gradient of {tensor}",
        "gradient_of_another_added": "mixed up: the gradient of {tensor} is added to it, as if the two were one tensor "
        "or shared one array",
        "nothing_arrives": "detached: no gradient arrives, from any of its uses",
        "nothing_passed_on": "detached: {op} passes no gradient on to this tensor",
    }
)

# Paths of the graph.
phrases(
    {
        "path": "`{entry}`",
        "path_use": "{op} at `{entry}` (use {number} of {count})",
        "path_by_way_of": "`{entry}` (by way of `{above}`)",
        "path_not_there": "the path through {path} is dropped",
        "path_counted_twice": "the path through {path} is counted twice",
        "path_alone_there": "only the path through {path} is there",
        "path_sign": "the sign of the path through {path} is wrong",
    }
)


# What is summed --------------------------------------------------------------------------------------


def _axes(found: Fact) -> str:
    """`axis 0`, `axes 0, 1 and 2`."""
    *first, last = map(str, found["axes"])
    return f"axes {', '.join(first)} and {last}" if first else f"axis {last}"


def _broadcast_one_taken(found: Fact) -> str:
    which = "last" if found["place"] else "first"
    return f"the broadcast is not undone: only the {which} of {_axes(found)} is taken, where they should be summed"


phrases(
    {
        "broadcast_kept": lambda found: (
            f"the broadcast is not undone: the sum over {_axes(found)} of the incoming gradient's shape is missing"
        ),
        "broadcast_partly_kept": lambda found: (
            f"the broadcast is only partly undone: the sum over {_axes(found)} is missing"
        ),
        "broadcast_one_taken": _broadcast_one_taken,
        "sum_missing": lambda found: f"the broadcast is not undone: the sum over {_axes(found)} is missing",
        "summed_over": lambda found: f"it is summed over {_axes(found)}, where it should not be",
        "summed_and_spread": lambda found: (
            f"it is summed over {_axes(found)}, where it should not be, and spread out again"
        ),
        "averaged_over": lambda found: f"it is averaged over {_axes(found)}, where it should not be",
    }
)


# One op's rule ---------------------------------------------------------------------------------------

_CENTRED = {
    "softmax": "y * g, where y * (g - (y * g).sum()) belongs",
    "softmin": "-y * g, where -y * (g - (y * g).sum()) belongs",
    "log_softmax": "g, where g - softmax(x) * g.sum() belongs",
    "var": "x, where x - x.mean() belongs",
    "std": "x, where x - x.mean() belongs",
}


def _gradient_of_other_tensor(found: Fact) -> str:
    got, want = ordinal(found["got"]), ordinal(found["want"])
    return f"this is the gradient of the op's {got} tensor, in place of that of its {want}"


def _arguments_swapped(found: Fact) -> str:
    one, other = ordinal(found["one"]), ordinal(found["other"])
    gradients = ", and the two gradients too" if found["gradients"] else ""
    return f"the arguments are swapped: this is what comes of {one} and {other} exchanged{gradients}"


def _index_off_by_one(found: Fact) -> str:
    size = "large" if found["step"] == 1 else "small"
    return f"off by one: the index in argument {found['argument'] + 1} is one too {size}"


def _tensor(found: Fact) -> str:
    return f"the op's {ordinal(found['position'])} tensor"


phrases(
    {
        "no_centring_term": lambda found: f"{found['op']} without its centring term: {_CENTRED[found['op']]}",
        "layer_norm_constants": "layer_norm as if mean and variance were constants",
        "layer_norm_constant": "layer_norm without the term by which the {statistic} depends on x",
        "incoming_is_ignored": lambda found: (
            "the incoming gradient is ignored: this is what comes of " + say(found["instead"])
        ),
        "ones_in_its_place": "ones in its place",
        "ones_for": "ones in place of the gradient of {tensor}",
        "incoming_is_passed_on": "the incoming gradient is passed on as it is, without the op's derivative",
        "value_for_derivative": "the value of {op} stands where its derivative belongs: incoming gradient times "
        "{op}'s result",
        "value_alone": "it is the value of {op}, where its derivative belongs",
        "gradient_of_other_tensor": _gradient_of_other_tensor,
        "arguments_swapped": _arguments_swapped,
        "tensor_transposed": lambda found: f"{_tensor(found)} is transposed where it should not be, or the reverse",
        "incoming_transposed": "the incoming gradient is transposed",
        "factors_in_wrong_order": "the two factors are in the wrong order",
        "result_for_tensor": lambda found: (
            "computed with the op's result in place of its "
            f"{ordinal(found['position'])} tensor, as if that was overwritten"
        ),
        "incoming_for_tensor": lambda found: f"computed with the incoming gradient in place of {_tensor(found)}",
        "zeros_for_tensor": lambda found: (
            f"computed with zeros in place of {_tensor(found)}: the saved value was cleared"
        ),
        "is_conjugate": "it is the complex conjugate of what is right (torch's gradient is that of the conjugate "
        "variable)",
        "derivative_not_conjugated": "the derivative is not conjugated, as torch's convention asks for",
        "index_off_by_one": _index_off_by_one,
    }
)


# The right numbers in other places -------------------------------------------------------------------


def _along(axis: int | None) -> str:
    return "" if axis is None else f" along axis {axis}"


def _one_place_off(found: Fact) -> str:
    side = "further" if found["step"] == 1 else "back"
    zeros = ", with zeros following" if found["zeros"] else ""
    return f"off by one: it is what is right, one place {side}{_along(found['axis'])}{zeros}"


def _is_transpose(found: Fact) -> str:
    return "it is the transpose of what is right" + (" in its last two axes" if found["ndim"] > 2 else "")


def _only_shape_wrong(found: Fact) -> str:
    return f"the numbers are right, the shape is not: {list(found['got'])} for {list(found['want'])}"


phrases(
    {
        "is_transpose": _is_transpose,
        "axes_permuted": "the axes are permuted: it is what is right with permute{order}",
        "back_to_front": lambda found: f"it is back to front{_along(found['axis'])}",
        "back_to_front_everywhere": "it is back to front along every axis",
        "one_place_off": _one_place_off,
        "only_shape_wrong": _only_shape_wrong,
        "order_of_transpose": "the numbers are right, but in the order of the transpose: a reshape in place of a "
        "transpose, or the reverse",
        "transposed_not_reshaped": "the numbers are right, but transposed where they should be reshaped",
    }
)


# Size and precision ----------------------------------------------------------------------------------


def _factor(factor: str | float | complex) -> str:
    """A well-known one by its name, another by its digits."""
    if isinstance(factor, str):
        return factor
    return f"{factor:.6g}" if isinstance(factor, complex) else f"{factor:.7g}"


def _off_by_count(found: Fact) -> str:
    return f"off by the constant factor {found['factor']}, where {found['n']} is {say(found['count'])}"


def _of_result(found: Fact) -> str:
    return " of the result" if found["of_result"] else ""


def _rounded_to_integers(found: Fact) -> str:
    how = {"trunc": "cut off", "floor": "rounded down", "rint": "rounded"}[found["how"]]
    dtype = f" (its dtype is {found['dtype']})" if found["dtype"] else ""
    return f"it is {how} to integers{dtype}"


def _computed_in_dtype(found: Fact) -> str:
    dtype = found["dtype"]
    every = f", and every element is a number of {dtype}" if found["exact"] else ""
    return f"computed in {dtype}: the error is that of {dtype}{every}"


def _nan_of_rule(found: Fact) -> str:
    where = "" if found["argument"] is None else f", where its argument is {found['argument']:.6g}"
    return f"{_nan(found)} is born in the gradient of {found['op']}{_at(found)}{where}"


def _nan(found: Fact) -> str:
    return "NaN" if found["is_nan"] else "infinity"


def _at(found: Fact) -> str:
    return f" at [{', '.join(map(str, found['index']))}]" if found["index"] else ""


phrases(
    {
        "wrong_sign": "the sign is wrong: it is -1 times what is right",
        "off_by_factor": lambda found: f"off by the constant factor {_factor(found['factor'])}",
        "off_by_count": _off_by_count,
        "elements_of": lambda found: f"the number of elements{_of_result(found)}",
        "size_of_axis": lambda found: f"the size of axis {found['axis']}{_of_result(found)}",
        "elements_but_for_axis": lambda found: (
            f"the number of elements{_of_result(found)} but for axis {found['axis']}"
        ),
        "mean_of_added": "a mean for a sum: 1/{n} of what is right, where {n} is how many numbers {op} adds up",
        "mean_of_broadcast": "a mean for a sum: 1/{n} of what is right, where {n} is how many numbers one element of "
        "the argument was broadcast to",
        "dtype_is": "its dtype is {got}, where it should be {want}",
        "computed_in_dtype": _computed_in_dtype,
        "rounded_to_integers": _rounded_to_integers,
        "argument_truncated": lambda found: (
            f"tensor {found['position'] + 1} of the op is cut off to integers before it is used"
        ),
        "incoming_truncated": "the incoming gradient is cut off to integers before it is used",
        "nan_appears": lambda found: f"{_nan(found)} appears here{_at(found)}, and in no gradient that it depends on",
        "nan_of_rule": _nan_of_rule,
    }
)
