"""Every command, and the module whose `command` it is; a module is imported when its command is called for."""

from __future__ import annotations

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
