"""`python -m benchmarks.peers`: the same answers as `python -m benchmarks peers`, counted by theme, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.peers import HARD, WRONG, Answers, Catalogue, ask
from benchmarks.peers.tools import Answer, tools


def table(title: str, catalogue: Catalogue, answers: dict[str, Answers], mistake: Answer) -> Iterator[str]:
    """A line a theme, a column a tool; `+1 ?` is one undecided."""
    yield f"| {title} | of | {' | '.join(answers)} |"
    yield "|---|---|" + "---|" * len(answers)
    for theme, records in catalogue.items():
        cells = [count([*told[theme].values()], mistake) for told in answers.values()]
        yield f"| {theme} | {len(records)} | {' | '.join(cells)} |"
    cells = [count([a for theme in told.values() for a in theme.values()], mistake) for told in answers.values()]
    yield f"| **all** | {sum(map(len, catalogue.values()))} | {' | '.join(f'**{cell}**' for cell in cells)} |"


def count(answers: list[Answer], mistake: Answer) -> str:
    """How many are mistaken; an undecided one is told apart, a question not asked is a dash."""
    if {*answers} == {"not asked"}:
        return "–"
    unsure = answers.count("undecided")
    return f"{answers.count(mistake)}" + (f" +{unsure} ?" if unsure else "")


def main() -> None:
    for title, catalogue, mistake in (("wrong ones missed", WRONG, "right"), ("right ones flagged", HARD, "wrong")):
        answers = {name: ask(tool, catalogue) for name, tool in tools().items()}
        print(*table(title, catalogue, answers, mistake), "", sep="\n")  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
