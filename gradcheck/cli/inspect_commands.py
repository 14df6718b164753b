"""`gradcheck explain`, `trace` and `graph`: formulas, events, a picture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from gradcheck.cli import options
from gradcheck.cli.config import ConfiguredCommand
from gradcheck.cli.output import terminal_width, write_stdout
from gradcheck.cli.supervisor import reserve_own_stdout
from gradcheck.errors import InvalidCase, Place, UsageError
from gradcheck.language.crash import crash_at
from gradcheck.language.suggest import did_you_mean
from gradcheck.reports import Look
from gradcheck.reports.safe_text import count

if TYPE_CHECKING:
    from gradcheck.checks.derivation import Explanation
    from gradcheck.engines.traced_case import TracedCase
    from gradcheck.language.case import Case
    from gradcheck.language.expr.nodes import Derivative

#: The most parts of a graph whose trace shows formulas.
_MOST_PARTS = 400


@click.command("explain", cls=ConfiguredCommand)
@options.paths
@options.selection
@options.format_option("text", "yaml", "latex", purpose="For reading, for pasting into a case, for a paper.")
@click.option("--jacobian", metavar="Y,X", default="", help="Only the derivative of Y by X, as a formula.")
@click.option("--hessian", metavar="F,X[,Z]", default="", help="Only the second derivative of F, as a formula.")
@click.option("--expand", is_flag=True, help="Closed formulas, without the gradients of intermediates.")
@options.SEED
@options.TIMEOUT
@options.MEMORY
@options.UNREAD_VERBOSE
def explain(paths: tuple[str, ...], keyword: str | None, tags: tuple[str, ...], format: str, **further: Any) -> int:
    """Explain cases: the graph, its values, and each gradient as a formula.

    Formulas are derived from the gradient rules of the graph's ops and simplified; each is read back from its text and
    verified before it is shown. PATH is a case file or a folder of them, FILE::NAME a single case.
    """
    reserve_own_stdout()
    from gradcheck.checks.derivation import explain as derive
    from gradcheck.checks.derivative_explanation import explain_derivative
    from gradcheck.cli.select import print_errors, select
    from gradcheck.language.implied_cotangents import with_implied_cotangents
    from gradcheck.reports.commands.explanation import render, render_derivative

    term, seed = _derivative_term(further["jacobian"], further["hessian"]), further["seed"]
    selection = select(paths, keyword, tags)
    errors, gap = list(selection.errors), ""
    for case in selection.cases:
        try:
            with _limits("explained", case.place, further["timeout"], further["memory"]):
                if term is not None:
                    text = render_derivative(explain_derivative(case, term, seed), format, terminal_width())
                else:
                    asked = with_implied_cotangents(case, seed)
                    text = render(derive(asked, seed, expand=further["expand"] or None), format, terminal_width())
        except InvalidCase as error:
            errors.append(error)
        except Exception as error:
            errors.append(crash_at(error, case.place, "explaining this case"))
        else:
            write_stdout(gap + text)
            gap = "\n"
    return print_errors(errors)


@contextmanager
def _limits(work: str, place: Place, timeout: float | None, memory: int | None) -> Iterator[None]:
    """Limit time and memory. Raises InvalidCase, naming the `work`, if late."""
    from gradcheck.checks.isolation.memory_limit import memory_limit
    from gradcheck.checks.isolation.time_limit import OutOfTime, deadline

    try:
        with deadline(timeout), memory_limit(memory):
            yield
    except OutOfTime as error:
        raise InvalidCase(f"not {work} after {error.seconds:g} seconds", place=place) from None


def _derivative_term(jacobian: str, hessian: str) -> Derivative | None:
    """Return the derivative that is asked for. Raises UsageError."""
    from gradcheck.language.expr.nodes import Derivative

    if jacobian and hessian:
        raise UsageError("either --jacobian or --hessian", hint="run the command twice")
    given, counts = (jacobian, (2,)) if jacobian else (hessian, (2, 3))
    names = [name.strip() for name in given.split(",")]
    if given and (len(names) not in counts or "" in names):
        usage = "--jacobian y,x" if jacobian else "--hessian loss,w or --hessian loss,w,b"
        raise UsageError(f"{given!r} does not name tensors", hint=f"write {usage}")
    return Derivative.of("jacobian" if jacobian else "hessian", *names) if given else None


@click.command("trace")
@click.argument("case", metavar="FILE[::NAME]", shell_complete=options.complete_path)
@click.option("--step", type=click.IntRange(min=1), metavar="N", help="Only this step of the case, from 1.")
@click.option("--tensor", metavar="NAME", default="", help="Only what this tensor receives and passes on.")
@options.SEED
@options.TIMEOUT
@options.MEMORY
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@options.format_option("text", "json", "html", purpose="For reading, for programs, as a page to step through.")
@options.VERBOSE
def trace(case: str, step: int | None, tensor: str, as_json: bool, format: str, **further: Any) -> int:
    """Show the backward pass of one case, event by event.

    Who sends a gradient to whom, how many of how many each tensor has received, when it passes their sum on, in what
    order. The engine is gradcheck's own.
    """
    reserve_own_stdout()
    from gradcheck.cli.select import select_one
    from gradcheck.engines.traced_case import trace_case
    from gradcheck.language.implied_cotangents import with_implied_cotangents
    from gradcheck.language.sampling import draw

    chosen = select_one(case)
    with _limits("traced", chosen.place, further["timeout"], further["memory"]):
        chosen = with_implied_cotangents(chosen, further["seed"])
        traced = trace_case(draw(chosen, further["seed"]))
        explained = _explain_small_case(chosen, further["seed"])
    _check_step_and_tensor(traced, step, tensor)
    index = None if step is None else step - 1
    if format == "html":
        from gradcheck.reports.commands.trace_page import render_trace_page

        write_stdout(render_trace_page(traced, index), is_data=True)
    elif as_json or format == "json":
        from gradcheck.reports.commands.trace_text import render_json

        data = render_json(traced, step=index, tensor=tensor, explained=explained)
        write_stdout(data, is_data=True)
    else:
        from gradcheck.reports.commands.trace_text import render

        look = Look(width=terminal_width(), verbosity=min(1, further["verbose"] or 0))
        write_stdout(render(traced, look, step=index, tensor=tensor, explained=explained))
    return 1 if traced.error is not None or any(one.is_unexpected for one in traced.steps) else 0


def _explain_small_case(case: Case, seed: int | None) -> Explanation | None:
    """Return the formulas of the last pass, if the graph is small."""
    if sum(1 for claim in case.graph.values() for _ in claim.expr.walk()) > _MOST_PARTS:
        return None
    from gradcheck.checks.derivation import explain

    return explain(case, seed)


def _check_step_and_tensor(traced: TracedCase, step: int | None, tensor: str) -> None:
    from gradcheck.reports.commands.trace_text import tensors_named

    steps = traced.case.steps
    if step is not None and step > len(steps):
        raise UsageError(f"there is no step {step}", hint=f"the case has {count(len(steps), 'step')}")
    known = [one for one in traced.steps if one.trace is not None and (step is None or one.index == step - 1)]
    if tensor and known and not any(tensors_named(one.labels, tensor) for one in known):
        names = dict.fromkeys(label.text for one in known for label in one.labels.values())
        hint = did_you_mean(tensor, names, f"there are {', '.join(list(names)[:12])}{', …' if len(names) > 12 else ''}")
        raise UsageError(f"no gradient reaches a tensor '{tensor}'", hint=hint)


@click.command("graph")
@click.argument("case", metavar="FILE[::NAME]", shell_complete=options.complete_path)
@options.format_option("svg", "mermaid", "dot", purpose="For browsers, for Markdown, for Graphviz.")
@options.TIMEOUT
@options.MEMORY
def graph(case: str, format: str, timeout: float | None, memory: int | None) -> int:
    """Draw the graph of one case: values flow down, gradients come back.

    Nothing is computed. Write the picture to a file: gradcheck graph FILE > graph.svg
    """
    from gradcheck.cli.select import select_one
    from gradcheck.reports.commands.graph_picture import render

    chosen = select_one(case)
    with _limits("drawn", chosen.place, timeout, memory):
        picture = render(chosen, format)
    write_stdout(picture, is_data=True)
    return 0
