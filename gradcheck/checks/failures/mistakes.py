"""Mistakes that gradcheck names, with their meanings, by rank.

A new one is a row here, at its rank. `docs/diagnoses.md` has the same table, `docs/mistakes.yaml` an example of each
that a claim can have, and `docs/code-mistakes.md` of each that only code can have.
"""

from __future__ import annotations

#: Mistakes that `diagnosis/` recognises. Of two that explain the same numbers the first is reported first: the more
#: specific ones come before the more general.
KINDS = {
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
}
#: Mistakes that no single tensor shows: an engine is run again to find them.
ENGINE_KINDS = {
    "not_deterministic": "the same pass gives other gradients each time",
    "input_mutated": "an op changes its arguments",
    "recursion": "the backward pass calls itself, and long graphs are too deep for that",
    "not_linear": "a gradient rule that is not linear in the incoming gradient",
    "matrices_alone": "a matrix product's rule is right for matrices, and not for vectors or batches of them",
}
#: Mistakes of code whose graph entry is known (see `checks/implementations`).
CODE_KINDS = {
    "other_formula": "computed by another formula, a slip away from the right one",
    "branch": "right in a part, and something simple in the rest: nothing, a factor, the other side of a mask",
    "not_written": "elements are never written, and are what `torch.empty` found in memory",
    "saved_intermediate": "an intermediate is saved instead of an input, and second order takes it as constant",
    "factor_of_tensor": "off by a factor that a tensor gives, which is missing or too much",
}
#: Mistakes in claims about Jacobians and Hessians (see `checks/derivatives`).
DERIVATIVE_KINDS = {
    "diagonal": "the diagonal or a triangle alone, or all but it",
    "one_term": "one term is missing or has the wrong sign, such as a transpose",
    "incomplete": "some entries are 0 that should not be",
    "inverted": "the inverse, which is the Jacobian of the inverse function",
    "approximation": "an approximation of the second derivative, such as Gauss-Newton's",
}
MEANINGS = {**KINDS, **ENGINE_KINDS, **CODE_KINDS, **DERIVATIVE_KINDS}
