"""What went wrong in a run, by cause: findings of several cases that one mistake explains are one.

A mistake in an engine shows in many cases. What a file claims is its own, unless others claim just the same.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from gradcheck.checks.result import CaseResult, Comparison, Failure, RunResult
from gradcheck.facts import Fact
from gradcheck.reports.findings import BAD, Finding, findings

#: Mistakes that an engine makes in one place, whatever ops show them.
EVERYWHERE = frozenset(
    ("mutated", "stale", "overwritten", "use_dropped", "counted_twice", "passed_on_early", "broadcast_not_undone")
)
#: Of a rule that raises an error: it is not known why, or it is made for matrices.
_OF_REFUSALS = ("", "matrices_alone")
#: Those of them that a tensor with two uses shows.
_OF_USES = ("overwritten", "use_dropped", "counted_twice", "mutated")
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Member:
    """A case, and one thing that is wrong with it: a finding, or an error that belongs to none."""

    case: CaseResult
    finding: Finding | None = None
    error: Failure | None = None
    others: int = 0  # how much else is wrong with the case


@dataclass(frozen=True, slots=True)
class Group:
    """What one mistake explains, the clearest case first. `ops` are those that show it, the one that is to blame first;
    `leads` all comparisons."""

    members: tuple[Member, ...]
    ops: tuple[str, ...] = ()
    leads: tuple[Comparison, ...] = ()
    engine: str = ""  # whose it is, where several fail

    @property
    def lead(self) -> Member:
        """The case in which it is seen best."""
        return self.members[0]


@dataclass(frozen=True, slots=True)
class Causes:
    """What is wrong with a run: groups over several cases, those with most cases first, but those in which an op does
    no worse than refuse last; then what single cases have of their own, as `(case, members)`."""

    groups: tuple[Group, ...]
    cases: tuple[tuple[CaseResult, tuple[Member, ...]], ...]


def causes(result: RunResult) -> Causes:
    """Everything that is wrong with a run."""
    bad = [case for case in result.cases if case.status in BAD]
    members = [member for case in bad for member in members_of(case)]
    keys = _merged({_key(member): member for member in members})
    by_key: dict[Hashable, list[Member]] = {}
    for member in members:
        by_key.setdefault(keys[_key(member)], []).append(member)
    shared = {key: found for key, found in by_key.items() if len({id(member.case) for member in found}) > 1}
    grouped = {id(member) for found in shared.values() for member in found}
    engines = {name for member in members if (name := _engine(member))}
    groups = [_group(key, found) for key, found in shared.items()]
    if len(engines) > 1:
        groups = [replace(group, engine=_engine(group.lead)) for group in groups]
    groups.sort(key=lambda group: (_refuses(group), -len(group.members)))
    own: dict[int, list[Member]] = {}
    for member in members:
        if id(member) not in grouped:
            own.setdefault(id(member.case), []).append(member)
    return Causes(tuple(groups), tuple((case, tuple(own[id(case)])) for case in _worst_first(bad) if id(case) in own))


def _refuses(group: Group) -> bool:
    """Whether an op has no wrong number anywhere, but raises an error for operands of some shapes."""
    causes = [lead.cause for lead in group.leads]
    return bool(causes) and all(
        cause is not None and inner(cause.what).kind in ("rule_fails", "it_raises") and diagnosed(lead) in _OF_REFUSALS
        for cause, lead in zip(causes, group.leads, strict=True)
    )


def _engine(member: Member) -> str:
    """Whose a finding is; empty for what a file claims, and for errors."""
    lead = member.finding.lead if member.finding is not None else None
    return "" if lead is None or lead.what.is_of_file else lead.engine


def _worst_first(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """Cases that crashed, then those that are invalid, then those that fail."""
    return sorted(cases, key=lambda case: BAD.index(case.status))


def members_of(case: CaseResult) -> list[Member]:
    """All that is wrong with a case; what an engine raised is left out where a finding says why."""
    found = findings(case)
    told = any(finding.tells_error for finding in found)
    errors = [error for error in case.errors if not (told and error.message.kind == "in_engines")]
    total = len(found) + len(errors) - 1
    members = [Member(case, error=error, others=total) for error in errors]
    members += [Member(case, finding, others=total) for finding in found]
    return members or [Member(case)]


# What is the same ----------------------------------------------------------------------------------------


def _key(member: Member) -> Hashable:
    """What members of one group have in common; the case itself for what is its own."""
    if member.finding is None:
        return _of_error(member)
    lead = member.finding.lead
    if lead.what.is_of_file:
        return _of_claim(lead) or id(member.case)
    kind = diagnosed(lead)
    if kind in EVERYWHERE:
        return lead.engine, kind
    if lead.cause is not None:
        what = inner(lead.cause.what)
        fails = what.kind in ("rule_fails", "it_raises", "value_is_wrong", "its_jvp_is_wrong", "shared_argument")
        return (
            lead.engine,
            op_of(lead) or lead.cause.origin.kind,
            what.kind if fails and not kind else "",
            "" if op_of(lead) else (kind, _shape(lead.cause.what)),
        )
    return lead.engine, lead.what.subject, _shape(lead.mismatch), kind


def _of_claim(c: Comparison) -> Hashable:
    """The same text, for the same tensor, with the same mistake in it; None for numbers that a file states."""
    if not c.formula:
        return None
    mistakes = tuple((d.kind, d.formula) for d in c.diagnoses if d.formula or d.confidence)
    step = c.cause.origin["name"] if c.cause is not None and c.cause.origin.kind == "step" else ""
    return c.what, c.tensor, c.formula, step, mistakes, _shape(c.mismatch)


def _of_error(member: Member) -> Hashable:
    error = member.error
    if error is None:
        return id(member.case)
    is_own = member.case.status == "invalid" or error.message.kind == "refused"  # what a file says
    return error.kind, error.hint, error.message if is_own else _shape(error.message)


def _shape(found: Fact | None) -> Hashable:
    """A fact without names and numbers: the kinds in it, and what was said, numbers left out."""
    if found is None:
        return None
    parts: list[Hashable] = [found.kind]
    for name, value in found.data:
        if isinstance(value, Fact):
            parts.append(_shape(value))
        elif name in ("text", "error") and isinstance(value, str):
            parts.append(_NUMBERS.sub("#", value))
    return tuple(parts)


def diagnosed(c: Comparison) -> str:
    """The kind of the mistake that is told first, if it was confirmed."""
    first = next((d for d in c.diagnoses if d.confidence), None)
    return first.kind if first is not None and first.confidence == "confirmed" else ""


def op_of(c: Comparison) -> str:
    """The op at which gradients go wrong."""
    origin = None if c.cause is None else c.cause.origin
    return str(origin["op"]) if origin is not None and origin.kind in ("op_at", "op_inside") else ""


def inner(what: Fact) -> Fact:
    """What is wrong with an op, beside how many others are right."""
    return what["what"] if what.kind == "among_operations" else what


def _merged(known: dict[Hashable, Member]) -> dict[Hashable, Hashable]:
    """For each key the one that its members are told under: an op that an engine makes of another that is wrong goes
    with that, the gradients of one whose value is wrong go with the value, and one that is wrong only where two of its
    arguments are one tensor with how uses are added up."""
    first: dict[Hashable, Hashable] = {}
    made: dict[Hashable, tuple[Hashable, ...]] = {}
    for key, member in known.items():
        lead = member.finding.lead if member.finding else None
        if lead is None or lead.cause is None or not op_of(lead):
            continue
        if diagnosed(lead) in EVERYWHERE:
            first.setdefault((lead.engine, op_of(lead)), key)
            continue
        if inner(lead.cause.what).kind == "shared_argument":
            made[key] = tuple((lead.engine, kind) for kind in (op_of(lead), *_OF_USES))
        else:
            first.setdefault((lead.engine, op_of(lead)), key)
            value = (lead.engine, op_of(lead), "value_is_wrong", "")
            made[key] = (value, *((lead.engine, part) for part in _made_of(lead)))
    first |= {key: key for key in known if _is_everywhere(key)}
    first |= {key: key for key in known if isinstance(key, tuple) and key[2:3] == ("value_is_wrong",)}
    ends: dict[Hashable, Hashable] = {}
    same = _of_one_function(known)
    for key in known:
        end, seen = key, {key}
        while end in made:
            following = next((first[part] for part in made[end] if first.get(part, end) not in seen), None)
            if following is None:
                break
            seen.add(following)
            end = following
        ends[key] = same.get(end, end)
    return ends


def _of_one_function(known: dict[Hashable, Member]) -> dict[Hashable, Hashable]:
    """For the key of an op, that of the first for which an engine calls the same function, where both show the same
    mistake: its `dot`, which is `matmul`, and `mm`."""
    first: dict[Hashable, Hashable] = {}
    found: dict[Hashable, Hashable] = {}
    for key, member in known.items():
        lead = member.finding.lead if member.finding else None
        if lead is not None and lead.code is not None and op_of(lead) and diagnosed(lead):
            found[key] = first.setdefault((lead.engine, lead.code, diagnosed(lead)), key)
    return found


def _is_everywhere(key: Hashable) -> TypeGuard[tuple[str, str]]:
    return isinstance(key, tuple) and len(key) == 2 and key[1] in EVERYWHERE


def _made_of(c: Comparison) -> tuple[str, ...]:
    what: Any = None if c.cause is None else c.cause.what
    return tuple(what["made_of"]) if what is not None and what.kind == "among_operations" else ()


# A group -------------------------------------------------------------------------------------------------


def _group(key: Hashable, members: list[Member]) -> Group:
    """Of an op and others that are made of it, its own cases come first."""
    ordered = sorted(members, key=lambda member: (_key(member) != key, _clearness(member)))
    once = {id(member.case): member for member in reversed(ordered)}
    kept = tuple(member for member in ordered if once[id(member.case)] is member)
    leads = [member.finding.lead for member in ordered if member.finding is not None]
    return Group(kept, tuple(dict.fromkeys(op_of(lead) for lead in leads if op_of(lead))), tuple(leads))


def _clearness(member: Member) -> tuple[Any, ...]:
    """Less for a case in which little else is wrong, the mistake is known, and there are few numbers."""
    if member.finding is None:
        return (member.others,)
    lead = member.finding.lead
    is_inside = lead.operation is not None and bool(lead.operation.inside)
    made = _made_of(lead)
    size = lead.elements or (lead.want_array.size if lead.want_array is not None else 0)
    return member.others, not diagnosed(lead), is_inside, bool(made), size <= 1, size, lead.trial is not None
