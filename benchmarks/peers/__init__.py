"""What checkers of gradients miss, and what they flag for no reason: the same backward passes under all of them.

`python -m benchmarks peers` prints, for every tool, how many of the wrong backward passes it takes for right, and how
many of the right ones, of functions that are hard to check, it takes for wrong.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.peers import hard, wrong_networks, wrong_numbers, wrong_products
from benchmarks.peers.record import Record, read
from benchmarks.peers.tools import Answer, Tool, tools
from benchmarks.timing import Row

Catalogue = Mapping[str, Sequence[Record]]

WRONG: Catalogue = {
    "matrices": wrong_products.MATRICES,
    "reuse": wrong_products.REUSE,
    "invisible to a seed of ones": wrong_products.SEED_OF_ONES,
    "broadcasting": wrong_networks.BROADCAST,
    "softmax and losses": wrong_networks.SOFTMAX,
    "normalisation": wrong_networks.NORMALISATION,
    "elementwise": wrong_numbers.ELEMENTWISE,
    "tiny": wrong_numbers.TINY,
    "one element among many": wrong_numbers.ONE_IN_1000,
}
HARD: Catalogue = {
    "kinks": hard.KINKS,
    "poles": hard.POLES,
    "scales": hard.SCALES,
    "cancellation": hard.CANCELLATION,
    "ill-conditioned": hard.ILL_CONDITIONED,
    "single and half precision": hard.PRECISION,
}
#: Of the hard ones gradcheck may leave so many undecided.
UNDECIDED = 3

Answers = Mapping[str, Mapping[str, Answer]]


def ask(tool: Tool, catalogue: Catalogue) -> Answers:
    """What a tool says of each record, by theme and name."""
    with tempfile.TemporaryDirectory() as folder:
        return {
            theme: {trial.record.name: tool(trial) for trial in read(records, Path(folder))}
            for theme, records in catalogue.items()
        }


def rows() -> Iterator[Row]:
    """Two rows for every tool; only gradcheck's are promises."""
    for name, tool in tools().items():
        own = name.startswith("gradcheck")
        yield row(f"{name}: wrong ones missed", ask(tool, WRONG), "right", "0" if own else "", 0)
        promised = f"0, at most {UNDECIDED} undecided" if own else ""
        yield row(f"{name}: right ones flagged", ask(tool, HARD), "wrong", promised, UNDECIDED)


def row(what: str, answers: Answers, mistake: Answer, promised: str, undecided: int) -> Row:
    """How often a tool made this mistake, and where."""
    wrong, unsure = _told(answers, mistake), _told(answers, "undecided")
    asked = sum(answer != "not asked" for theme in answers.values() for answer in theme.values())
    count, open_ = (sum(len(names) for names in found.values()) for found in (wrong, unsure))
    measured = f"{count} of {asked}" + (f", {open_} undecided" if open_ else "")
    details = _listed(wrong) + (f" Undecided: {_listed(unsure)}" if open_ else "")
    return Row(what, measured, promised, not count and open_ <= undecided, details)


def _told(answers: Answers, answer: Answer) -> dict[str, list[str]]:
    return {theme: found for theme, told in answers.items() if (found := [n for n, a in told.items() if a == answer])}


def _listed(found: Mapping[str, Sequence[str]]) -> str:
    return " ".join(f"**{theme}**: {'; '.join(names)}." for theme, names in found.items())
