"""How a comparison is told, whatever it is about: every report tells it alike.

What was found out in words is a fact, and said by its phrase; here stand the sentences that numbers are told in.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.closeness.tolerance import ulp
from gradcheck.checks.result import CaseResult, ClaimKind, Comparison, Failure
from gradcheck.reports.phrases.table import listed, say
from gradcheck.reports.text import brief, count, pair, plain

_SUBJECTS = {
    ClaimKind.VALUE: "value of {tensor}",
    ClaimKind.EXPECTED_VALUE: "value of {tensor}",
    ClaimKind.GRADIENT: "gradient of {tensor}",
    ClaimKind.EXPECTED: "gradient of {tensor}",
    ClaimKind.GRADIENT2: "second-order gradient of {tensor}",
    ClaimKind.FORMULA: "formula for the gradient of {tensor}",
    ClaimKind.WRONG_FORMULA: "wrong formula for the gradient of {tensor}",
    ClaimKind.CHECK: "check `{formula}`",
    ClaimKind.RAISES: "outcome",
    ClaimKind.NODE: "gradient rule in {tensor}",
    ClaimKind.NODE_JVP: "forward mode in {tensor}",
    ClaimKind.JVP: "tangent of {tensor}",
    ClaimKind.DOT_PRODUCT: "forward against reverse mode",
}
#: Claims about these are between two engines, or an engine and the file.
_BETWEEN_ENGINES = (ClaimKind.VALUE, ClaimKind.GRADIENT, ClaimKind.JVP, ClaimKind.GRADIENT2)
#: Between the names of engines that are told of as one.
TOGETHER = " and "
#: Diagnoses that say what may have been meant.
_SUGGESTIONS = ("did_you_mean", "derived", "these_numbers_only")
#: Beyond this many units in the last place, the count says nothing that the relative error does not.
_MANY_ULP = 1e6
#: How many of the tensors that are wrong only because of another are named.
_NAMED = 8


# What is wrong -----------------------------------------------------------------------------------------


def parties(c: Comparison) -> tuple[str, str]:
    """Who says what was got, and who what was wanted; short enough to head a column."""
    if c.what is ClaimKind.CHECK:
        return "left", "right"
    stated = "formula" if c.what in (ClaimKind.FORMULA, ClaimKind.WRONG_FORMULA) else "expected"
    got, want = (stated if name in ("case", "") else plain(name) for name in (c.engine, c.reference))
    return got, want


def subject(c: Comparison) -> str:
    """`gradient of y`, `value of q after step 2`."""
    if c.cause is not None and _is_step(c):
        return f"step {plain(c.cause.origin['name'])} for the gradient of {plain(c.tensor)}"
    text = _SUBJECTS[c.what].format(tensor=plain(c.tensor), formula=plain(c.formula))
    return f"{text} after step {c.step + 1}" if c.step else text


def headline(c: Comparison) -> str:
    """One sentence without the numbers."""
    return f"undecided: {_sentence(c)}" if c.status == "undecided" else _sentence(c)


def _sentence(c: Comparison) -> str:
    got, want = parties(c)
    differ = f"{got} {'differ' if TOGETHER in c.engine else 'differs'} from"
    if c.mismatch:
        between = f", {got} against {want}" if c.what.subject in _BETWEEN_ENGINES else ""
        numbers = f"; {differ} {want} {extent(c)}" if c.max_abs is not None else ""
        return f"{subject(c)}{between}: {plain(say(c.mismatch))}{numbers}".rstrip()
    if c.what is ClaimKind.WRONG_FORMULA:
        return f"{subject(c)} was not refuted: it holds wherever it was tried"
    if c.what is ClaimKind.FORMULA:
        return f"{subject(c)} is wrong: it differs from {want}'s {extent(c)}".rstrip()
    if c.what is ClaimKind.DOT_PRODUCT:
        return f"{subject(c)}: <J.T u, v> by {got}'s gradients is not <u, J v> by {want}'s tangents"
    if c.what is ClaimKind.CHECK:
        return f"{subject(c)} does not hold {extent(c)}".rstrip()
    return f"{subject(c)}: {differ} {'the one expected' if want == 'expected' else want} {extent(c)}".rstrip()


def extent(c: Comparison) -> str:
    """`in 3 of 6 elements`."""
    if c.elements == 1:
        return ""
    return f"in {c.mismatched} of {count(c.elements, 'element')}" if c.elements else ""


# Numbers -----------------------------------------------------------------------------------------------


def worst(c: Comparison) -> str:
    """The worst element: where it is, both values, how far apart they are. Empty where no numbers were compared."""
    if c.got is None and c.want is None:
        return ""
    got, want = pair(c.got, c.want)
    ours, theirs = parties(c)
    where = f"worst at [{', '.join(map(str, c.worst_index))}]: " if c.worst_index else ""
    return f"{where}{ours} {got}, {theirs} {want}{_errors(c)}"


def _errors(c: Comparison) -> str:
    """Of this element, not the largest of any."""
    if c.got is None or c.want is None:
        return ""
    size = abs(c.want)
    error = abs(c.got - c.want) if c.got != c.want else 0.0
    error = math.inf if math.isnan(error) else error
    rel = error / size if size and math.isfinite(error) else error and math.inf
    sizes = [f"abs {brief(error)}", f"rel {brief(rel)}"]
    dtype = dtypes.BY_NAME.get(c.dtype)
    if dtype is not None and dtypes.is_differentiable(dtype) and math.isfinite(size):
        units = error / float(ulp(np.asarray(size), dtype))
        sizes += [f"{brief(units)} ULP"] if units <= _MANY_ULP else []
    return f" ({', '.join(sizes)})"


def allowed(c: Comparison) -> str:
    """The tolerance that was not kept."""
    if c.rtol is None and c.atol is None:
        return ""
    terms = [] if not c.atol else [brief(c.atol)]
    if c.rtol:
        terms.append(f"{brief(c.rtol)} * |{parties(c)[1]}|")
    return "allowed: " + (" + ".join(terms) or "no difference at all")


def trial(c: Comparison) -> str:
    """`trial 1 of seed 0, where n = 3, m = 5`; empty for the case's own numbers."""
    if c.trial is None:
        return ""
    sizes = ", ".join(f"{plain(name)} = {size}" for name, size in c.trial.sizes.items())
    return f"trial {c.trial.number} of seed {c.trial.seed}" + (f", where {sizes}" if sizes else "")


# Why ---------------------------------------------------------------------------------------------------


def one_line(c: Comparison) -> str:
    """All that fits into a line of a log: the sentence, the worst element, the trial."""
    parts = [cause(c) or headline(c), plain(say(c.verdict)), worst(c), trial(c) and f"in {trial(c)}"]
    parts += [message for _, message in reasons(c) if c.diagnoses[0].kind != "unknown"]
    parts += suggestions(c)
    return "; ".join(part for part in parts if part)


def cause(c: Comparison) -> str:
    """`tanh at h: its gradient is wrong; all 4 other operations are right`; empty for what is no cause."""
    if not c.cause:
        return ""
    return plain(f"{say(c.cause.origin)}{' ' if _is_step(c) else ': '}{say(c.cause.what)}")


def _is_step(c: Comparison) -> bool:
    """Whether it is about a step of a derivation, which is told with all that follows from it."""
    return c.cause is not None and c.cause.origin.kind == "step"


def reasons(c: Comparison) -> list[tuple[str, str]]:
    """Why it is wrong, each reason with the word that introduces it; the best first."""
    found = [d for d in c.diagnoses if d.kind not in (*_SUGGESTIONS, "counterexample")]
    if suggestions(c):  # what mends it says more than that no reason is known
        found = [d for d in found if d.kind != "unknown"]
    return [("or" if index else "cause", plain(say(d.message))) for index, d in enumerate(found)]


def suggestions(c: Comparison) -> list[str]:
    """What may have been meant: `did you mean  A.T @ G ?`."""
    return [plain(say(d.message)) for d in c.diagnoses if d.kind in _SUGGESTIONS]


def counterexamples(c: Comparison) -> list[str]:
    """Small numbers for which it is wrong: `counterexample: for x = [2] the formula is 4, the gradient 12`."""
    return [plain(say(d.message)) for d in c.diagnoses if d.kind == "counterexample"]


def consequences(lead: Comparison, wrong: tuple[Comparison, ...]) -> str:
    """`wrong only because of this: the gradients of y, x and w`; empty where that is told with the cause."""
    if _is_step(lead):
        return ""
    rule = "the same rule at" if lead.what is ClaimKind.NODE else "the gradient rule in"
    parts = [
        ("the value of", _tensors(wrong, (ClaimKind.VALUE, ClaimKind.EXPECTED_VALUE))),
        (rule, _tensors(wrong, (ClaimKind.NODE,))),
        # as a backward pass meets them
        ("the gradient of", _tensors(wrong[::-1], (ClaimKind.GRADIENT, ClaimKind.EXPECTED))),
        ("forward mode in", _tensors(wrong, (ClaimKind.NODE_JVP,))),
        ("the tangent of", _tensors(wrong, (ClaimKind.JVP,))),
    ]
    told = [f"{words} {_some(names)}" for words, names in parts if names]
    if any(c.what is ClaimKind.RAISES for c in wrong):
        told.append("the outcome")
    if any(c.what is ClaimKind.DOT_PRODUCT for c in wrong):
        told.append("forward against reverse mode")
    return f"wrong only because of this: {'; '.join(told)}"


def _tensors(comparisons: tuple[Comparison, ...], kinds: Collection[ClaimKind]) -> tuple[str, ...]:
    """Each once, in this order."""
    return tuple(dict.fromkeys(plain(c.tensor) for c in comparisons if c.what in kinds))


def _some(names: tuple[str, ...]) -> str:
    more = len(names) - _NAMED
    return listed(names) if more <= 0 else f"{', '.join(names[:_NAMED])} and {count(more, 'more tensor')}"


# What is no comparison ---------------------------------------------------------------------------------


def error_line(error: Failure) -> str:
    """`unknown key 'nmae'; did you mean 'name'?`."""
    return plain("; ".join(filter(None, (say(error.message), error.hint))))


def verdict(case: CaseResult) -> str:
    """What a case says beside its failures: a reason to skip, an unexpected pass, what could not be shown."""
    reason = plain(case.reason)
    if case.status == "xpassed":
        return f"passes, though it is marked xfail: {reason}"
    if case.status == "failed":
        return "no gradient was compared"
    if case.status == "unsupported":
        return next((plain(say(c.mismatch)) for c in case.comparisons if c.status == "unsupported"), reason)
    return reason
