"""Sentences on comparisons, from facts and numbers, for all reports."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.checks.closeness.tolerance import modulus, ulp
from gradcheck.checks.result import MEANT, CaseResult, Comparison, Failure
from gradcheck.facts import fact
from gradcheck.language.case import Edit
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.causes import ENGINE_SEPARATOR
from gradcheck.reports.number_formats import format_error, format_pair
from gradcheck.reports.phrases.phrase_table import join_first, join_names, say
from gradcheck.reports.safe_text import count, plain

_SUBJECTS = {
    **dict.fromkeys((ClaimKind.VALUE, ClaimKind.EXPECTED_VALUE), "value of {tensor}"),
    **dict.fromkeys((ClaimKind.GRADIENT, ClaimKind.EXPECTED), "gradient of {tensor}"),
    ClaimKind.GRADIENT2: "second-order gradient of {tensor}",
    ClaimKind.FORMULA: "formula for the gradient of {tensor}",
    ClaimKind.WRONG_FORMULA: "wrong formula for the gradient of {tensor}",
    **dict.fromkeys((ClaimKind.JACOBIAN, ClaimKind.HESSIAN), "{tensor}"),
    **dict.fromkeys((ClaimKind.WRONG_JACOBIAN, ClaimKind.WRONG_HESSIAN), "wrong claim about {tensor}"),
    ClaimKind.CHECK: "check `{formula}`",
    ClaimKind.RAISES: "errors raised",
    ClaimKind.NODE: "gradient rule in {tensor}",
    ClaimKind.NODE_JVP: "forward mode in {tensor}",
    ClaimKind.JVP: "tangent of {tensor}",
    ClaimKind.DOT_PRODUCT: "forward against reverse mode",
    ClaimKind.CODE: "code of {tensor}",
}
#: Claims between two engines, or an engine and the file.
_BETWEEN_ENGINES = (ClaimKind.VALUE, ClaimKind.GRADIENT, ClaimKind.JVP, ClaimKind.GRADIENT2)
#: Diagnoses with a correction.
_SUGGESTIONS = ("did_you_mean", "derived", "these_numbers_only")
#: The most consequences that are named.
_NAMED = 8


def subject(c: Comparison) -> str:
    """Return `gradient of y`, `value of q after step 2`."""
    if c.wrong_step:
        return f"step {plain(c.wrong_step)} for the gradient of {plain(c.tensor)}"
    text = _SUBJECTS[c.what].format(tensor=plain(c.tensor), formula=plain(c.formula))
    return f"{text} after step {c.step + 1}" if c.step else text


def title(c: Comparison) -> str:
    """Return what is wrong in a short sentence: the cause, if it is one."""
    if c.cause is not None:
        return cause_text(c)
    text = _short_sentence(c)
    return f"undecided: {text}" if c.status == "undecided" else text


def _short_sentence(c: Comparison) -> str:
    got, want = side_names(c)
    tensor, why = plain(c.tensor), plain(say(c.mismatch))
    differ = "differ" if ENGINE_SEPARATOR in c.engine else "differs"
    if c.what is ClaimKind.FORMULA:
        judged = "cannot be judged" if c.status == "undecided" else "is wrong"
        return f"the formula of {tensor} {judged}{f': {why}' if why else ''}"
    if c.what is ClaimKind.WRONG_FORMULA:
        return f"the wrong formula of {tensor} {why or 'holds wherever it was tried: it is not refuted'}"
    if c.what.is_about_derivative and c.formula:
        wrong = f"the wrong claim about {tensor}" if c.what.is_stated_wrong else f"the claim about {tensor} is wrong"
        held = "holds wherever it was tried: it is not refuted" if c.what.is_stated_wrong else ""
        return f"{wrong}{' ' if c.what.is_stated_wrong else ': ' if why else ''}{why or held}"
    if c.what is ClaimKind.RAISES and why:
        return why
    if c.what is ClaimKind.CODE and why:
        return f"{subject(c)}: {why}"
    if c.what in (ClaimKind.NODE, ClaimKind.NODE_JVP, ClaimKind.DOT_PRODUCT, ClaimKind.CHECK):
        return _sentence(c)
    if why and want == "expected" and c.mismatch is not None and c.mismatch.kind == "shapes_differ":
        return f"{subject(c)}: its shape is {list(c.mismatch['got'])}, the file's {list(c.mismatch['want'])}"
    if why:
        return f"{subject(c)}: {why}{f' ({got} against {want})' if want != 'expected' else f', by {got}'}"
    return f"{subject(c)}: {got} {differ} from {'the one expected' if want == 'expected' else want}"


def headline(c: Comparison) -> str:
    """Return one sentence without numbers."""
    return f"undecided: {_sentence(c)}" if c.status == "undecided" else _sentence(c)


def _sentence(c: Comparison) -> str:
    got, want = side_names(c)
    differ = f"{got} {'differ' if ENGINE_SEPARATOR in c.engine else 'differs'} from"
    if c.mismatch:
        between = f", {got} against {want}" if c.what.subject in _BETWEEN_ENGINES else ""
        numbers = f"; {differ} {want} {extent(c)}" if c.max_abs is not None else ""
        return f"{subject(c)}{between}: {plain(say(c.mismatch))}{numbers}".rstrip()
    if c.what.is_stated_wrong:
        return f"{subject(c)} was not refuted: it holds wherever it was tried"
    if c.what is ClaimKind.FORMULA or (c.what.is_about_derivative and c.formula):
        return f"{subject(c)} is wrong: it differs from {want}'s {extent(c)}".rstrip()
    if c.what is ClaimKind.DOT_PRODUCT:
        return f"{subject(c)}: <J.T u, v> by {got}'s gradients is not <u, J v> by {want}'s tangents"
    if c.what is ClaimKind.CHECK:
        return f"{subject(c)} does not hold {extent(c)}".rstrip()
    return f"{subject(c)}: {differ} {'the one expected' if want == 'expected' else want} {extent(c)}".rstrip()


def extent(c: Comparison) -> str:
    """Return `in 3 of 6 elements`."""
    if c.elements == 1:
        return ""
    return f"in {c.mismatched} of {count(c.elements, 'element')}" if c.elements else ""


def log_line(c: Comparison) -> str:
    """Return everything that fits in a line of a log."""
    parts = [
        cause_text(c) or headline(c),
        plain(say(c.verdict)),
        worst_element_text(c),
        trial_text(c) and f"in {trial_text(c)}",
    ]
    parts += [message for _, message in reasons(c) if c.diagnoses[0].kind != "unknown"]
    parts += suggestions(c)
    return "; ".join(part for part in parts if part)


def cause_text(c: Comparison) -> str:
    """Return `tanh at h: its gradient is wrong; …`; empty if it is no cause."""
    if not c.cause:
        return ""
    return plain(f"{say(c.cause.origin)}{' ' if c.wrong_step else ': '}{say(c.cause.what)}")


#: Mismatches of raised errors.
_ERRORS = ("op_alone", "claim_raised", "outcomes_differ")


def op_error_text(c: Comparison) -> str:
    """Return what an op alone raises, or why a step cannot be computed."""
    is_said = c.cause is not None and c.mismatch is not None and c.mismatch.kind in _ERRORS
    return plain(say(c.mismatch)) if is_said and c.cause is not None and c.cause.what != c.mismatch else ""


def evidence_text(c: Comparison, others: tuple[Comparison, ...] = ()) -> str:
    """Return the evidence for a suggestion, or which side is wrong."""
    # `others` are consequences of a wrong step of a derivation, and evidence on it
    evidence = next((say(d.evidence) for d in c.diagnoses if d.kind == "did_you_mean"), "")
    known = next((o.verdict for o in (c, *others) if o.verdict is not None), None)
    if not evidence:
        return plain(say(c.verdict))
    if known is None or known.kind != "stands_alone" or known["wrong"] != fact("the_formula"):
        return plain("; ".join(filter(None, (evidence, say(c.verdict)))))
    return plain(f"{evidence}; {join_names(known['agree'])} agree with it")


def reasons(c: Comparison, everything: bool = True) -> list[tuple[str, str]]:
    """Return the causes, the best first; failed attempts for `everything`."""
    found = [d for d in c.diagnoses if d.kind not in (*_SUGGESTIONS, "counterexample")]
    if suggestions(c):  # a correction says more than that no reason is known
        found = [d for d in found if d.kind != "unknown"]
    short = {} if everything else {"nothing_explains_it": "no known mistake explains it"}
    told = [short.get(d.message.kind) or plain(say(d.message)) for d in found]
    return [("or" if index else "cause", text) for index, text in enumerate(told)]


def suggestions(c: Comparison) -> list[str]:
    """Return what may have been meant: `did you mean  A.T @ G ?`."""
    return [plain(say(d.message)) for d in c.diagnoses if d.kind in _SUGGESTIONS]


def correction(edit: Edit) -> str:
    """Return the correction of a part of a formula."""
    return f"did you mean {plain(edit.text)} ?"


def counterexamples(c: Comparison, everything: bool = True) -> list[str]:
    """Return small numbers at which it is wrong, large ones for `everything`."""
    found = [d.message for d in c.diagnoses if d.kind == "counterexample"]
    return [plain(say(one)) for one in found if everything or one.kind == "counterexample"]


def consequences(lead: Comparison, wrong: tuple[Comparison, ...]) -> str:
    """Return `wrong only because of this: …`; empty for a derivation's step."""
    if lead.wrong_step:
        return ""
    rule = "the same rule at" if lead.what is ClaimKind.NODE else "the gradient rule in"
    parts = [
        ("the value of", _tensors(wrong, (ClaimKind.VALUE, ClaimKind.EXPECTED_VALUE))),
        (rule, _tensors(wrong, (ClaimKind.NODE,))),
        # in the order of a backward pass
        ("the gradient of", _tensors(wrong[::-1], (ClaimKind.GRADIENT, ClaimKind.EXPECTED))),
        ("forward mode in", _tensors(wrong, (ClaimKind.NODE_JVP,))),
        ("the tangent of", _tensors(wrong, (ClaimKind.JVP,))),
    ]
    told = [f"{words} {join_first(names, _NAMED, 'tensor')}" for words, names in parts if names]
    if any(c.what is ClaimKind.RAISES for c in wrong):
        told.append("the error in the case's own pass")
    if any(c.what is ClaimKind.DOT_PRODUCT for c in wrong):
        told.append("forward against reverse mode")
    return f"wrong only because of this: {'; '.join(told)}"


def _tensors(comparisons: tuple[Comparison, ...], kinds: Collection[ClaimKind]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(plain(c.tensor) for c in comparisons if c.what in kinds))


def error_line(error: Failure) -> str:
    """Return `unknown key 'nmae'; did you mean 'name'?`."""
    return plain("; ".join(filter(None, (say(error.message), error.hint))))


def status_reason(case: CaseResult) -> str:
    """Return the reason of a status: of a skip, an unexpected pass, a lack."""
    reason = plain(case.reason)
    if case.known is not None:
        return plain(say(case.known))
    if case.status == "xpassed":
        return f"passes, though it is marked xfail: {reason}"
    if case.status == "failed":
        return "no gradient was compared"
    if case.status == "unsupported":
        return next((plain(say(c.mismatch)) for c in case.comparisons if c.status == "unsupported"), reason)
    return reason


# Numbers: how far two sides differ, where, the tolerance -------------------------------------------


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
