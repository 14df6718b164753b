"""Sentences on a whole run: summary, lacks, mutation scores, coverage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from gradcheck.autograd.op import whole_table
from gradcheck.checks.coverage import Coverage
from gradcheck.checks.mutation_score import MutationScore
from gradcheck.checks.result import CaseResult, CaseStatus, RunResult
from gradcheck.checks.unsupported_features import UnsupportedFeatures, unsupported_by_engine, unsupported_features
from gradcheck.errors import Place
from gradcheck.reports.number_formats import format_duration, format_error, percentage
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.phrase_table import ranges
from gradcheck.reports.safe_text import count, join_words, plain
from gradcheck.reports.source_lines import relative_to_cwd

#: The order of statuses in the summary.
_ORDER: tuple[CaseStatus, ...] = (
    "failed",
    "crashed",
    "xpassed",
    "passed",
    "invalid",
    "skipped",
    "xfailed",
    "unsupported",
)
#: The most surviving mutants that are listed; -v shows all.
_LISTED = 3
#: The most names of a kind, such as missing ops; -v lists all.
_MOST_LISTED = 8


def summary(result: RunResult) -> str:
    """Return `3 failed, 1997 passed in 4.2s`, with wrong references."""
    number = Counter(case.status for case in result.cases)
    counts = [f"{number[status]} {status}" for status in _ORDER if number[status]]
    nothing = ": nothing was checked" if result.cases and result.checked_nothing else ""
    line = f"{', '.join(counts) or 'no cases'}{nothing}{_wrong_references(result)} in {format_duration(result.seconds)}"
    line += f", {result.cached} from the cache" if result.cached else ""
    if not result.interrupted:
        return line
    ran = f"{len(result.cases)} of {result.selected} ran: " if result.selected else ""
    return f"interrupted: {ran}{line}"


def _wrong_references(result: RunResult) -> str:
    names = [name for case in result.cases for name in case.wrong_references]
    told = [f"{plain(name)} is wrong in {count(names.count(name), 'case')}" for name in dict.fromkeys(names)]
    return f" ({', '.join(told)})" if told else ""


def slowest_lines(result: RunResult, number: int | None) -> list[str]:
    """Return `0.42s  a.yaml::b  (trials 0.30s)` for the slowest cases; 0: all."""
    if number is None:
        return []
    slow = sorted(result.cases, key=lambda case: -case.seconds)[: number or None]
    return [f"{format_duration(case.seconds):>7}  {plain(case.id)}{_slowest_stages(case)}" for case in slow]


def _slowest_stages(case: CaseResult) -> str:
    """Return the stages that take most of a case's time, at most three."""
    least = max(0.1 * case.seconds, 0.01)
    stages = sorted(case.stage_seconds.items(), key=lambda stage: -stage[1])[:3]
    shown = [f"{name} {format_duration(seconds)}" for name, seconds in stages if seconds >= least]
    return f"  ({', '.join(shown)})" if shown else ""


def convention_lines(result: RunResult) -> list[str]:
    """Return what engines do otherwise by design, each once."""
    return [f"{plain(engine)}: {plain(say(one))}" for engine, one in result.conventions]


def unsupported_lines(result: RunResult, everything: bool = False) -> list[str]:
    """Return `mine.Tensor cannot run 14 of 60 cases; …` for each engine."""
    return [_unsupported_line(one, everything) for one in unsupported_features(result)]


def _unsupported_line(one: UnsupportedFeatures, everything: bool) -> str:
    alone = [word for word in one.features if one.unlocks[word]]
    together = [word for word in one.features if not one.unlocks[word]]
    text = f"{plain(one.engine)} cannot run {one.unsupported} of {count(one.cases, 'case')}"
    most = None if everything else _MOST_LISTED
    if alone:
        named = [f"{plain(word)} ({one.unlocks[word]})" for word in alone]
        text += f"; one more feature adds cases: {join_words(named, most)}"
    if together:
        named = [plain(word) for word in together]
        text += f"; {'others' if alone else 'these'} need several features: {join_words(named, most)}"
    return text


def missing_features_text(case: CaseResult) -> str:
    """Return `has no softmax` of an unsupported case, by engine if several."""
    found = unsupported_by_engine(case) if case.status == "unsupported" else {}
    if len(found) == 1:
        return f"has no {', '.join(map(plain, next(iter(found.values()))))}"
    return "; ".join(f"{plain(engine)} has no {', '.join(map(plain, words))}" for engine, words in found.items())


def mutation_score_lines(case: CaseResult, everything: bool = False) -> list[str]:
    """Return a line on the mutation score, and one for each surviving mutant."""
    power = case.power
    if power is None:
        return []
    if power.is_vacuous:
        return ["power: vacuous: no fault that can be planted here would be noticed"]
    planted = count(len(power.mutants), "planted fault")
    lines = [f"power: {power.caught} of {planted} caught{_smallest(power.smallest_seen_error)}"]
    listed = power.survivors if everything else power.survivors[:_LISTED]
    lines += [f"  not caught: {say(one.kind)}, in {plain(say(one.where))}" for one in listed]
    if len(power.survivors) > len(listed):
        lines.append(f"  and {len(power.survivors) - len(listed)} more; -v shows them all")
    return lines


def _smallest(smallest: Mapping[str, float]) -> str:
    """Return `; relative errors seen from 2e-10 (x), 3e-6 (y)`."""
    if not smallest:
        return ""
    low, high = min(smallest, key=smallest.__getitem__), max(smallest, key=smallest.__getitem__)
    text = f"; relative errors seen from {format_error(smallest[low])}"
    if smallest[high] <= 2 * smallest[low]:
        return text
    return f"{text} ({plain(low)}), {format_error(smallest[high])} ({plain(high)})"


def mutation_score_summary(result: RunResult) -> str:
    """Return the mutation score of the run; empty if none was measured."""
    measured = [case.power for case in result.cases if case.power is not None]
    if not measured:
        return ""
    planted, caught = sum(len(power.mutants) for power in measured), sum(power.caught for power in measured)
    share = f" ({percentage(caught, planted, 1)})" if planted else ""
    vacuous = sum(power.is_vacuous for power in measured)
    rest = f"; {count(vacuous, 'case')} vacuous" if vacuous else ""
    return f"power: {caught} of {count(planted, 'planted fault')} caught{share}{rest}{_rule_coverage_text(measured)}"


def _rule_coverage_text(measured: list[MutationScore]) -> str:
    where = {(m.where["op"], m.where["argument"]) for one in measured for m in one.mutants if m.where.kind == "in_rule"}
    rules = sum(rule is not None for op in whole_table().values() for rule in op.rules)
    return f"; in {len(where)} of {rules} rules of the table" if where else ""


def coverage_lines(found: Coverage, everything: bool = False) -> list[str]:
    """Return a line a kind, with what no case exercised."""
    ops, rules, arguments = set(whole_table()), found.all_rules, found.all_arguments
    lines = [
        _line("ops", "applied", found.ops & ops, ops, everything),
        _line("rules", "used", _dotted(found.rules & rules), _dotted(rules), everything),
        _line("arguments that have defaults", "given", _dotted(found.arguments), _dotted(arguments), everything),
    ]
    whole = {f"{file}:{line}" for file, numbers in found.all_lines.items() for line in numbers}
    if whole:
        seen = {f"{file}:{line}" for file, numbers in found.lines.items() for line in numbers} & whole
        left = {file: found.all_lines[file] - found.lines[file] for file in found.all_lines}
        lines.append(f"coverage: {_share(len(seen), len(whole))} lines of the engine's functions ran")
        spans = [
            f"{plain(relative_to_cwd(Place(file)).file)}:{ranges(sorted(numbers), '-')}"
            for file, numbers in sorted(left.items())
            if numbers
        ]
        lines += [f"  not run: {span}" for span in (spans if everything else spans[:_MOST_LISTED])]
        if len(spans) > _MOST_LISTED and not everything:
            lines.append(f"  and in {len(spans) - _MOST_LISTED} more files (-v)")
    return lines


def _line(what: str, done: str, seen: Iterable[str], whole: set[str], everything: bool) -> str:
    known = set(seen)
    left = sorted(whole - known)
    text = f"coverage: {_share(len(known), len(whole))} {what} {done}"
    return f"{text}; not {join_words(left, None if everything else _MOST_LISTED)}" if left else text


def _share(count: int, of: int) -> str:
    return f"{count:,} of {of:,} ({percentage(count, of)})"


def _dotted(names: Iterable[tuple[str, str]]) -> set[str]:
    return {f"{op}({argument})" for op, argument in names}
