"""Claims that did not fail: remarks on a case, and a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from gradcheck.checks.result import CaseResult, Comparison
from gradcheck.facts import Fact
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.reports.number_formats import format_error, format_number
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.comparison_text import side_names
from gradcheck.reports.phrases.phrase_table import join_names
from gradcheck.reports.safe_text import count, plain

#: Kinds of other points that are neither drawn nor searched.
_OTHER_POINTS = (("moved", "other numbers"), ("incoming", "other incoming gradients"))
#: Notes on what formulas do not hold for, or were not tried at, and the most of them in a line.
_LIMITS = (
    *("no_elements", "same_sides", "size_stays", "size_stays_small", "input_stays"),
    *("sides_not_searched", "branch_not_visited", "sizes_not_tried"),
    *("torch_approximates", "gradient_is_zero", "incoming_is_one", "vanishes_here"),
)
_MOST_LIMITS = 2
#: Notes on rounding.
_OFF = ("reference_rounds", "reference_rounds_more", "off_by_rounding")
#: The widest column of the table.
_COLUMN = 28
#: Claims with a formula, those that must be refuted, and what they are called.
_CLAIMED = (
    (ClaimKind.FORMULA, ClaimKind.WRONG_FORMULA, "formula"),
    (ClaimKind.JACOBIAN, ClaimKind.WRONG_JACOBIAN, "Jacobian"),
    (ClaimKind.HESSIAN, ClaimKind.WRONG_HESSIAN, "Hessian"),
)
#: Claims about no single tensor, which have no size.
_WITHOUT_SIZE = (ClaimKind.NODE, ClaimKind.NODE_JVP, ClaimKind.DOT_PRODUCT, ClaimKind.RAISES, ClaimKind.CHECK)
#: The examined parts of a gradient: the certificate's key, and words.
_EXAMINED = (("elements", "at", "element"), ("directions", "along", "direction"))


def passed_remarks(case: CaseResult) -> list[str]:
    """Return short remarks such as `4 formulas hold at 3 other shapes`."""
    passed = [comparison for comparison in case.comparisons if comparison.status == "passed"]
    remarks = []
    for what, wrong, noun in _CLAIMED:
        formulas = [c for c in passed if c.what is what and c.formula]
        if formulas:
            number = len({(c.tensor, c.formula) for c in formulas})
            remarks.append(
                f"{count(number, noun)} {_proof_text(formulas, number)}"
                f"{_other_points_text(formulas)}{_untested_text(formulas)}"
            )
        refuted = len({(c.tensor, c.formula) for c in passed if c.what is wrong})
        if refuted:
            remarks.append(f"{refuted} refuted" if formulas else f"{count(refuted, f'wrong {noun}')} refuted")
    checks = [c for c in passed if c.what is ClaimKind.CHECK]
    if checks:
        number = len({(c.formula, c.tensor, c.step) for c in checks})
        remarks.append(f"{count(number, 'check')} {'holds' if number == 1 else 'hold'}{_untested_text(checks)}")
    for noun, subject in (("gradient", ClaimKind.GRADIENT), ("tangent", ClaimKind.JVP)):
        number = len({(c.tensor, c.step) for c in passed if c.what.subject is subject})
        if number:
            remarks.append(f"{count(number, noun)} {'agrees' if number == 1 else 'agree'}")
    raised = len({c.step for c in passed if c.what is ClaimKind.RAISES})
    if raised:
        remarks.append(f"{count(raised, 'error')} raised as expected")
    return remarks + _conventions(case)


def _proof_text(formulas: list[Comparison], number: int) -> str:
    """Return `proved` if all formulas are proved; else that they hold."""
    proved = len({(c.tensor, c.formula) for c in formulas if c.certificate})
    if proved == number:
        known = [c.certificate for c in formulas if c.certificate]
        where = list(dict.fromkeys(condition for one in known for condition in one.get("where", ())))
        return f"proved{' where ' + ' and '.join(where) if where else ''}"
    return ("holds" if number == 1 else "hold") + (f" ({proved} proved)" if proved else "")


def _other_points_text(formulas: list[Comparison]) -> str:
    """Return ` at 3 other shapes, other numbers and numbers beyond …`."""
    trials = list({c.trial.number: c.trial for c in formulas if c.trial is not None}.values())
    drawn = [trial for trial in trials if trial.kind == "drawn"]
    shapes = len({tuple(trial.sizes.items()) for trial in drawn if trial.resized})
    told = [count(shapes, "other shape")] if shapes else []
    if len(drawn) > shapes:
        told.append(count(len(drawn) - shapes, "other point"))
    kinds = Counter[str](trial.kind for trial in trials)
    told += [words for kind, words in _OTHER_POINTS if kinds[kind]]
    if kinds["branch"]:
        told.append(f"numbers beyond {count(kinds['branch'], 'threshold')}")
    return f" at {join_names(tuple(told))}" if told else ""


def _untested_text(formulas: list[Comparison]) -> str:
    """Return what the formulas were not tried at: `; n stays 4: …`."""
    notes = dict.fromkeys(note for c in formulas for note in c.notes if _is_limit(note, c))
    told = [f"; {plain(say(note))}" for note in sorted(notes, key=lambda note: note.kind != "sides_not_searched")]
    more = len(told) - _MOST_LIMITS
    return "".join(told[:_MOST_LIMITS]) + (f" and {more} more; -v shows them" if more > 0 else "")


def is_qualified(case: CaseResult) -> bool:
    """Return whether a passed case holds with restrictions."""
    claimed = {ClaimKind.CHECK, *(what for what, _, _ in _CLAIMED)}
    limits = (_is_limit(note, c) for c in case.comparisons if c.what in claimed for note in c.notes)
    return case.status == "passed" and (any(limits) or bool(_conventions(case)))


def _is_limit(note: Fact, c: Comparison) -> bool:
    """Return whether a claim is restricted.

    A proof is for all numbers of an input; a check is no claim about them."""
    is_for_all = c.certificate or c.what is ClaimKind.CHECK
    return note.kind in _LIMITS and not (note.kind == "input_stays" and is_for_all)


def _conventions(case: CaseResult) -> list[str]:
    """Return at how many points engines choose different subgradients."""
    # ops count only if no tensor of the case shows it
    kinks = [c for c in case.comparisons if c.status == "not_differentiable"]
    places = {(c.tensor, c.step) for c in kinks if c.what not in (ClaimKind.NODE, ClaimKind.NODE_JVP)} or {
        (c.tensor, 0) for c in kinks
    }
    return [f"{count(len(places), 'point')} without a derivative, where engines differ"] if places else []


def claim_rows(case: CaseResult) -> list[tuple[list[Comparison], tuple[str, ...]]]:
    """Return each claim that did not fail, with its trials, and its columns."""
    groups: dict[tuple[object, ...], list[Comparison]] = {}
    for c in case.comparisons:
        if not c.is_failing:
            groups.setdefault((c.what, c.tensor, c.step, c.engine, c.reference, c.formula, c.status), []).append(c)
    return [(group, _row(group)) for group in groups.values()]


def claim_table(case: CaseResult, width: int = 80) -> list[Text]:
    """Return the claims that did not fail, a line each."""
    found = [columns for _, columns in claim_rows(case)]
    if not found:
        return []
    widths = [min(_COLUMN, max(map(cell_len, column))) for column in zip(*found, strict=True)]
    lines = []
    for row in found:
        padded = [text + " " * max(0, room - cell_len(text)) for text, room in zip(row, widths, strict=True)]
        lines.append(Text(" " * 10 + "  ".join(padded).rstrip(), style="dim"))
    return lines


def _row(group: list[Comparison]) -> tuple[str, ...]:
    first = group[0]
    what = first.what.replace("_", " ") + (f", step {first.step + 1}" if first.step else "")
    name = first.formula or first.tensor if first.what is ClaimKind.CHECK else first.tensor
    size = "" if first.what in _WITHOUT_SIZE else "x".join(map(str, first.shape)) or "scalar"
    trials = sum(c.trial is not None for c in group)
    outcome = _outcome(group)
    if trials:
        outcome += f"{', also' if trials < len(group) else ''} in {count(trials, 'trial')}"
    remarks = [outcome, _certificate_text(first), say(first.verdict) or say(first.mismatch), *map(say, _notes(group))]
    return what, plain(name), "/".join(side_names(first)), size, plain("; ".join(filter(None, remarks)))


def _notes(group: list[Comparison]) -> Iterable[Fact]:
    """Return the notes of the first, and the rounding notes of any trial once."""
    off = {note.kind: note for c in reversed(group) for note in c.notes if note.kind in _OFF}
    return dict.fromkeys((*group[0].notes, *(off[kind] for kind in _OFF if kind in off)))


def _certificate_text(c: Comparison) -> str:
    """Return `proved at 4 sizes (exact, 12 trials, …)` or `confirmed by …`."""
    known = c.certificate
    if known is None or c.status != "passed":
        return ""
    if known["method"] == "exact":
        tried = f"{count(known['trials'], 'trial')}, degree {known['degree']}, a wrong one would pass with p < "
        tried += format_error(known["bound"])
        unknowns = f", for any {', '.join(known['unknowns'])}" if known["unknowns"] else ""
        where = f" where {' and '.join(known['where'])}" if known.get("where") else ""
        sizes = count(len(known["sizes"]), "size")
        return f"proved{where} at {sizes} (exact, {tried}{unknowns}{_fixed_parts_text(known)})"
    if known["error"] is None:  # nothing was examined
        return ""
    places = [f" {word} {count(known[key], noun)}" for key, word, noun in _EXAMINED if key in known]
    return f"confirmed by {known['method']}{''.join(places)} (error bar {format_number('bar', known['error'])})"


def _fixed_parts_text(known: Mapping[str, Any]) -> str:
    """Return what stayed fixed: `, w stays, n stays 4`."""
    held = known.get("held", {})
    stays = [f"{name} stays" for name in held.get("constants", ())]
    stays += [f"{name} stays {size}" for name, size in held.get("sizes", {}).items()]
    return "".join(f", {one}" for one in [*stays, *["for this incoming gradient"] * bool(held.get("incoming"))])


def _outcome(group: list[Comparison]) -> str:
    if group[0].what.is_stated_wrong:
        return ""
    if group[0].status != "passed":
        return group[0].status.replace("_", " ")
    if group[0].passes_by_wrong_reference:
        return "passed"
    worst = max(group, key=lambda c: c.max_rel or 0.0)
    if not worst.max_rel:
        return "agrees"
    units = "" if worst.max_ulp is None else f", {format_error(worst.max_ulp)} ULP"
    return f"rel {format_error(worst.max_rel)}{units}"
