"""In words: what was made wrong on purpose, and where."""

from __future__ import annotations

from gradcheck.facts import Fact
from gradcheck.reports.phrases.table import phrases


def _uses(found: Fact) -> str:
    what = f"a result of {found['op']}" if found["op"] else "a leaf"
    return f"{what} of shape {list(found['shape'])}, used {found['count']} times"


#: Where one op stands for another and its name says too little.
_SWAPPED = {"sum": "a mean for a sum", "mean": "a sum for a mean"}


def _swapped(found: Fact) -> str:
    return _SWAPPED.get(found["old"], f"{found['new']} for {found['old']}")


phrases(
    {
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
        "factor_added": "a factor of {factor:g}",
        "transpose_added": "a transpose added",
        "transpose_removed": "a transpose removed",
        "op_swapped": _swapped,
        "term_dropped": "a term dropped",
        "factors_exchanged": "factors exchanged",
        "power_changed": "another power",
        "size_changed": "another size",
        "dimension_changed": "another dimension",
        "in_rule": "the rule of {op} for '{argument}'",
        "in_uses": _uses,
        "in_second_pass": "gradients of a second backward pass",
        "in_formula": "the formula for {tensor}: {formula}",
        "in_step": "the step {name}: {formula}",
    }
)
