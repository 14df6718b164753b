"""The command line: each command is one file that turns options into one call and an exit code."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence

#: Every command, and the module whose `command` it is; a module is imported when its command is called for.
COMMANDS: dict[str, str] = {
    "run": "gradcheck.cli.run",
    "validate": "gradcheck.cli.validate",
    "list": "gradcheck.cli.list",
    "explain": "gradcheck.cli.explain",
    "trace": "gradcheck.cli.trace",
    "conform": "gradcheck.cli.conform",
    "ops": "gradcheck.cli.ops",
    "schema": "gradcheck.cli.schema",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code; `arguments` are the process's own unless given."""
    # A run makes many small objects and hardly a cycle: looking for them less often saves a twentieth of its time.
    gc.set_threshold(100_000, 20, 1_000)
    # pydantic would search every installed package for plugins to it, for a tenth of the time that a command has.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from gradcheck.cli.boundary import guarded
    from gradcheck.cli.group import gradcheck

    words = sys.argv[1:] if arguments is None else arguments
    sys.exit(guarded(gradcheck, words))
