"""`%load_ext gradcheck`: cells that begin with `%%gradcheck` hold a case."""

from __future__ import annotations

import argparse
import linecache
import shlex
from dataclasses import replace
from importlib import import_module
from typing import Any, NoReturn

from gradcheck.checks.result import RunResult
from gradcheck.checks.scheduling.run import run
from gradcheck.errors import UsageError
from gradcheck.language.case import Loaded
from gradcheck.language.loader import load_text


def load(shell: Any) -> None:
    """Register the magic. The lines of cells go to `linecache`, for reports."""

    def gradcheck(line: str, cell: str | None = None) -> RunResult | None:
        """Check the case of this cell; `%gradcheck --help` lists the options."""
        try:
            choices = parse_choices(line, shell.user_ns)
            if choices is not None and cell is None:
                raise UsageError("there is no case", hint="begin the cell with %%gradcheck, and write the case below")
            # not `execution_count`, which a new IPython counts up before the cell runs
            file = f"<cell {shell.displayhook.prompt_count}>"
            return None if choices is None else _check(str(cell), file, choices)
        except UsageError as error:
            raise import_module("IPython.core.error").UsageError(str(error)) from None  # shown without a traceback

    shell.register_magic_function(gradcheck, magic_kind="line_cell", magic_name="gradcheck")


def _check(cell: str, file: str, choices: dict[str, Any]) -> RunResult:
    linecache.cache[file] = len(cell), None, cell.splitlines(keepends=True), file
    cases, errors = load_text(cell, file)
    found = run(Loaded(tuple(cases), tuple(errors)), **choices)
    # no command checks a cell
    return replace(found, cases=tuple(replace(case, reproduce="") for case in found.cases))


def parse_choices(line: str, names: Any) -> dict[str, Any] | None:
    """Return fields of `Options` from the words after `%%gradcheck`.

    For `--help`, print the options and return None."""
    parser = _Parser(prog="%%gradcheck", add_help=False, description="Check the case in the rest of the cell.")
    parser.add_argument("--engine", action="append", dest="engines", help="a class of the notebook, or another engine")
    parser.add_argument("--reference", help="the engine that is compared with")
    parser.add_argument("--dtype", help="a dtype for all cases")
    parser.add_argument("--seed", type=int, help="a seed for all cases")
    parser.add_argument("--trials", type=int, help="how many other numbers formulas are tried at")
    parser.add_argument("--allow-code", action="store_true", default=None, help="run the code that the case names")
    parser.add_argument("-h", "--help", action="store_true", default=None, help="print this")
    try:
        words = shlex.split(line)
    except ValueError as error:  # a quotation mark is left open
        parser.error(str(error))
    found = {key: value for key, value in vars(parser.parse_args(words)).items() if value is not None}
    if found.pop("help", False):
        print(parser.format_help())
        return None
    if "engines" in found:
        from gradcheck.engines.resolve import as_engine

        found["engines"] = [
            as_engine(names[one], one, one) if one in names else one  # `run` resolves other names
            for one in found["engines"]
        ]
    return found


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, hint="there are --engine, --reference, --dtype, --seed, --trials and --allow-code")
