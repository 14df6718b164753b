"""`gradcheck ops`, `schema` and `config`: ops, keys of cases, settings."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import click

from gradcheck.cli import options
from gradcheck.cli.config import Setting, is_isolated, load_configuration, option_keys
from gradcheck.cli.output import is_terminal, terminal_width, write_stdout
from gradcheck.errors import UsageError
from gradcheck.language.suggest import did_you_mean
from gradcheck.reports.safe_text import plain

if TYPE_CHECKING:
    from gradcheck.autograd.op import Op


def _names() -> list[str]:
    from gradcheck.autograd.op import every_name

    return sorted(every_name())


@click.command("ops")
@click.argument("name", required=False, shell_complete=options.completion(_names))
@options.format_option("text", "markdown", purpose="For reading here, or the whole table as a page.")
@options.UNREAD_VERBOSE
def ops(name: str | None, format: str) -> None:
    """Show the families of ops, one family, one op, or a part of names."""
    if format == "markdown":
        if name:
            raise UsageError("the page is of all ops", hint="leave out the name")
        from gradcheck.reports.commands.ops_text import ops_page

        write_stdout(ops_page())
        return
    from gradcheck.reports.commands.ops_text import op_details, op_families, op_table

    found = _find_ops(name) if name else None
    room = terminal_width() if is_terminal(sys.stdout) else None
    if found is None and room is not None:
        lines = op_families(room)
    else:
        lines = op_details(found[0]) if found and len(found) == 1 else op_table(room, found)
    write_stdout("\n".join(lines) + "\n")


def _find_ops(name: str) -> list[Op]:
    """Return an op such as `F.relu`, a family, or ops that contain it."""
    from gradcheck.autograd.families import named_families
    from gradcheck.autograd.op import every_name, lookup

    short = name
    for prefix in ("torch.", "nn.functional.", "F.", "Tensor."):
        short = short.removeprefix(prefix)
    found = lookup(name) or lookup(short) or lookup(short.lower())
    if found is not None:
        return [found]
    names = every_name()
    family = named_families().get(short.lower().replace("_", " ").replace("-", " "))
    alike = dict.fromkeys(lookup(known) for known in family or names if family or short.lower() in known.lower())
    if not alike or len(short) < 2:
        hint = did_you_mean(short, names, "gradcheck ops lists them all")
        raise UsageError(f"there is no op '{name}'", hint=hint)
    return [entry for entry in alike if entry is not None]


@click.command("schema")
@click.option("--report", "of_report", is_flag=True, help="Of the JSON report instead.")
@options.UNREAD_VERBOSE
def print_schema(of_report: bool) -> None:
    """Print the JSON Schema (draft-07) of a case, for editors."""
    import json

    if of_report:
        from gradcheck.reports.report_schema import report_schema as schema
    else:
        from gradcheck.language.loader.schema import schema
    write_stdout(json.dumps(schema(), indent=2) + "\n", is_data=True)


@click.command("config")
@options.UNREAD_VERBOSE
def config() -> None:
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
