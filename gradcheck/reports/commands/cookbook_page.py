"""`docs/cookbook.md`: every entry, typeset; published errors first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gradcheck.language.cookbook.cookbook_entries import Entry, Mistake
from gradcheck.language.expr.latex import name_to_latex, to_latex
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.parser import parse
from gradcheck.reports.commands.cookbook_text import proof_text

_HEAD = """\
# The cookbook

{number} gradients that people look up, each with its source and the mistakes that are usual. Every one is a case below
[`cases/cookbook/`](../cases/cookbook), which `gradcheck run` checks: {proved} are proved for all values; the others,
whose functions are no algebra, hold at other values and sizes. Each wrong formula is refuted. Products of matrices are
written side by side, elementwise ones with $\\odot$. Below a sum along an axis stands the letter of that axis, $i$ for
rows, $j$ for columns; $\\mathbf{{1}}[x > 0]$ is 1 where the condition holds. $\\nabla_X$ is the gradient for
$X$, in the shape of $X$; on the right of an equation it is the gradient that has arrived.

`gradcheck cookbook 'trace(A @ X.T @ B)'` finds an entry in your own names, and derives what is not here;
`gradcheck cookbook softmax` finds it by a word. This page is what `gradcheck cookbook --format markdown` prints.
"""
_ERRATA = """
## What published tables have wrong

Each was run: the formula as printed is refuted by the numbers given, the one beside it proved.
"""
#: The theme of errors in published tables.
ERRATA = "errata"


def render(entries: Sequence[Entry]) -> str:
    """Return the whole page."""
    proved = sum(set(one.proved) == set(one.formulas) for one in entries)
    return (
        "\n".join((_HEAD.format(number=len(entries), proved=proved), *_contents(entries), *_sections(entries))) + "\n"
    )


def _themes(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.theme, []).append(entry)
    return found


def _contents(entries: Sequence[Entry]) -> Iterator[str]:
    names = [theme for theme in _themes(entries) if theme != ERRATA]
    yield " · ".join(f"[{theme}](#{theme})" for theme in names)


def _sections(entries: Sequence[Entry]) -> Iterator[str]:
    themes = _themes(entries)
    if ERRATA in themes:
        yield _ERRATA
        for entry in themes.pop(ERRATA):
            yield from _entry(entry, _misprint)
    for theme, listed in themes.items():
        yield f"\n## {theme.capitalize()}\n"
        for entry in listed:
            yield from _entry(entry, _slip)


def _entry(entry: Entry, told: Callable[[Mistake], str]) -> Iterator[str]:
    yield f"**{entry.name}**. {entry.description} *{entry.source}* ({proof_text(entry)})\n"
    yield from _typeset(entry)
    yield from (f"- {told(mistake)}" for mistake in entry.wrong)
    yield ""


def _slip(mistake: Mistake) -> str:
    return f"not `{mistake.tensor}: {mistake.formula}`{': ' + mistake.why if mistake.why else ''}"


def _misprint(mistake: Mistake) -> str:
    return f"{mistake.why}: `{mistake.tensor}: {mistake.formula}`; {mistake.counterexample}"


def _typeset(entry: Entry) -> Iterator[str]:
    lines = [(name_to_latex(name), parse(text)) for name, text in (*entry.graph.items(), *entry.let.items())]
    lines += [
        (rf"\nabla_{{{name_to_latex(name)}}}", parse(text)) for name, texts in entry.formulas.items() for text in texts
    ]
    yield "```math"
    yield r"\begin{aligned}"
    yield " \\\\\n".join(_line(left, expr) for left, expr in lines)
    yield r"\end{aligned}"
    yield "```\n"


def _line(left: str, expr: Expr) -> str:
    return f"{left} &= {to_latex(expr)}"
