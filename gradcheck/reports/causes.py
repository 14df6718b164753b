"""Problems by reason: findings of a case, and causes over several cases.

A mistake in an engine shows in many cases. A claim of a file is its own, unless other cases claim the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from gradcheck.checks.result import PROBLEM_STATUSES, CaseResult, Comparison, Failure, RunResult
from gradcheck.errors import Place
from gradcheck.facts import Fact
from gradcheck.language.claim_kind import ClaimKind

#: Mistakes in an engine's backward pass, which any op may show.
ENGINE_WIDE_MISTAKES = frozenset(
    ("mutated", "stale", "overwritten", "use_dropped", "counted_twice", "passed_on_early", "broadcast_not_undone")
)
#: Diagnoses of a rule that raises an error without another reason.
_UNEXPLAINED_ERRORS = ("", "matrices_alone")
#: The engine-wide mistakes that a tensor with two uses shows.
_SHARED_USE_MISTAKES = ("overwritten", "use_dropped", "counted_twice", "mutated")
_NUMBERS = re.compile(r"\d+")
#: Between the names of engines that fail alike.
ENGINE_SEPARATOR = " and "
#: An engine, and its first fault.
Origin = tuple[str, Fact]


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem: its clearest comparison, agreeing ones, and consequences."""

    lead: Comparison
    others: tuple[Comparison, ...] = ()
    consequences: tuple[Comparison, ...] = ()

    @property
    def explains_error(self) -> bool:
        """True if it explains an error that an engine raised."""
        return any(c.what is ClaimKind.RAISES for c in (self.lead, *self.others, *self.consequences))


def worst_first(cases: Iterable[CaseResult]) -> list[CaseResult]:
    """Return cases that make a run fail: crashed, invalid, failed, xpassed."""
    bad = (case for case in cases if case.is_failing)
    return sorted(bad, key=lambda case: PROBLEM_STATUSES.index(case.status))


def findings(case: CaseResult) -> list[Finding]:
    """Return failed and undecided comparisons, grouped by subject.

    Values come in the order of the graph, gradients in reverse, as a backward pass flows. Causes come before other
    gradients, and take their consequences with them. Of code, gradients whose mistake is known come first.
    """
    unsettled = [c for c in case.comparisons if c.is_failing and not (case.errors and _is_case_error(c))]
    origins = {(c.engine, c.cause.origin) for c in case.comparisons if c.cause and c.is_failing}
    groups: dict[tuple[object, ...], list[Comparison]] = {}
    behind: dict[Origin, list[Comparison]] = {}
    for c in unsettled:
        origin = (c.engine, c.consequence_of) if c.consequence_of else None
        if origin in origins and not c.cause:
            behind.setdefault(origin, []).append(c)
        else:
            groups.setdefault(_subject_key(c), []).append(c)
    positions = {key: index for index, key in enumerate(groups)}

    def place(key: tuple[object, ...]) -> tuple[int, bool, int, bool, int]:
        lead = groups[key][0]
        kind = lead.what.subject
        caused = kind.rank >= ClaimKind.NODE.rank and any(c.cause for c in groups[key])
        rank = ClaimKind.NODE.rank if caused else kind.rank
        position = -positions[key] if kind is ClaimKind.GRADIENT else positions[key]
        is_unknown = lead.code is not None and not any(one.confidence for c in groups[key] for one in c.diagnoses)
        return rank, not caused, lead.step, is_unknown, position

    return [_make_finding(groups[key], behind) for key in sorted(groups, key=place)]


def _is_case_error(comparison: Comparison) -> bool:
    """Return whether the errors of the case already report it."""
    return comparison.what is ClaimKind.RAISES and comparison.reference == "case"


def _subject_key(c: Comparison) -> tuple[object, ...]:
    kind = c.what.subject
    if kind in (ClaimKind.VALUE, ClaimKind.GRADIENT):
        return kind, c.tensor, c.step
    op = c.operation.application.op.name if c.operation is not None else ""
    return kind, c.tensor, c.step, c.formula, c.engine, op


def _make_finding(group: list[Comparison], behind: dict[Origin, list[Comparison]]) -> Finding:
    first, *others = sorted(
        _merge_engines(group), key=lambda c: (not c.cause, c.what is not c.what.subject, c.trial is not None)
    )
    origins = dict.fromkeys((c.engine, c.cause.origin) for c in group if c.cause)
    return Finding(first, tuple(others), tuple(c for origin in origins for c in behind.get(origin, ())))


def _merge_engines(group: list[Comparison]) -> list[Comparison]:
    alike: dict[tuple[object, ...], list[Comparison]] = {}
    for index, c in enumerate(group):
        key = (c.what, c.reference, c.mismatch, c.mismatched, index if c.trial is not None else None)
        alike.setdefault(key, []).append(c)
    names = (dict.fromkeys(c.engine for c in same) for same in alike.values())
    return [
        same[0].with_subject(engine=ENGINE_SEPARATOR.join(n)) for same, n in zip(alike.values(), names, strict=True)
    ]


def place_in_case(case: CaseResult, place: Place) -> Place:
    """Return the place, or the case's own if it has no line."""
    chosen = place if place.line else case.place
    return Place(chosen.file or place.file or case.file, chosen.line, chosen.column)


@dataclass(frozen=True, slots=True)
class GroupMember:
    """A case and one problem of it: a finding, or an error without a finding."""

    case: CaseResult
    finding: Finding | None = None
    error: Failure | None = None
    other_problems: int = 0  # how many other problems the case has


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """The findings that one mistake explains, the clearest case first.

    `ops` are the ops that show it, the one at fault first; `leads` are all comparisons. `engine` is empty if only one
    engine of the run fails.
    """

    members: tuple[GroupMember, ...]
    ops: tuple[str, ...] = ()
    leads: tuple[Comparison, ...] = ()
    engine: str = ""  # the engine at fault, if several fail

    @property
    def lead(self) -> GroupMember:
        """The clearest case."""
        return self.members[0]


@dataclass(frozen=True, slots=True)
class Causes:
    """Groups over several cases, then the problems of single cases."""

    # groups that only raise errors come last, before them those with most cases first
    groups: tuple[FailureGroup, ...]
    cases: tuple[tuple[CaseResult, tuple[GroupMember, ...]], ...]


def find_causes(result: RunResult) -> Causes:
    """Return everything that is wrong with a run."""
    bad = [case for case in result.cases if case.is_failing]
    members = [member for case in bad for member in case_members(case)]
    keys = _merge_keys({_group_key(member): member for member in members})
    by_key: dict[Hashable, list[GroupMember]] = {}
    for member in members:
        by_key.setdefault(keys[_group_key(member)], []).append(member)
    shared = {key: found for key, found in by_key.items() if len({id(member.case) for member in found}) > 1}
    grouped = {id(member) for found in shared.values() for member in found}
    engines = {name for member in members if (name := _engine(member))}
    groups = [_make_group(key, found) for key, found in shared.items()]
    if len(engines) > 1:
        groups = [replace(group, engine=_engine(group.lead)) for group in groups]
    groups.sort(key=lambda group: (_only_raises_errors(group), -len(group.members)))
    own: dict[int, list[GroupMember]] = {}
    for member in members:
        if id(member) not in grouped:
            own.setdefault(id(member.case), []).append(member)
    return Causes(tuple(groups), tuple((case, tuple(own[id(case)])) for case in worst_first(bad) if id(case) in own))


def _only_raises_errors(group: FailureGroup) -> bool:
    """Return whether the ops raise errors and give no wrong number anywhere."""
    causes = [lead.cause for lead in group.leads]
    return bool(causes) and all(
        cause is not None
        and cause.fault.kind in ("rule_fails", "it_raises")
        and confirmed_diagnosis(lead) in _UNEXPLAINED_ERRORS
        for cause, lead in zip(causes, group.leads, strict=True)
    )


def _engine(member: GroupMember) -> str:
    lead = member.finding.lead if member.finding is not None else None
    return "" if lead is None or lead.what.is_stated_by_file else lead.engine


def case_members(case: CaseResult) -> list[GroupMember]:
    """Return all problems of a case, less errors that a finding explains."""
    found = findings(case)
    told = any(finding.explains_error for finding in found)
    errors = [error for error in case.errors if not (told and error.message.kind == "in_engines")]
    total = len(found) + len(errors) - 1
    members = [GroupMember(case, error=error, other_problems=total) for error in errors]
    members += [GroupMember(case, finding, other_problems=total) for finding in found]
    return members or [GroupMember(case)]


def _group_key(member: GroupMember) -> Hashable:
    """Return the key that members of one group share, or the case's id."""
    if member.finding is None:
        error = member.error
        if error is None:
            return id(member.case)
        is_own = member.case.status == "invalid" or error.message.kind == "refused"  # stated by the file
        return error.kind, error.hint, error.message if is_own else _fact_structure(error.message)
    lead = member.finding.lead
    if lead.what.is_stated_by_file:
        return _claim_key(lead) or id(member.case)
    kind = confirmed_diagnosis(lead)
    if kind in ENGINE_WIDE_MISTAKES:
        return lead.engine, kind
    if lead.cause is not None:
        what = lead.cause.fault
        fails = what.kind in ("rule_fails", "it_raises", "value_is_wrong", "its_jvp_is_wrong", "shared_argument")
        return (
            lead.engine,
            faulty_op(lead) or lead.cause.origin.kind,
            what.kind if fails and (not kind or what.kind == "value_is_wrong") else "",
            "" if faulty_op(lead) else (kind, _fact_structure(lead.cause.what)),
        )
    return lead.engine, lead.what.subject, _fact_structure(lead.mismatch), kind


def _claim_key(c: Comparison) -> Hashable:
    """Return the claim's text, tensor and mistake; None for stated numbers."""
    if not c.formula:
        return None
    mistakes = tuple((d.kind, d.formula) for d in c.diagnoses if d.formula or d.confidence)
    return c.what, c.tensor, c.formula, c.wrong_step, mistakes, _fact_structure(c.mismatch)


def _fact_structure(found: Fact | None) -> Hashable:
    """Return a fact without names and numbers: its kinds, and quoted text."""
    if found is None:
        return None
    parts: list[Hashable] = [found.kind]
    for name, value in found.data:
        if isinstance(value, Fact):
            parts.append(_fact_structure(value))
        elif name in ("text", "error") and isinstance(value, str):
            parts.append(_NUMBERS.sub("#", value))
    return tuple(parts)


def confirmed_diagnosis(c: Comparison) -> str:
    """Return the kind of the first diagnosis, if it was confirmed; else ""."""
    first = next((d for d in c.diagnoses if d.confidence), None)
    return first.kind if first is not None and first.confidence == "confirmed" else ""


def faulty_op(c: Comparison) -> str:
    """Return the op at which gradients go wrong; empty if it is not known."""
    origin = None if c.cause is None else c.cause.origin
    return str(origin["op"]) if origin is not None and origin.kind in ("op_at", "op_inside") else ""


def _merge_keys(known: dict[Hashable, GroupMember]) -> dict[Hashable, Hashable]:
    """Return for each key the key of the group that reports its members.

    An op that the engine composes of a wrong op joins that op's group. Gradients of an op whose value is wrong join the
    group of the value. An op that is wrong only if two of its arguments are one tensor joins the group of accumulation.
    """
    first: dict[Hashable, Hashable] = {}
    made: dict[Hashable, tuple[Hashable, ...]] = {}
    for key, member in known.items():
        lead = member.finding.lead if member.finding else None
        if lead is None or lead.cause is None or not faulty_op(lead):
            continue
        if confirmed_diagnosis(lead) in ENGINE_WIDE_MISTAKES:
            first.setdefault((lead.engine, faulty_op(lead)), key)
            continue
        if lead.cause.fault.kind == "shared_argument":
            made[key] = tuple((lead.engine, kind) for kind in (faulty_op(lead), *_SHARED_USE_MISTAKES))
        else:
            first.setdefault((lead.engine, faulty_op(lead)), key)
            value = (lead.engine, faulty_op(lead), "value_is_wrong", "")
            made[key] = (value, *((lead.engine, part) for part in _composing_ops(lead)))
    groups = [key for key in known if isinstance(key, tuple)]
    first |= {key: key for key in groups if len(key) == 2 and key[1] in ENGINE_WIDE_MISTAKES}
    first |= {key: key for key in groups if key[2:3] == ("value_is_wrong",)}
    ends: dict[Hashable, Hashable] = {}
    same = _keys_by_engine_function(known)
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


def _keys_by_engine_function(known: dict[Hashable, GroupMember]) -> dict[Hashable, Hashable]:
    """Map the keys of ops that are one function of an engine to the first."""
    # `dot`, which the engine implements as `matmul`, and `mm`, if both show the same mistake
    first: dict[Hashable, Hashable] = {}
    found: dict[Hashable, Hashable] = {}
    for key, member in known.items():
        lead = member.finding.lead if member.finding else None
        if lead is not None and lead.code is not None and faulty_op(lead) and confirmed_diagnosis(lead):
            found[key] = first.setdefault((lead.engine, lead.code, confirmed_diagnosis(lead)), key)
    return found


def _composing_ops(c: Comparison) -> tuple[str, ...]:
    what: Any = None if c.cause is None else c.cause.what
    return tuple(what["made_of"]) if what is not None and what.kind == "among_operations" else ()


def _make_group(key: Hashable, members: list[GroupMember]) -> FailureGroup:
    kinds = Counter(confirmed_diagnosis(member.finding.lead) for member in members if member.finding is not None)
    ordered = sorted(members, key=lambda member: (_group_key(member) != key, _clarity_key(member, kinds)))
    once = {id(member.case): member for member in reversed(ordered)}
    kept = tuple(member for member in ordered if once[id(member.case)] is member)
    leads = [member.finding.lead for member in ordered if member.finding is not None]
    return FailureGroup(kept, tuple(dict.fromkeys(faulty_op(lead) for lead in leads if faulty_op(lead))), tuple(leads))


def _clarity_key(member: GroupMember, kinds: Counter[str]) -> tuple[Any, ...]:
    """Return a sort key: few other problems, a frequent mistake, few numbers."""
    if member.finding is None:
        return (member.other_problems,)
    lead = member.finding.lead
    is_inside = lead.operation is not None and bool(lead.operation.inside)
    made = _composing_ops(lead)
    size = lead.elements or (lead.want_array.size if lead.want_array is not None else 0)
    kind, has_trial = confirmed_diagnosis(lead), lead.trial is not None
    return member.other_problems, not kind, -kinds[kind], is_inside, bool(made), size <= 1, size, has_trial
