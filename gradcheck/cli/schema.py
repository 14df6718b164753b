"""`gradcheck schema`: the JSON Schema of a case, for editors."""

from __future__ import annotations

import click

from gradcheck.cli import options


@click.command("schema")
@options.VERBOSE.unread()
def command() -> None:
    """Print the JSON Schema (draft-07) of a case, for editors."""
    import json

    from gradcheck.cli.output import write_stdout
    from gradcheck.language.loader.model import schema

    write_stdout(json.dumps(schema(), indent=2) + "\n")
