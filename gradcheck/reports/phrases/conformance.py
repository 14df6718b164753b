"""In words: what holds for an engine."""

from __future__ import annotations

from gradcheck.facts import Fact
from gradcheck.reports.phrases.table import phrases, say


def _shapes(found: Fact) -> str:
    return f"{say(found['what'])}: its shape is {list(found['got'])}, expected {list(found['want'])}"


def _numbers(found: Fact) -> str:
    return f"{say(found['what'])}: {found['got']:g}, expected {found['want']:g}"


phrases(
    {
        "is_not_linear": "the gradient for 3 a - 2 b is not 3 times that for a - 2 times that for b",
        "does_not_accumulate": "two passes do not leave twice what one leaves",
        "zeroing_leaves_something": "a pass after zeroing does not leave what a first pass leaves",
        "values_changed": "the values of {tensor} are no longer what they were",
        "incoming_gradient_changed": "the incoming gradient is no longer what it was",
        "depends_on_order": "the gradient depends on which of two summands was made first",
        "wrong_through_nodes": "the gradient through {nodes:,} nodes is wrong",
        "wrong_after_uses": "the gradient of a tensor used {uses:,} times is wrong",
        "no_gradient_arrives": "no gradient arrives at {tensor}",
        "property_shapes_differ": _shapes,
        "property_numbers_differ": _numbers,
        "raised_of_kind": "{error}: {text}",
    }
)
