"""The command `gradcheck`: finds and imports a command, reports errors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from io import StringIO

import click

from gradcheck import __version__, forks
from gradcheck.cli.output import silence_stdout, write_stderr
from gradcheck.cli.supervisor import CommandProcess
from gradcheck.errors import GradcheckError, UsageError, exception_text
from gradcheck.forks import CRASH
from gradcheck.interrupts import marked_interrupts
from gradcheck.language.crash import Crash
from gradcheck.language.shell_words import shell_word
from gradcheck.language.suggest import did_you_mean, nearest
from gradcheck.reports.safe_text import plain, plain_lines

USAGE, EMPTY, INTERRUPTED = 2, 5, 130
#: Every command, and its function; the module is imported when the command runs.
COMMANDS: dict[str, str] = {
    "run": "gradcheck.cli.run_command:command",
    "validate": "gradcheck.cli.validate_commands:validate",
    "list": "gradcheck.cli.validate_commands:list_ids",
    "explain": "gradcheck.cli.inspect_commands:explain",
    "trace": "gradcheck.cli.inspect_commands:trace",
    "graph": "gradcheck.cli.inspect_commands:graph",
    "conform": "gradcheck.cli.conform_command:command",
    "ops": "gradcheck.cli.ops_commands:ops",
    "cookbook": "gradcheck.cli.cookbook_command:command",
    "schema": "gradcheck.cli.ops_commands:print_schema",
    "snapshot": "gradcheck.cli.snapshot_command:command",
    "review": "gradcheck.cli.review_command:command",
    "init": "gradcheck.cli.init_command:command",
    "config": "gradcheck.cli.ops_commands:config",
}
#: Other names of commands.
ALIASES = {"new": "init"}
#: Names of commands, and of options, in other tools.
_SYNONYMS = {
    **dict.fromkeys(("check", "test", "verify", "prove"), "run"),
    **dict.fromkeys(("lint", "parse"), "validate"),
    **dict.fromkeys(("derive", "show", "grad", "gradient"), "explain"),
    **dict.fromkeys(("create", "start"), "init"),
    **dict.fromkeys(("fix", "correct"), "run --fix"),
    "watch": "run --watch",
    **dict.fromkeys(("op", "functions"), "ops"),
    **dict.fromkeys(("lookup", "find", "formula", "formulas"), "cookbook"),
    "ls": "list",
    "help": "--help",
    "version": "--version",
}
_OPTIONS = {
    "--format": "--output-format",
    "--out": "--output",
    "--tolerance": "--rtol",
    "--tol": "--rtol",
    "--filter": "-k",
    "--select": "-k",
    "--precision": "--dtype",
    "--max-fail": "--maxfail",
}
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class NothingToDo(GradcheckError):
    """No case was found or selected."""

    kind = "empty"


class LazyGroup(click.Group):
    """A group whose commands are those of `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Refuse an option that is also a file: a shell replaces `*` by names."""
        for word in () if ctx.resilient_parsing else args:  # also after "--", which may be the value of an option
            if word.startswith("-") and word != "-" and os.path.lexists(word):
                raise UsageError(
                    f"'{word}' is an option, and a file here", hint=f"write {shell_word(f'./{word}')} for the file"
                )
        return super().parse_args(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        cmd_name = ALIASES.get(cmd_name, cmd_name)
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a command, but none that is the first file of `gradcheck *`."""
        name = args[0]
        if name in COMMANDS or name in ALIASES or (name.startswith("-") and name != "-"):
            if _is_first_of_all_files(name, args):
                raise UsageError(f"'{name}' is a command, and a file here", hint="write gradcheck run *")
            return super().resolve_command(ctx, args)
        if _is_path(name):
            return "run", self.get_command(ctx, "run"), args
        hint = did_you_mean(name, COMMANDS, f"the commands are {', '.join(COMMANDS)}")
        if name in _SYNONYMS:
            hint = f"did you mean '{_SYNONYMS[name]}'?"
        raise click.UsageError(f"unknown command '{name}'; {hint}", ctx)


def _is_first_of_all_files(name: str, args: Sequence[str]) -> bool:
    """Return whether a shell may have put this name first in place of a `*`."""
    # options may stand beside it; a folder `run` may be beside the one that is run
    here = {file for file in os.listdir() if not file.startswith(".")}
    return name in here and here <= set(args) and (os.path.isfile(name) or (name != "run" and len(here) > 1))


def _is_path(word: str) -> bool:
    """Return whether the word is a case file or a folder: it is then run."""
    file = word.partition("::")[0]
    return word == "-" or file.lower().endswith((".yaml", ".yml")) or os.path.isdir(word)


@click.group(cls=LazyGroup, context_settings=SETTINGS, invoke_without_command=True)
@click.version_option(__version__, prog_name="gradcheck", message="%(prog)s %(version)s")
@click.pass_context
def gradcheck(context: click.Context) -> None:
    """Proves gradients right, or says exactly why they are wrong.

    `gradcheck init` writes a first case, and `gradcheck run` checks every case below `cases/`.
    """
    if context.invoked_subcommand is None:
        write_stderr(*context.get_help().splitlines())
        context.exit(USAGE)


def run_command(command: click.Command, arguments: Sequence[str], own: CommandProcess | None = None) -> int:
    """Run a click command, and return the exit code, without a traceback."""
    # `own` says what the command may do with a process of its own; without it, no command uses a cache
    try:
        with marked_interrupts():
            code = command.main(args=list(arguments), prog_name="gradcheck", standalone_mode=False, obj=own)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.NoSuchOption as error:
        return _refuse(_with_suggested_option(error))
    except click.ClickException as error:
        return _refuse(error)
    except NothingToDo as error:
        return _print_error(error, EMPTY)
    except GradcheckError as error:
        return _print_error(error, code_of([error]))
    except (KeyboardInterrupt, click.Abort):
        write_stderr("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        silence_stdout()
        return 0
    except MemoryError as error:
        write_stderr(f"gradcheck: ran out of memory: {exception_text(error)}")
        return CRASH
    except Exception as error:
        if isinstance(error, OSError) and (lost := _lost_folder()):
            return _print_error(lost, USAGE)
        return _crash(error, arguments)


def _lost_folder() -> UsageError | None:
    """Return an error if the working directory was removed or is unreadable."""
    try:
        os.getcwd()
    except OSError as error:
        hint = "change to a folder that is there"
        return UsageError(f"the working directory cannot be read: {error.strerror}", hint=hint)
    return None


def code_of(errors: Iterable[GradcheckError]) -> int:
    """Return the exit code for errors in files and options; 0 for none."""
    return max((CRASH if isinstance(error, Crash) else USAGE for error in errors), default=0)


def _with_suggested_option(error: click.NoSuchOption) -> click.UsageError:
    """Return the error with the nearest option, or another tool's synonym."""
    known = [name for param in (error.ctx.command.params if error.ctx else ()) for name in param.opts]
    name = error.option_name.partition("=")[0]
    close = _OPTIONS[name] if _OPTIONS.get(name) in known else nearest(name, known)
    possible = [close] if close else list(error.possibilities or ())
    hint = f"; did you mean {' or '.join(map(repr, possible))}?" if possible else ""
    return click.UsageError(f"no such option '{error.option_name}'{hint}", error.ctx)


def _print_error(error: GradcheckError, code: int) -> int:
    write_stderr(f"gradcheck: {error}")
    return code


def _refuse(error: click.ClickException) -> int:
    """Show usage and error as click does, the user's words on one line."""
    told = click.UsageError(plain(error.format_message()), getattr(error, "ctx", None))
    shown = StringIO()
    told.show(shown)
    write_stderr(*plain_lines(shown.getvalue()))
    return USAGE


def _crash(error: Exception, arguments: Sequence[str]) -> int:
    if _is_verbose(arguments):
        from gradcheck.tracebacks import format_traceback  # here, since few commands crash

        write_stderr(*plain_lines(format_traceback(error)))
    text = " ".join(exception_text(error).split())
    write_stderr(f"gradcheck {__version__} crashed, which is its own fault: {type(error).__name__}: {text[:500]}")
    write_stderr("Please report it to its issue tracker, with the case and the traceback that -v shows.")
    if forks.give_up is not None:  # an engine may have spoilt this process: another one follows
        forks.give_up()
    return CRASH


def _is_verbose(arguments: Sequence[str]) -> bool:
    return any(a == "--verbose" or (a.startswith("-v") and set(a[1:]) == {"v"}) for a in arguments)
