"""`%load_ext gradcheck`: cells that begin with `%%gradcheck` hold a case."""

from __future__ import annotations

import argparse
import linecache
import shlex
from dataclasses import replace
from typing import Any

from gradcheck.checks.result import RunResult
from gradcheck.checks.scheduling.run import run
from gradcheck.errors import UsageError
from gradcheck.language.case import Loaded
from gradcheck.language.loader import load_text


def load(shell: Any) -> None:
    """Register the magic. The lines of cells go to `linecache`, for reports."""

    def gradcheck(line: str, cell: str) -> RunResult:
        """Check the case of this cell.

        Options: --engine NAME (a class of the notebook, too), --reference, --seed, --dtype.
        """
        file = f"<cell {getattr(shell, 'execution_count', 0)}>"
        linecache.cache[file] = len(cell), None, cell.splitlines(keepends=True), file
        cases, errors = load_text(cell, file)
        found = run(Loaded(tuple(cases), tuple(errors)), **parse_choices(line, shell.user_ns))
        # no command checks a cell
        return replace(found, cases=tuple(replace(case, reproduce="") for case in found.cases))

    shell.register_magic_function(gradcheck, magic_kind="cell", magic_name="gradcheck")


def parse_choices(line: str, names: Any) -> dict[str, Any]:
    """Return fields of `Options` from the words after `%%gradcheck`."""
    parser = _Parser(prog="%%gradcheck", add_help=False)
    parser.add_argument("--engine", action="append", dest="engines")
    parser.add_argument("--reference")
    parser.add_argument("--dtype")
    parser.add_argument("--seed", type=int)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--allow-code", action="store_true", default=None)
    found = {key: value for key, value in vars(parser.parse_args(shlex.split(line))).items() if value is not None}
    if "engines" in found:
        from gradcheck.engines.resolve import as_engine

        found["engines"] = [
            as_engine(names[one], one, one) if one in names else one  # `run` resolves other names
            for one in found["engines"]
        ]
    return found


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(message, hint="there are --engine, --reference, --dtype, --seed, --trials and --allow-code")
