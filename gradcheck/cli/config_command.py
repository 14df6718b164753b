"""`gradcheck config`: the settings in force, and their sources."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import click

from gradcheck.cli import options
from gradcheck.cli.config import Setting, is_isolated, load_configuration, option_keys
from gradcheck.cli.output import write_stdout
from gradcheck.reports.safe_text import plain


@click.command("config")
@options.UNREAD_VERBOSE
def command() -> None:
    """Show every setting that is in force here, and where it is set.

    An option of the command line wins over the environment (GRADCHECK_JOBS=2), the environment over gradcheck.toml or
    [tool.gradcheck] in pyproject.toml.
    """
    known = load_configuration()
    rows = list(_rows(known.settings))
    if is_isolated():
        rows.insert(0, ("isolated", "true", "GRADCHECK_ISOLATED"))
    for patterns, settings in known.overrides:
        rows.append(("", "", ""))
        rows.append(("for " + ", ".join(map(os.path.relpath, patterns)), "", ""))
        rows += [(f"  {one.key}", one.text, one.where) for one in settings.values()]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [plain(f"{key:{widths[0]}}  {value:{widths[1]}}  {where}".rstrip()) for key, value, where in rows]
    write_stdout("\n".join(lines) + "\n")


def _rows(settings: Mapping[str, Setting]) -> Iterator[tuple[str, str, str]]:
    yield _row("paths", settings.get("paths"), "cases")
    for key, option in option_keys().items():
        yield _row(key, settings.get(option.name or key), _default(option))


def _row(key: str, known: Setting | None, default: str) -> tuple[str, str, str]:
    return (key, default, "default") if known is None else (key, known.text, known.where)


def _default(option: click.Option) -> str:
    """Return the default as the option's help has it, else click's."""
    told = (option.help or "").partition("[default: ")[2].partition("]")[0]
    if told or option.default in (None, False, 0, ()) or not isinstance(option.default, (str, int, float)):
        return told or "-"
    return str(option.default)
