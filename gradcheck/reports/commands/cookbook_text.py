"""The output of `gradcheck cookbook`: an entry, a list, or a derivation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gradcheck.language.cookbook.cookbook_entries import Entry
from gradcheck.reports.safe_text import count, wrap

if TYPE_CHECKING:
    from gradcheck.checks.derivation import Explanation


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
