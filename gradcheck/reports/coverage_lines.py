"""The report of `--coverage`: counts, and what no case exercised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradcheck.autograd.op import whole_table
from gradcheck.checks.coverage import Coverage
from gradcheck.errors import Place
from gradcheck.reports.number_formats import percentage
from gradcheck.reports.safe_text import join_words, plain
from gradcheck.reports.source_lines import relative_to_cwd

#: The most names of a kind; -v lists all.
_LISTED = 8


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
            f"{plain(relative_to_cwd(Place(file)).file)}:{_format_ranges(numbers)}"
            for file, numbers in sorted(left.items())
            if numbers
        ]
        lines += [f"  not run: {span}" for span in (spans if everything else spans[:_LISTED])]
        lines += [f"  and in {len(spans) - _LISTED} more files (-v)"] if len(spans) > _LISTED and not everything else []
    return lines


def _line(what: str, done: str, seen: Iterable[str], whole: set[str], everything: bool) -> str:
    known = set(seen)
    left = sorted(whole - known)
    text = f"coverage: {_share(len(known), len(whole))} {what} {done}"
    return f"{text}; not {join_words(left, None if everything else _LISTED)}" if left else text


def _share(count: int, of: int) -> str:
    return f"{count:,} of {of:,} ({percentage(count, of)})"


def _dotted(names: Iterable[tuple[str, str]]) -> set[str]:
    return {f"{op}({argument})" for op, argument in names}


def _format_ranges(numbers: set[int]) -> str:
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in _consecutive_ranges(sorted(numbers)))


def _consecutive_ranges(numbers: list[int]) -> Iterator[tuple[int, int]]:
    first = last = numbers[0]
    for number in numbers[1:]:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last
