"""One table makes the options of `run` and the keys of the configuration, and the run takes what it names."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from click.core import ParameterSource

from gradcheck.autograd import dtypes
from gradcheck.checks.options import ORACLES, Options
from gradcheck.cli.config import option_keys
from gradcheck.cli.option_types import ReportType
from gradcheck.cli.options import DTYPES, RUN, Option, apply_options, paths
from gradcheck.cli.run_command import command

#: Parameters of `run` that are about selection and writing, not about checks.
ABOUT_WRITING = {
    *("keyword", "tags", "exitfirst", "verbose", "quiet", "output_format", "file", "reports", "color", "fix"),
    *("shard", "last_failed", "failed_first", "changed_since", "durations", "watch", "coverage"),
    *("baseline", "update_baseline", "fail_on_drift"),
}


def test_the_command_has_the_options_of_the_table_in_its_order() -> None:
    assert [p.name for p in command.params] == ["paths", *(option.parameter().name for option in RUN), "isolated"]


def test_what_is_about_checks_is_a_field_of_the_options() -> None:
    names = {option.parameter().name for option in RUN} - ABOUT_WRITING
    assert names <= {field.name for field in fields(Options) if field.init}


def test_every_option_is_a_key_of_the_configuration_by_its_long_name() -> None:
    assert list(option_keys()) == [option.key for option in RUN]
    assert len(option_keys()) == len(RUN)
    for key, option in option_keys().items():
        assert f"--{key}" in option.opts or (key, option.opts) == ("keyword", ["-k"])


def test_choices_are_those_that_exist() -> None:
    oracle = next(option for option in RUN if option.flags == ("--oracle",))
    assert tuple(oracle.settings["type"].choices) == ORACLES
    assert all(dtypes.is_differentiable(dtypes.BY_NAME[name]) for name in DTYPES)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--timeout", "1e308"), "1e+308 is not in the range"),
        (("--timeout", "nan"), "nan is not finite"),
        (("--rtol", "inf"), "inf is not finite"),
        (("--atol", "9" * 5000), "a number of 5,000 characters is too long"),
        (("--seed", "9" * 5000), "a number of 5,000 characters is too long"),
        (("--maxfail", "9" * 5000), "a number of 5,000 characters is too long"),
        (("--trials", "1000000000000"), "is not in the range 0<=x<=100000"),
        (("-j", "100000"), "more than 1,024 processes at a time"),
        (("-j", "9" * 5000), "is neither a number nor 'auto'"),
        (("--shard", "1/99999999999999999999"), "is no part of a whole"),
        (("--shard", f"1/{'9' * 5000}"), "is no part of a whole"),
        (("--memory", "nan"), "'nan' is no size"),
        (("--memory", "x" * 5000), "is no size"),
    ],
)
def test_a_number_beyond_all_sense_is_a_mistake(cases: Path, gradcheck: Any, words: tuple[str, ...], told: str) -> None:
    outcome = gradcheck("run", *words)
    assert outcome.code == 2
    assert told in outcome.err
    assert len(outcome.err) < 400


@pytest.mark.parametrize(
    "words",
    [
        ("--memory", "9999999999999999999999GB"),
        ("--memory", f"{'9' * 400}TB"),
        ("--seed", "9" * 400),
        ("--seed", "-5"),
        ("--durations", "9" * 30),
        ("--maxfail", "9" * 30),
        ("--shard", "1/999999999999999999"),
    ],
)
def test_a_large_number_that_makes_sense_is_taken(cases: Path, gradcheck: Any, words: tuple[str, ...]) -> None:
    assert gradcheck("run", *words).code == 0


def test_a_table_becomes_parameters_with_their_help() -> None:
    table = (Option("--one", help="First."), Option("--two", help="Second.", type=int))

    @click.command()
    @apply_options(table)
    def made(one: str | None, two: int | None) -> None: ...

    assert [(p.name, p.help) for p in made.params if isinstance(p, click.Option)] == [
        ("one", "First."),
        ("two", "Second."),
    ]
    assert table[0].with_settings(help="Other.").parameter().help == "Other."


def test_a_report_is_a_format_and_a_path() -> None:
    assert ReportType().convert("json=a=b.json", None, None) == ("json", Path("a=b.json"))
    for wrong in ("json", "json=", "yaml=x"):
        with pytest.raises(click.BadParameter):
            ReportType().convert(wrong, None, None)


def test_no_path_is_none_given_by_every_version_of_click() -> None:
    """Before 8.3 click took an empty tuple for what was given, and configured paths were never asked for."""

    @click.command()
    @paths
    def listing(paths: tuple[str, ...]) -> None:
        pass

    (argument,) = listing.params
    ctx = click.Context(listing)
    ctx.default_map = {"paths": ("elsewhere",)}
    assert argument.consume_value(ctx, {"paths": ()}) == (("elsewhere",), ParameterSource.DEFAULT_MAP)
    assert argument.consume_value(ctx, {"paths": ("here",)}) == (("here",), ParameterSource.COMMANDLINE)
