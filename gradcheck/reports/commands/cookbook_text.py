"""The output of `gradcheck cookbook`: an entry, a list, or a derivation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from gradcheck.language.cookbook.cookbook_entries import Entry, Mistake
from gradcheck.language.expr.latex import name_to_latex, to_latex
from gradcheck.language.expr.parser import parse
from gradcheck.reports.safe_text import count, wrap

if TYPE_CHECKING:
    from gradcheck.checks.derivation import Explanation

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


def entry_lines(entry: Entry, width: int = 80, others: Sequence[Entry] = ()) -> Iterator[str]:
    """Yield the lines of one entry, then a line for each other that fits."""
    yield entry.name
    yield from wrap(entry.source, width, "  ", "    ")
    yield from wrap(entry.description, width, "  ", "  ")
    yield ""
    for title, names in (("inputs", entry.inputs), ("constants", [n for n in entry.shapes if n not in entry.inputs])):
        if names:
            yield from wrap(f"{title}: {', '.join(f'{n} {entry.shapes[n]}' for n in names)}", width, "  ", "    ")
    for name, text in entry.graph.items():
        yield from wrap(f"{name} = {text}", width, "  ", "      ")
    yield ""
    yield "gradients" + (f", grad({', '.join(entry.incoming)}) coming in" if entry.incoming else "")
    for name, text in entry.let.items():
        yield from wrap(f"let {name} = {text}", width, "  ", "      ")
    for name, texts in entry.formulas.items():
        for text in texts:
            yield from wrap(f"{name}: {text}", width, "  ", "      ")
    yield f"  ({proof_text(entry)})"
    if entry.wrong:
        yield ""
        yield "not"
    for mistake in entry.wrong:
        why = f"   # {mistake.why}" if mistake.why else ""
        yield from wrap(f"{mistake.tensor}: {mistake.formula}{why}", width, "  ", "      ")
        if mistake.counterexample:
            yield from wrap(mistake.counterexample, width, "      ", "      ")
    yield ""
    yield f"  {entry.id}"
    if others:
        yield ""
        yield "also"
        yield from (f"  {line}" for line in entry_list(others, width - 2))


def proof_text(entry: Entry) -> str:
    """Return how well the entry's formulas are supported."""
    if set(entry.proved) == set(entry.formulas):
        return "proved for all values, and at other sizes"
    if entry.proved:
        return f"proved: {', '.join(entry.proved)}; the others hold at other values and sizes"
    return "not algebra: verified at other values and sizes"


def entry_list(entries: Sequence[Entry], width: int = 80) -> Iterator[str]:
    """Yield a line an entry: its name, and its function."""
    longest = max((len(entry.name) for entry in entries), default=0)
    for entry in entries:
        root = list(entry.graph)[-1]
        yield f"{entry.name:{longest}}  {root} = {entry.graph[root]}"[:width].rstrip()


def theme_lines(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield all themes, each with its number of entries."""
    for theme, number in Counter(entry.theme for entry in entries).items():
        yield f"{theme:16}{count(number, 'entry', 'entries')}"
    yield ""
    yield "gradcheck cookbook 'trace(A @ X.T @ B)' finds an entry by its expression, gradcheck cookbook WORD by a word"


def derived_lines(explanation: Explanation, near: Sequence[Entry], width: int = 80) -> Iterator[str]:
    """Yield gradients that were derived because no entry fits."""
    from gradcheck.reports.commands.explanation import evidence_text, formula_texts
    from gradcheck.reports.phrases import say

    case = explanation.case
    yield from wrap("no entry of the cookbook; derived from the gradient rules of its ops:", width, "")
    yield ""
    words = {size: word for word, size in case.dims.items()}
    shapes = {
        n: ", ".join(str(words.get(size, size)) for size in a.shape) for n, a in explanation.problem.inputs.items()
    }
    yield from wrap(f"inputs: {', '.join(f'{name} ({shape})' for name, shape in shapes.items())}", width, "  ", "    ")
    for name, claim in case.graph.items():
        yield from wrap(f"{name} = {claim.text}", width, "  ", "      ")
    yield ""
    if explanation.why_not:
        yield from wrap(f"no gradients: {say(explanation.why_not)}", width, "")
        return
    yield "gradients" + (f", grad({', '.join(explanation.incoming)}) coming in" if explanation.incoming else "")
    for name, text in formula_texts(explanation):
        if name not in case.graph:
            yield from wrap(f"{name}: {text}", width, "  ", "      ")
    yield ""
    yield from wrap(evidence_text(explanation), width, "")
    if near:
        yield ""
        yield "entries of the same ops"
        yield from (f"  {line}" for line in entry_list(near, width - 2))


def render_page(entries: Sequence[Entry]) -> str:
    """Return the whole page."""
    proved = sum(set(one.proved) == set(one.formulas) for one in entries)
    contents = " · ".join(f"[{theme}](#{theme})" for theme in _themes(entries) if theme != ERRATA)
    return "\n".join((_HEAD.format(number=len(entries), proved=proved), contents, *_sections(entries))) + "\n"


def _themes(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.theme, []).append(entry)
    return found


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
    lines = [(name_to_latex(name), parse(text)) for name, text in (*entry.graph.items(), *entry.let.items())]
    lines += [
        (rf"\nabla_{{{name_to_latex(name)}}}", parse(text)) for name, texts in entry.formulas.items() for text in texts
    ]
    yield "```math"
    yield r"\begin{aligned}"
    yield " \\\\\n".join(f"{left} &= {to_latex(expr)}" for left, expr in lines)
    yield r"\end{aligned}"
    yield "```\n"
    yield from (f"- {told(mistake)}" for mistake in entry.wrong)
    yield ""


def _slip(mistake: Mistake) -> str:
    return f"not `{mistake.tensor}: {mistake.formula}`{': ' + mistake.why if mistake.why else ''}"


def _misprint(mistake: Mistake) -> str:
    return f"{mistake.why}: `{mistake.tensor}: {mistake.formula}`; {mistake.counterexample}"
