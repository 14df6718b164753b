"""A run as one page: summary, causes, every case."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, get_args

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gradcheck import __version__
from gradcheck.checks.result import PROBLEM_STATUSES, CaseResult, CaseStatus, RunResult
from gradcheck.reports.causes import Causes, GroupMember, find_causes
from gradcheck.reports.number_formats import format_error, format_number
from gradcheck.reports.overview import member_place
from gradcheck.reports.page.case_view import brief_view, case_remark, full_view
from gradcheck.reports.palette import css_colours
from gradcheck.reports.phrases.cause_titles import group_detail, group_title, member_title
from gradcheck.reports.safe_text import format_place, plain, truncate
from gradcheck.reports.source_lines import suggested_edit
from gradcheck.reports.summary import convention_lines, mutation_score_summary, summary, unsupported_lines

#: The most bytes of a page, and of its part with cases in full; failures come first,
#: then cases in short, then verdicts alone.
MAX_BYTES, MAX_FULL_BYTES = 15_000_000, 12_000_000
#: The most causes, cases of a cause, and cases of all causes; the longest title,
#: and the longest remark in a row.
MOST_CAUSES, MOST_MEMBERS, MOST_LINKS, MOST_TITLE, MAX_ROW_TEXT = 100, 100, 1000, 400, 160
#: The number of cases without room after which no more are tried.
_MISSES = 20
#: Code in a sentence.
_TICKS = re.compile("`([^`]+)`")
#: The shortest part of the bar, of 1000.
_LEAST = 8.0
#: The statuses in the order of the bar, with their marks.
MARKS: dict[CaseStatus, str] = {
    "crashed": "✗",
    "invalid": "✗",
    "failed": "✗",
    "xpassed": "!",
    "unsupported": "–",
    "skipped": "–",
    "xfailed": "·",
    "passed": "✓",
}


#: A link to a case: its position in the run, its name, its place.
CaseLink = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class CauseView:
    """One reason why cases fail."""

    title: str
    detail: str
    suggestion: str
    cases: tuple[CaseLink, ...]
    more: int = 0

    @property
    def count(self) -> int:
        return len(self.cases) + self.more


def render_run_page(result: RunResult) -> str:
    """Return the whole document, ending in a newline."""
    found = find_causes(result)
    numbers = {id(case): number for number, case in enumerate(result.cases)}
    counts = [(status, result.count(status), MARKS[status]) for status in MARKS if result.count(status)]
    data = script_data(_rows(result))
    return render_template(
        "page.html.j2",
        ("graph.css", "pieces.css", "page.css"),
        ("page.js",),
        title=summary(result),
        counts=counts,
        bar=_bar(counts),
        causes=list(_causes(found, numbers)),
        told=[
            *convention_lines(result),
            *unsupported_lines(result, True),
            *filter(None, [mutation_score_summary(result)]),
        ],
        cases=_cases(result, found, numbers, len(data.encode())),
        data=data,
        environment=result.environment,
        statuses=[status for status, _, _ in counts],
        tags=_tags(result),
        engines=_all_engines(result),
    )


# A document --------------------------------------------------------------------------------------------


def render_template(template: str, styles: Iterable[str], scripts: Iterable[str], **shown: Any) -> str:
    """Return a page with these styles and scripts; a policy forbids others."""
    style, script = style_sheet(styles), "".join(map(static_file, scripts))
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script)}'; style-src 'sha256-{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types gradcheck"
    )
    page = template_environment().get_template(template)
    return page.render(policy=policy, style=style, script=script, version=__version__, marks=MARKS, **shown) + "\n"


@cache
def template_environment() -> Environment:
    """Return the environment of templates, which escapes all values."""
    found = Environment(
        loader=PackageLoader("gradcheck.reports.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_escape_controls,
    )
    found.filters["brief"] = format_error
    found.filters["ticked"] = _mark_up_code
    return found


def _mark_up_code(text: str) -> Markup:
    return Markup(_TICKS.sub(r"<code>\1</code>", str(escape(_escape_controls(text)))))


def _escape_controls(value: Any) -> Any:
    """Return text with control characters escaped; markup as it is."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return "\n".join(map(plain, value.split("\n")))
    return value


@cache
def static_file(name: str) -> str:
    """Return a script or a style of the package."""
    return files("gradcheck.reports.page").joinpath("static", name).read_text(encoding="utf-8")


def style_sheet(names: Iterable[str]) -> str:
    """Return the colours, then these styles."""
    return css_colours("gc") + "".join(map(static_file, names))


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode("ascii")


def script_data(value: Any) -> str:
    """Return JSON that neither ends a script element nor a line of JavaScript."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text)


# The overview ------------------------------------------------------------------------------------------


def _bar(counts: list[tuple[CaseStatus, int, str]]) -> list[tuple[CaseStatus, float, float]]:
    """Return start and length of each status in a bar of 1000; none too short."""
    total = sum(number for _, number, _ in counts)
    lengths = [max(_LEAST, 1000 * number / total) for _, number, _ in counts]
    scale = 1000 / sum(lengths) if lengths else 0
    start, found = 0.0, []
    for (status, _, _), length in zip(counts, lengths, strict=True):
        found.append((status, round(start, 1), round(length * scale, 1)))
        start += length * scale
    return found


def _causes(found: Causes, numbers: dict[int, int]) -> Iterator[CauseView]:
    for group in found.groups[:MOST_CAUSES]:
        most = min(MOST_MEMBERS, max(4, MOST_LINKS // len(found.groups)))
        links = tuple(_link(member, numbers) for member in group.members[:most])
        more = len(group.members) - len(links)
        title = truncate(group_title(group), MOST_TITLE)
        yield CauseView(title, truncate(group_detail(group), MOST_TITLE), _suggested_formula(group.lead), links, more)
    single = [member for _, members in found.cases for member in members]
    for member in single[: max(0, MOST_CAUSES - len(found.groups))]:
        title = truncate(member_title(member), MOST_TITLE)
        yield CauseView(title, "", _suggested_formula(member), (_link(member, numbers),))


def _suggested_formula(member: GroupMember) -> str:
    known = suggested_edit(member.finding.lead) if member.finding is not None else None
    return truncate(plain(known[0].formula), MOST_TITLE) if known is not None else ""


def _link(member: GroupMember, numbers: dict[int, int]) -> CaseLink:
    case = member.case
    return numbers[id(case)], plain(case.name or case.file), format_place(member_place(member))


def _rows(result: RunResult) -> dict[str, Any]:
    """Return the list of cases: a row each, tags and engines as indices."""
    tags = {tag: n for n, tag in enumerate(_tags(result))}
    engines = {name: n for n, name in enumerate(_all_engines(result))}
    statuses = list(get_args(CaseStatus))
    rows = [
        [
            plain(case.id),
            plain(case.name or case.file),
            format_place(case.place) if case.place.file else plain(case.file),
            statuses.index(case.status),
            round(case.seconds, 6),
            _worst_error(case),
            [tags[plain(tag)] for tag in case.tags],
            [engines[name] for name in _engines(case)],
            truncate(plain(case_remark(case)), MAX_ROW_TEXT),
        ]
        for case in result.cases
    ]
    order = [
        PROBLEM_STATUSES.index(status) if status in PROBLEM_STATUSES else len(PROBLEM_STATUSES) for status in statuses
    ]
    marks = [MARKS[status] for status in statuses]
    return {"tags": list(tags), "engines": list(engines), "statuses": statuses, "marks": marks,
            "order": order, "rows": rows}  # fmt: skip


def _tags(result: RunResult) -> list[str]:
    return sorted({plain(tag) for case in result.cases for tag in case.tags})


def _all_engines(result: RunResult) -> list[str]:
    return sorted({name for case in result.cases for name in _engines(case)})


def _engines(case: CaseResult) -> list[str]:
    found = (name for c in case.comparisons for name in (c.engine, c.reference))
    return [plain(name) for name in dict.fromkeys(found) if name not in ("", "case")]


def _worst_error(case: CaseResult) -> float | str | None:
    """Return the largest relative error of failures, else of what passed."""
    # `inf` if it is not finite; `none` if nothing was compared though the case is wrong
    wrong = [c for c in case.comparisons if c.is_failing]
    right = (c for c in case.comparisons if c.status == "passed" and not c.what.is_stated_wrong)
    known = (c.max_rel for c in (wrong or right) if c.max_rel is not None)
    sizes = [float("inf") if size != size else size for size in known]
    if not sizes:
        return "none" if case.is_failing else None
    worst = max(sizes)
    return float(format_number("cell", worst)) if worst < float("inf") else "inf"


# Cases -------------------------------------------------------------------------------------------------


def _cases(result: RunResult, found: Causes, numbers: dict[int, int], used: int) -> Iterator[str]:
    """Yield the HTML of cases, failures first; in full while bytes allow it."""
    template = template_environment().get_template("case.html.j2")
    first = [group.lead.case for group in found.groups]
    bad = [case for case in result.cases if case.is_failing]
    order = {id(case): case for case in (*first, *bad, *result.cases)}
    missed = {full_view: 0, brief_view: 0}
    for key, case in order.items():
        for view, most in ((full_view, MAX_FULL_BYTES), (brief_view, MAX_BYTES)):
            if missed[view] > _MISSES:
                continue
            text = template.render(v=view(case), number=numbers[key], marks=MARKS)
            size = len(text.encode())
            if used + size <= most:
                used += size
                yield text
                break
            missed[view] += 1
