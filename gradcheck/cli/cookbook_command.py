"""`gradcheck cookbook`: look up or derive the gradient of an expression."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING

import click

from gradcheck.cli import options
from gradcheck.cli.output import terminal_width, write_stdout
from gradcheck.cli.supervisor import reserve_own_stdout
from gradcheck.errors import GradcheckError, InvalidCase, UsageError
from gradcheck.reports.safe_text import truncate

if TYPE_CHECKING:
    from gradcheck.language.cookbook.cookbook_entries import Entry
    from gradcheck.language.expr.nodes import Expr


def _names() -> Iterable[str]:
    from gradcheck.language.cookbook.cookbook_entries import entries

    return dict.fromkeys((*(one.theme for one in entries()), *(one.name for one in entries())))


#: A word for a size, or a number.
_SIZE = re.compile(r"[a-z_]\w*|[0-9]{1,18}")
#: A signed expression: `-x`, `-0.5 * x`, but not `-v`, `--shape`.
_SIGNED = re.compile(r"-(?![vh]$|-)")


class _SignedExpressionCommand(click.Command):
    """A command whose expression may begin with a sign."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, [f" {a}" if _SIGNED.match(a) else a for a in args])


#: The shape of a tensor in an expression; for others, shapes are found that fit.
SHAPE = click.option("--shape", "shapes", multiple=True, metavar="NAME=SIZES", help="A tensor's shape: --shape A=n,m.")


@click.command("cookbook", cls=_SignedExpressionCommand)
@click.argument("expression", required=False, shell_complete=options.completion(_names))
@SHAPE
@options.format_option("text", "markdown", purpose="For reading; the page of all entries.")
@options.UNREAD_VERBOSE
def command(expression: str | None, shapes: tuple[str, ...], format: str) -> None:
    """Look up the gradient of EXPRESSION, such as 'trace(A @ X.T @ B)'.

    An entry is found whatever its tensors are called; without one, the gradient is derived. EXPRESSION may also be
    words of an entry's name, its theme or its source; without it, the themes are listed.
    """
    reserve_own_stdout()
    from gradcheck.language.cookbook.cookbook_entries import entries
    from gradcheck.reports.commands import cookbook_text as shown

    if format == "markdown":
        write_stdout(cookbook_page(entries()))
    elif expression is None or not expression.strip():
        _write(shown.theme_lines(entries()))
    else:
        _write(_lookup_lines(right_side(expression), parse_shapes(shapes)))


def right_side(text: str) -> str:
    """Return `x @ w` of `y = x @ w`."""
    return re.sub(r"^\s*\w+\s*=(?!=)\s*", "", text.strip())


def cookbook_page(entries: Sequence[Entry]) -> str:
    from gradcheck.reports.commands.cookbook_text import render_page

    return render_page(entries)


def _write(lines: Iterable[str]) -> None:
    write_stdout("".join(f"{line}\n" for line in lines))


def _lookup_lines(text: str, given: dict[str, list[str]]) -> list[str]:
    from gradcheck.language.cookbook.cookbook_entries import find_instances, search_by_words, similar_entries
    from gradcheck.reports.commands.cookbook_text import derived_lines, entry_lines, entry_list

    expr = _parse_expression(text)
    if not given and expr is not None and expr.children:
        known = [one.with_names(names) for one, names in find_instances(expr)]
        if known:
            return list(entry_lines(known[0], terminal_width(), known[1:]))
    if expr is None or not expr.children:
        words = search_by_words(text) if len(text.strip()) > 1 else []
        exact = next((one for one in words if one.name == text), words[0] if len(words) == 1 else None)
        if not words:
            raise _no_entry_error(text)
        others = [one for one in words if one is not exact]
        return list(
            entry_list(words, terminal_width()) if exact is None else entry_lines(exact, terminal_width(), others)
        )
    from gradcheck.checks.derivation import explain
    from gradcheck.language.cookbook.case_from_expression import case_from_expression

    return list(
        derived_lines(explain(case_from_expression(text, expr, given)), similar_entries(expr), terminal_width())
    )


def _parse_expression(text: str) -> Expr | None:
    """Return the expression; None for words alone. Raises InvalidCase."""
    from gradcheck.language.expr.parser import parse

    try:
        return parse(text)
    except InvalidCase:
        if re.fullmatch(r"[\w\s.,'&-]+", text):
            return None
        raise


def _no_entry_error(text: str) -> GradcheckError:
    from gradcheck.language.cookbook.cookbook_entries import entries
    from gradcheck.language.suggest import did_you_mean

    words = dict.fromkeys(word for one in entries() for word in (one.theme, *one.name.lower().split()))
    hint = did_you_mean(text.lower(), words, "gradcheck cookbook lists the themes")
    return UsageError(f"no entry of the cookbook has '{text}' in its name, theme or source", hint=hint)


def parse_shapes(shapes: tuple[str, ...]) -> dict[str, list[str]]:
    """Return the sizes of each tensor. Raises UsageError."""
    from gradcheck.language.evaluation.result_size import MAX_DIMENSIONS
    from gradcheck.language.loader.yaml_document import DEFAULT_LIMITS

    found = {}
    for shape in shapes:
        name, equals, sizes = shape.partition("=")
        listed = [size.strip() for size in sizes.strip("()[] ").split(",") if size.strip()]
        if not equals or not name.isidentifier() or not all(map(_SIZE.fullmatch, listed)):
            raise UsageError(f"'{truncate(shape, 60)}' is no shape", hint="it is written --shape A=n,m")
        elements = prod(max(1, int(size)) for size in listed if size.isdecimal())
        if len(listed) > MAX_DIMENSIONS or elements > DEFAULT_LIMITS.elements:
            most = f"{MAX_DIMENSIONS} dimensions and {DEFAULT_LIMITS.elements:,} elements"
            raise UsageError(f"'{truncate(shape, 60)}' is too large", hint=f"a tensor has at most {most}")
        found[name] = listed
    return found
