"""Titles of causes: what several cases share, and the problem of one case."""

from __future__ import annotations

from typing import Any

from gradcheck.checks.result import Comparison
from gradcheck.reports.causes import (
    ENGINE_WIDE_MISTAKES,
    FailureGroup,
    GroupMember,
    confirmed_diagnosis,
    faulty_op,
)
from gradcheck.reports.phrases.comparison_text import error_line, reasons, status_reason, title
from gradcheck.reports.phrases.diagnosis_phrases import MEANINGS
from gradcheck.reports.phrases.phrase_table import join_first, say
from gradcheck.reports.safe_text import ordinal, plain

#: The most ops of a group that are named.
_NAMED = 4
_FAILS = {
    "value_is_wrong": "its value",
    "its_jvp_is_wrong": "its Jacobian-vector product",
    "its_gradient_is_wrong": "its gradient",
    "shared_argument": "its gradient where two of its arguments are one tensor",
}


def group_title(group: FailureGroup) -> str:
    """Return `matmul, gradient of its second argument`, or that of an engine."""
    return f"{plain(group.engine)}: {_title(group)}" if group.engine else _title(group)


def _title(group: FailureGroup) -> str:
    lead = group.lead.finding.lead if group.lead.finding is not None else None
    if lead is None:
        return error_line(group.lead.error) if group.lead.error is not None else status_reason(group.lead.case)
    if lead.what.is_stated_by_file:
        if not lead.what.is_about_gradient:
            return title(lead)
        told, colon, why = title(lead).partition(": ")
        return f"{told}, {plain(lead.formula)}{colon}{why}"
    kind = confirmed_diagnosis(lead)
    if kind in ENGINE_WIDE_MISTAKES:
        own = (c for c in group.leads if confirmed_diagnosis(c) == kind and faulty_op(c))
        ops = tuple(dict.fromkeys(map(faulty_op, own)))
        return plain(kind.replace("_", " ") + (f", in {join_first(ops, _NAMED)}" if ops else ""))
    if not group.ops:
        return title(lead) if kind not in MEANINGS else kind.replace("_", " ")
    first, *others = group.ops
    made = f" ({join_first(tuple(others), _NAMED)} {'is' if len(others) == 1 else 'are'} made of it)" if others else ""
    return plain(f"{first}, {_op_mistake_text(lead, group)}{made}")


def _op_mistake_text(lead: Comparison, group: FailureGroup) -> str:
    assert lead.cause is not None
    what = lead.cause.fault
    if what.kind not in ("gradients_of_arguments_are_wrong", "its_gradient_is_wrong"):
        return _FAILS.get(what.kind) or say(what)
    own = [c.cause.fault for c in group.leads if c.cause is not None and faulty_op(c) == group.ops[0]]
    places = {place for one in own if one.kind == "gradients_of_arguments_are_wrong" for place in one["arguments"]}
    if not places:
        return _FAILS["its_gradient_is_wrong"]
    named = " and ".join(map(ordinal, sorted(places)))
    return f"gradient of its {named} argument" if len(places) == 1 else f"gradients of its {named} arguments"


def group_detail(group: FailureGroup) -> str:
    """Return the mistake that explains the clearest case."""
    lead = group.lead.finding.lead if group.lead.finding is not None else None
    if lead is None:
        return ""
    kind = confirmed_diagnosis(lead)
    if kind in ENGINE_WIDE_MISTAKES:
        return MEANINGS[kind]
    if lead.cause is not None and lead.cause.fault.kind in ("rule_fails", "it_raises") and not kind:
        return _error(lead)
    found = reasons(lead)
    return found[0][1] if found and lead.diagnoses[0].kind != "unknown" else ""


def _error(c: Comparison) -> str:
    differ: Any = c.mismatch["what"] if c.mismatch is not None and c.mismatch.kind == "op_alone" else c.mismatch
    own = differ["got_outcome"] if differ is not None and differ.kind == "outcomes_differ" else None
    return plain(own["text"] if own is not None and own.kind == "raised" else say(c.mismatch))


def member_title(member: GroupMember) -> str:
    """Return the problem of one case, in a sentence."""
    if member.finding is not None:
        return title(member.finding.lead)
    return error_line(member.error) if member.error is not None else status_reason(member.case)


def engine_error_text(member: GroupMember) -> str:
    """Return the engine's own words of the error in one case; else ""."""
    lead = member.finding.lead if member.finding is not None else None
    is_raised = lead is not None and lead.cause is not None and lead.cause.fault.kind in ("rule_fails", "it_raises")
    return _error(lead) if lead is not None and is_raised else ""
