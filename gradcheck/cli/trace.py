"""`gradcheck trace`: the backward pass of one case, event by event."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gradcheck.cli import options

if TYPE_CHECKING:
    from gradcheck.engines.trace import TracedCase


@click.command("trace")
@click.argument("case", metavar="FILE[::NAME]")
@click.option("--step", type=click.IntRange(min=1), metavar="N", help="Only this step of the case, from 1.")
@click.option("--tensor", metavar="NAME", default="", help="Only what this tensor receives and passes on.")
@options.SEED
@click.option("--json", "as_json", is_flag=True, help="Write JSON, with every event.")
@options.VERBOSE
def command(case: str, step: int | None, tensor: str, seed: int | None, as_json: bool, verbose: int) -> int:
    """Show the backward pass of one case, event by event.

    Who sends a gradient to whom, how many of how many each tensor has received, when it passes their sum on, in what
    order. The engine is gradcheck's own.
    """
    from gradcheck.cli.output import width, write_stdout
    from gradcheck.cli.select import select_one
    from gradcheck.engines.trace import trace_case
    from gradcheck.language.sampling import draw
    from gradcheck.reports import Look

    traced = trace_case(draw(select_one(case), seed))
    _check(traced, step, tensor)
    index = None if step is None else step - 1
    if as_json:
        from gradcheck.reports.commands import trace_json

        write_stdout(trace_json.render(traced, step=index, tensor=tensor))
    else:
        from gradcheck.reports.commands import trace

        write_stdout(trace.render(traced, Look(width=width(), verbosity=min(1, verbose)), step=index, tensor=tensor))
    return 1 if traced.error is not None or any(one.unexpected for one in traced.steps) else 0


def _check(traced: TracedCase, step: int | None, tensor: str) -> None:
    """Raises UsageError for a step or a tensor that is not there."""
    from gradcheck.errors import UsageError
    from gradcheck.language.suggest import did_you_mean
    from gradcheck.reports.commands.trace import called
    from gradcheck.reports.text import count

    steps = traced.case.steps
    if step is not None and step > len(steps):
        raise UsageError(f"there is no step {step}", hint=f"the case has {count(len(steps), 'step')}")
    known = [one for one in traced.steps if one.trace is not None and (step is None or one.index == step - 1)]
    if tensor and known and not any(called(one.labels, tensor) for one in known):
        names = dict.fromkeys(label.text for one in known for label in one.labels.values())
        hint = did_you_mean(tensor, names, f"there are {', '.join(list(names)[:12])}{', …' if len(names) > 12 else ''}")
        raise UsageError(f"no gradient reaches a tensor '{tensor}'", hint=hint)
