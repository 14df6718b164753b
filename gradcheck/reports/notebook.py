"""Runs, cases and explanations in Jupyter: the pieces of the page, without a script."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

from gradcheck.autograd.trace import glimpse
from gradcheck.checks.conformance.engine_conformance import Conformance
from gradcheck.checks.derivation import Explanation
from gradcheck.checks.result import CaseResult, RunResult
from gradcheck.reports import Look
from gradcheck.reports.causes import causes
from gradcheck.reports.commands.conformance_report import render as of_engine
from gradcheck.reports.commands.explanation import evidence, remarks_of
from gradcheck.reports.findings import BAD
from gradcheck.reports.page.run_page import MARKS, environment, static
from gradcheck.reports.page.graph_verdicts import MOST_NODES, statistics
from gradcheck.reports.page.mathml import of_expr
from gradcheck.reports.page.case_view import brief_view, full_view, remark_of
from gradcheck.reports.phrases import say
from gradcheck.reports.phrases.cause_titles import group_title
from gradcheck.reports.picture.diagram import nearest, of_case, told
from gradcheck.reports.picture.svg import drawn
from gradcheck.reports.summary import summary
from gradcheck.reports.safe_text import plain

#: Of a run so many cases are shown in full, those that failed first, and so many in a line each.
IN_FULL, IN_BRIEF = 5, 200


@singledispatch
def html_of(thing: Any) -> str:
    """The thing as HTML that stands in a notebook. Raises TypeError for what has no picture."""
    raise TypeError(f"a {type(thing).__name__} has no picture")


@html_of.register
def _(case: CaseResult) -> str:
    return _rendered("case", v=full_view(case, titles=True))


@html_of.register
def _(result: RunResult) -> str:
    bad = [case for case in result.cases if case.status in BAD]
    order = [*bad, *(case for case in result.cases if case.status not in BAD)]
    groups = [(group_title(group), len(group.members)) for group in causes(result).groups]
    if len(result.cases) == 1:
        return _rendered("case", v=full_view(result.cases[0], titles=True))
    views = [full_view(case, titles=True) if at < IN_FULL else brief_view(case) for at, case in enumerate(bad)]
    rest = [(case, plain(remark_of(case))) for case in order[len(bad) : len(bad) + IN_BRIEF]]
    more = max(0, len(order) - len(bad) - IN_BRIEF)
    return _rendered("run", title=summary(result), groups=groups, views=views, rest=rest, more=more)


@html_of.register
def _(explanation: Explanation) -> str:
    e = explanation
    lines = {
        name: ("unknown", (f"value: {statistics(glimpse(array))}",))
        for name, array in (*e.problem.inputs.items(), *e.problem.constants.items(), *e.values.items())
    }
    graph = nearest(told(of_case(e.case), lines), MOST_NODES)  # type: ignore[arg-type]
    formulas = [(f"let {name}", of_expr(expr), "") for name, expr in e.let.items()]
    formulas += [(one.tensor, of_expr(one.expr, one.tensor), "; ".join(remarks_of(one))) for one in e.formulas]
    return _rendered(
        "explanation",
        title=e.case.name,
        graph=drawn(graph, titles=True),
        formulas=formulas,
        why_not=say(e.why_not),
        incoming=e.incoming,
        evidence=evidence(e) if e.formulas else "",
    )


@html_of.register
def _(found: Conformance) -> str:
    """The table, then the cases that are wrong."""
    everything = found.everything
    bad = [case for case in everything.cases if case.status in BAD]
    views = [full_view(case, titles=True) if at < IN_FULL else brief_view(case) for at, case in enumerate(bad)]
    return _rendered("engine", title=found.engine, table=of_engine(found, Look(width=100)), views=views[:IN_BRIEF])


def _rendered(kind: str, **shown: Any) -> str:
    style = "".join(map(static, ("graph.css", "pieces.css", "notebook.css")))
    return environment().get_template("notebook.html.j2").render(kind=kind, style=style, marks=MARKS, **shown)
