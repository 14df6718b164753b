"""Runs, cases and explanations in Jupyter: pieces of the page, no script."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from gradcheck.autograd.trace import summarize
from gradcheck.checks.conformance.engine_conformance import Conformance
from gradcheck.checks.derivation import Explanation
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports import Look
from gradcheck.reports.causes import find_causes
from gradcheck.reports.commands.conformance_report import render as of_engine
from gradcheck.reports.commands.explanation import evidence_text, remarks_of
from gradcheck.reports.page.case_view import MOST_NODES, CaseView, array_statistics, brief_view, case_remark, full_view
from gradcheck.reports.page.mathml import expr_to_mathml
from gradcheck.reports.page.run_page import MARKS, style_sheet, template_environment
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.cause_titles import group_title
from gradcheck.reports.picture.diagram import diagram_of_case, nearest_nodes, with_verdicts
from gradcheck.reports.picture.svg import to_svg
from gradcheck.reports.safe_text import plain
from gradcheck.reports.summary import summary

#: The most failed cases in full, and the most cases in a line each.
MAX_FULL_CASES, MAX_BRIEF_CASES = 5, 200


@singledispatch
def html_of(thing: Any) -> str:
    """Return the thing as HTML for a notebook. Raises TypeError."""
    raise TypeError(f"a {type(thing).__name__} has no picture")


@html_of.register
def _(case: CaseResult) -> str:
    return _rendered("case", v=full_view(case, titles=True))


@html_of.register
def _(result: RunResult) -> str:
    if len(result.cases) == 1:
        return html_of(result.cases[0])
    bad, right = ([case for case in result.cases if case.is_failing is is_bad] for is_bad in (True, False))
    groups = [(group_title(group), len(group.members)) for group in find_causes(result).groups]
    rest = [(case, plain(case_remark(case))) for case in right[:MAX_BRIEF_CASES]]
    more = max(0, len(right) - MAX_BRIEF_CASES)
    return _rendered("run", title=summary(result), groups=groups, views=_views(bad), rest=rest, more=more)


@html_of.register
def _(e: Explanation) -> str:
    lines = {
        name: ("unknown", (f"value: {array_statistics(summarize(array))}",))
        for name, array in (*e.problem.inputs.items(), *e.problem.constants.items(), *e.values.items())
    }
    graph = nearest_nodes(with_verdicts(diagram_of_case(e.case), lines), MOST_NODES)  # type: ignore[arg-type]
    formulas = [(f"let {name}", expr_to_mathml(expr), "") for name, expr in e.let.items()]
    formulas += [(one.tensor, expr_to_mathml(one.expr, one.tensor), "; ".join(remarks_of(one))) for one in e.formulas]
    return _rendered(
        "explanation",
        title=e.case.name,
        graph=to_svg(graph, titles=True),
        formulas=formulas,
        why_not=say(e.why_not),
        incoming=e.incoming,
        evidence=evidence_text(e) if e.formulas else "",
    )


@html_of.register
def _(found: Conformance) -> str:
    views = _views([case for case in found.all_results.cases if case.is_failing])[:MAX_BRIEF_CASES]
    return _rendered("engine", title=found.engine, table=of_engine(found, Look(width=100)), views=views)


def _views(bad: list[CaseResult]) -> list[CaseView]:
    full = [full_view(case, titles=True) for case in bad[:MAX_FULL_CASES]]
    return full + [brief_view(case) for case in bad[MAX_FULL_CASES:]]


def _rendered(kind: str, **shown: Any) -> str:
    style = style_sheet(("graph.css", "pieces.css", "notebook.css"))
    return template_environment().get_template("notebook.html.j2").render(kind=kind, style=style, marks=MARKS, **shown)
