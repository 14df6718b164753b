"""The configured options of a project, for callers without a command line."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from gradcheck.checks.options import Options, Override
from gradcheck.cli.baseline_file import read_baseline
from gradcheck.cli.config import Configuration, load_configuration

#: Options of the command line's run that change no result.
_NOT_HERE = ("jobs", "executor", "shrink", "maxfail", "cache")


def project_options(folder: Path | None = None, *, known: Configuration | None = None, **choices: Any) -> Options:
    """Return a folder's configured options; `choices` win."""
    known = load_configuration(folder) if known is None else known
    names = {field.name for field in fields(Options) if field.init} - set(_NOT_HERE)
    chosen = {name: known.trusted(name, one.value) for name, one in known.settings.items() if name in names}
    if "baseline" in chosen:
        chosen["baseline"] = read_baseline(chosen["baseline"], update=False)
    overrides = tuple(
        Override(patterns, {name: one.value for name, one in settings.items() if name not in choices})
        for patterns, settings in known.overrides
    )
    return Options(**{"overrides": overrides, "isolated": known.isolated, **chosen, **choices})
