"""The table of `gradcheck run`'s options, and those that commands share.

The command line of `run`, the keys of the configuration and `GRADCHECK_*` are made from `RUN`: a new option is an entry
there, and a field of `checks.options.Options` if it changes what is checked. `option_types` converts and validates
values.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gradcheck.cli.option_types import FiniteRange, JobsType, ReportType, ShardType, SizeType, WholeRange, WholeType
from gradcheck.reports import FORMATS

if TYPE_CHECKING:
    from click.core import ParameterSource
    from click.shell_completion import CompletionItem

Function = TypeVar("Function", bound=Callable[..., Any])

DEFAULT_PATHS = ("cases",)
#: An id that bash takes as one word, and runs nothing in.
_ONE_WORD = re.compile(r"[\w@%+=:,./-]+")
DTYPES = ("float64", "float32", "float16", "bfloat16", "complex64", "complex128")


def complete_path(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete files and folders in the shell; after `FILE::`, case names."""
    from click.shell_completion import CompletionItem  # here, since nothing else needs it

    file, colons, _ = incomplete.rpartition("::")
    if not colons:
        return [CompletionItem(incomplete, type="file")]
    from gradcheck.language.loader import load

    ids = (case.id for case in load([file]).cases if case.id.startswith(incomplete))
    is_bash = os.environ.get("_GRADCHECK_COMPLETE", "").startswith("bash")  # which inserts them without quotes
    return [CompletionItem(id) for id in ids if not is_bash or _ONE_WORD.fullmatch(id)]


def completion(names: Callable[[], Iterable[str]], or_file: bool = False) -> Callable[..., list[CompletionItem]]:
    """Return a completion in the shell by names, else by files."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        found = [CompletionItem(name) for name in names() if name.startswith(incomplete)]
        return found or ([CompletionItem(incomplete, type="file")] if or_file else [])

    return complete


def _engines() -> Iterable[str]:
    from gradcheck.engines.registry import ENGINES

    return ENGINES


complete_engine = completion(_engines, or_file=True)


def engine_names(*choices: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the engines and references that choices of a run name."""
    return tuple(name for some in choices for name in (*some.get("engines", ()), some.get("reference") or "torch"))


class Option:
    """An option as click declares it."""

    def __init__(self, *flags: str, **settings: Any) -> None:
        self.flags, self.settings = flags, settings

    @property
    def key(self) -> str:
        """The key in the configuration: the longest flag, else the name."""
        long = [flag.partition("/")[0].removeprefix("--") for flag in self.flags if flag.startswith("--")]
        return max(long, key=len) if long else self.flags[-1]

    def __call__(self, function: Function) -> Function:
        """Decorate a command's function."""
        return click.option(*self.flags, **self.settings)(function)

    def parameter(self) -> click.Option:
        return click.Option(self.flags, **self.settings)

    def with_settings(self, **settings: Any) -> Option:
        """Return a copy with some of click's settings changed."""
        return Option(*self.flags, **{**self.settings, **settings})


def format_option(*choices: str, purpose: str) -> Option:
    """Return `--format`, whose default is the first choice."""
    return Option("--format", type=click.Choice(choices), default=choices[0], show_default=True, help=purpose)


_POSITIVE, _NOT_NEGATIVE = WholeRange(min=1), FiniteRange(min=0)
_SECONDS = FiniteRange(min=0, min_open=True, max=1e8)

KEYWORD = Option(
    "-k", "keyword", metavar="EXPR", help="Only cases whose file or name has these words, as in 'mlp and not deep'."
)
TAG = Option(
    "-t", "--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag; of several, any will do."
)
SEED = Option("--seed", type=WholeType(), metavar="N", help="Instead of the case's own seed.")
TIMEOUT = Option("--timeout", type=_SECONDS, metavar="SECONDS", help="For each case.")
MEMORY = Option(
    "--memory", type=SizeType(), metavar="SIZE", help="For each case, such as 2GB. [default: half of the machine's]"
)
VERBOSE = Option("-v", "--verbose", count=True, help="Show more.")
#: For a command that ignores it. (Crashes look for `-v` themselves.)
UNREAD_VERBOSE = VERBOSE.with_settings(expose_value=False)

#: For every configured command; it is not a setting itself.
ISOLATED = Option(
    "--isolated",
    is_flag=True,
    expose_value=False,
    help="Read no pyproject.toml and no gradcheck.toml, which may name code to run and files to write.",
)

#: The options of `run`, in the order of its help.
RUN: tuple[Option, ...] = (
    KEYWORD,
    TAG,
    Option("-x", "--exitfirst", is_flag=True, help="Stop at the first case that fails."),
    Option("--maxfail", type=_POSITIVE, metavar="N", help="Stop after N cases that failed."),
    Option("--lf", "--last-failed", "last_failed", is_flag=True, help="Run only cases that failed last time."),
    Option("--ff", "--failed-first", "failed_first", is_flag=True, help="Run cases that failed last time first."),
    Option(
        "--changed-since",
        metavar="REV",
        help="Only cases in files that have changed since a commit; all, if an engine's file has.",
    ),
    Option("--watch", is_flag=True, help="Run the cases of every saved file again, until Ctrl-C."),
    Option("--shard", type=ShardType(), metavar="I/N", help="Only the Ith of N parts, for machines that share a run."),
    Option(
        "-j",
        "--jobs",
        type=JobsType(),
        metavar="N|auto",
        help="Check in N processes; auto for one a core. [default: 1]",
    ),
    Option(
        "--executor",
        metavar="SPEC",
        help="Check with an executor: dask://HOST:PORT, or MODULE:FACTORY of a concurrent.futures.Executor.",
    ),
    Option(
        "--engine",
        "engines",
        multiple=True,
        metavar="NAME",
        shell_complete=complete_engine,
        help="An engine to test: a name, FILE.py:CLASS or MODULE:CLASS; repeatable. [default: core]",
    ),
    Option(
        "--reference",
        metavar="NAME",
        shell_complete=complete_engine,
        help="The engine to compare with. [default: torch]",
    ),
    Option("--dtype", type=click.Choice(DTYPES), help="Run every case in this dtype."),
    Option("--rtol", type=_NOT_NEGATIVE, help="Relative tolerance, instead of the dtype's."),
    Option("--atol", type=_NOT_NEGATIVE, help="Absolute tolerance, as in NumPy."),
    SEED.with_settings(help="Instead of each case's own seed."),
    Option(
        "--trials",
        type=WholeRange(min=0, max=100_000),
        metavar="N",
        help="Number of other points at which formulas are checked.",
    ),
    TIMEOUT,
    MEMORY,
    Option(
        "--oracle",
        type=click.Choice(["auto", "numeric", "none"]),
        help="Check with the numeric oracle what failed (auto), every gradient (numeric), or nothing (none).",
    ),
    Option(
        "--mode",
        type=click.Choice(["reverse", "forward", "both"]),
        help="Check gradients, Jacobian-vector products, or both and their agreement. [default: reverse]",
    ),
    Option("--order", type=WholeRange(1, 2), help="2: check gradients of gradients too."),
    Option(
        "--cache/--no-cache",
        default=True,
        help="Reuse earlier passing results while nothing they depend on has changed. [default: cache]",
    ),
    Option("--allow-code", is_flag=True, help="Run the Python code that cases name under `implementations`."),
    Option("--device", metavar="NAME", help="Where torch, and torch code, compute: cuda, cuda:1. [default: cpu]"),
    Option("--power", is_flag=True, help="Plant faults in what passes, and report how many are caught."),
    Option(
        "--coverage", is_flag=True, help="Report which ops, rules, arguments and lines of an engine the cases exercise."
    ),
    Option(
        "--shrink/--no-shrink",
        default=None,
        help="Look for the smallest case that fails in the same way, for every failure. [default: for the first few]",
    ),
    Option("--fix", is_flag=True, help="Write verified corrections into the case files, after showing the difference."),
    Option(
        "--baseline",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Ignore the failures listed in FILE; fail on new ones, and on listed ones that now pass.",
    ),
    Option(
        "--update-baseline",
        is_flag=True,
        help="Write the current failures, and the agreement of the rest, into the baseline.",
    ),
    Option("--fail-on-drift", is_flag=True, help="Fail if two sides agree less well than the baseline records."),
    VERBOSE,
    Option("--durations", type=WholeRange(min=0), metavar="N", help="Name the N slowest cases, and why; 0 names all."),
    Option("-q", "--quiet", count=True, help="Show only what is wrong."),
    Option(
        "--output-format",
        type=click.Choice(list(FORMATS)),
        default="full",
        show_default=True,
        help="What to write.",
    ),
    Option(
        "-o",
        "--output",
        "file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write the report to FILE instead of stdout.",
    ),
    Option(
        "--report", "reports", type=ReportType(), multiple=True, help="Write a further report to a file; repeatable."
    ),
    Option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Use colour."),
)


def apply_options(table: Sequence[Option]) -> Callable[[Function], Function]:
    """Return all options of a table as one decorator."""

    def decorated(function: Function) -> Function:
        for option in reversed(table):
            function = option(function)
        return function

    return decorated


class _Paths(click.Argument):
    """Paths with a configured default; before 8.3, click leaves them empty."""

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        given = {name: value for name, value in opts.items() if name != self.name or value}
        return super().consume_value(ctx, given)


def paths(function: Function) -> Function:
    """Decorate a command with its files, folders and single cases."""
    return click.argument(
        "paths", cls=_Paths, nargs=-1, metavar="[PATH | FILE::NAME]...", shell_complete=complete_path
    )(function)


#: `-k` and `-t`.
selection = apply_options((KEYWORD, TAG))
