"""Sentences with numbers: how far two sides differ, where, the tolerance."""

from __future__ import annotations

import math

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.closeness.tolerance import modulus, ulp
from gradcheck.checks.result import MEANT, Comparison
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.number_formats import format_error, format_pair
from gradcheck.reports.phrases.phrase_table import say
from gradcheck.reports.safe_text import count, plain

#: Mismatches without comparable numbers.
_WITHOUT_NUMBERS = ("claim_raised", "shapes_differ")
#: The most units in the last place that are shown beside the relative error.
_MANY_ULP = 1e6


def side_names(c: Comparison) -> tuple[str, str]:
    """Return the names of both sides, short enough to head a column."""
    if c.what is ClaimKind.CHECK:
        return "left", "right"
    is_formula = c.what in (ClaimKind.FORMULA, ClaimKind.WRONG_FORMULA) or c.what.is_about_derivative
    stated = "formula" if is_formula else "expected"
    known = {"case": stated, "": stated, MEANT: "what was meant"}
    got, want = (known.get(name) or plain(name) for name in (c.engine, c.reference))
    return got, want


def numbers_text(c: Comparison, shown: bool) -> str:
    """Return `3 of 6 elements differ, …; allowed: …`, values unless `shown`."""
    if not has_numbers(c):
        return ""
    parts = list(filter(None, (shape_mismatch_text(c) or differing_count_text(c),)))
    if not shown and (c.got is not None or c.want is not None):
        got, want = format_pair(c.got, c.want)
        ours, theirs = side_names(c)
        where = f"at [{', '.join(map(str, c.worst_index))}] " if c.worst_index else ""
        parts.append(f"{where}{ours} {got}, {theirs} {want}")
    return "; ".join(filter(None, (", ".join(parts), tolerance_text(c) if parts else "")))


def has_numbers(c: Comparison) -> bool:
    """Return whether there are numbers to compare."""
    return c.mismatch is None or c.mismatch.kind not in _WITHOUT_NUMBERS


def shape_mismatch_text(c: Comparison) -> str:
    """Return the wrong shape or dtype of an op's gradient."""
    return plain(say(c.mismatch["mismatch"])) if c.mismatch and c.mismatch.kind == "gradient_of_op" else ""


def differing_count_text(c: Comparison) -> str:
    """Return `3 of 6 elements differ`; empty for a single number."""
    if c.elements <= 1 or not c.mismatched:
        return ""
    return f"{c.mismatched} of {count(c.elements, 'element')} {'differs' if c.mismatched == 1 else 'differ'}"


def worst_element_text(c: Comparison) -> str:
    """Return the worst element: its index, both values, their difference."""
    if c.got is None and c.want is None:
        return ""
    got, want = format_pair(c.got, c.want)
    ours, theirs = side_names(c)
    where = f"worst at [{', '.join(map(str, c.worst_index))}]: " if c.worst_index else ""
    return f"{where}{ours} {got}, {theirs} {want}{_errors(c)}"


def _errors(c: Comparison) -> str:
    """Return the errors of this element, which need not be the largest."""
    if c.got is None or c.want is None:
        return ""
    size = modulus(c.want)
    error = modulus(c.got - c.want) if c.got != c.want else 0.0
    error = math.inf if math.isnan(error) else error
    rel = error / size if size and math.isfinite(error) else error and math.inf
    sizes = [f"abs {format_error(error)}", f"rel {format_error(rel)}"]
    dtype = dtypes.BY_NAME.get(c.dtype)
    if dtype is not None and dtypes.is_differentiable(dtype) and math.isfinite(size):
        units = error / float(ulp(np.asarray(size), dtype))
        sizes += [f"{format_error(units)} ULP"] if units <= _MANY_ULP else []
    return f" ({', '.join(sizes)})"


def tolerance_text(c: Comparison) -> str:
    """Return the tolerance that was exceeded."""
    if c.rtol is None and c.atol is None:
        return ""
    terms = [] if not c.atol else [format_error(c.atol)]
    if c.rtol:
        terms.append(f"{format_error(c.rtol)} * |{side_names(c)[1]}|")
    return "allowed: " + (" + ".join(terms) or "no difference at all")


def trial_text(c: Comparison) -> str:
    """Return `trial 1 of seed 0, where n = 3, m = 5`; "" for the case itself."""
    if c.trial is None:
        return ""
    sizes = ", ".join(f"{plain(name)} = {size}" for name, size in c.trial.sizes.items())
    return f"trial {c.trial.number} of seed {c.trial.seed}" + (f", where {sizes}" if sizes else "")
