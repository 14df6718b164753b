"""The exam held: every question asked, what was missed and what was flagged."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from multiprocessing import get_context

import torch

from benchmarks.exam.collect import DTYPES, Questions, questions
from benchmarks.exam.graph import Graph, Item
from benchmarks.exam.graphs import all_graphs
from benchmarks.exam.tools import Answer, Tool, Verdict, gradcheck, others
from benchmarks.timing import Row

#: So many wrong formulas of a graph, at most.
MOST = 44
#: The seeds under which right formulas are asked again: all those of other spellings, three as they were derived.
SEEDS = tuple(range(1, 14))


@dataclass
class Results:
    """Every answer; what gradcheck says, and by name of the tool what others say."""

    wrong: list[tuple[Item, Verdict]] = field(default_factory=list)
    right: list[tuple[Item, Verdict]] = field(default_factory=list)
    partial: list[tuple[Item, Verdict]] = field(default_factory=list)
    of_wrong: dict[str, list[tuple[Item, Answer]]] = field(default_factory=dict)
    of_right: dict[str, list[tuple[Item, Answer]]] = field(default_factory=dict)
    graphs: int = 0
    operators: set[str] = field(default_factory=set)

    def add(self, other: Results) -> None:
        """What was asked about other graphs."""
        self.wrong += other.wrong
        self.right += other.right
        self.partial += other.partial
        for mine, theirs in ((self.of_wrong, other.of_wrong), (self.of_right, other.of_right)):
            for name, answers in theirs.items():
                mine.setdefault(name, []).extend(answers)
        self.graphs += other.graphs
        self.operators |= other.operators

    @property
    def missed(self) -> list[tuple[Item, Verdict]]:
        return [(item, v) for item, v in self.wrong if v.passed]

    @property
    def proved(self) -> list[tuple[Item, Verdict]]:
        return [(item, v) for item, v in self.missed if v.proved]

    @property
    def flagged(self) -> list[tuple[Item, Verdict]]:
        return [(item, v) for item, v in self.right if not v.passed]


def hold(sample: int | None = None, peers: bool = True, only: str = "", jobs: int = 1) -> Results:
    """All questions, or about so many wrong ones and a few right ones, spread over graphs and classes; in so many
    processes, each of which takes a graph at a time."""
    graphs = _chosen(only)
    every = 1 if sample is None else max(1, MOST * len(graphs) // sample)
    ask = partial(_asked, every=every, everything=sample is None, peers=peers)
    results = Results()
    with ProcessPoolExecutor(jobs, get_context("spawn")) if jobs > 1 else nullcontext() as pool:
        for of_graph in map(ask, enumerate(graphs)) if pool is None else pool.map(ask, enumerate(graphs)):
            results.add(of_graph)
    return results


def _asked(numbered: tuple[int, Graph], *, every: int, everything: bool, peers: bool) -> Results:
    """The questions about one graph."""
    number, graph = numbered
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    try:
        asked = questions(graph, MOST)
        asked.wrong = asked.wrong[number % every :: every]
        results = Results(graphs=1)
        _ask(asked, results, others() if peers else {}, everything)
        return results
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)


def _chosen(only: str) -> list[Graph]:
    """The graphs with this in their name, or of this theme. Raises LookupError, with the names near it."""
    graphs = all_graphs()
    found = [graph for graph in graphs if only in graph.name or only == graph.theme]
    if not found:
        names = [*dict.fromkeys(graph.theme for graph in graphs), *(graph.name for graph in graphs)]
        words = {word: name for name in reversed(names) for word in (*name.split(), name)}
        near = dict.fromkeys(words[word] for word in get_close_matches(only, words, 6, 0.6))
        hint = f"; there are {', '.join(near)}" if near else ""
        raise LookupError(f"no graph has {only!r} in its name, and no theme is called so{hint}")
    return found


def _ask(asked: Questions, results: Results, tools: dict[str, Tool], everything: bool) -> None:
    point = asked.judge.points[0]
    results.operators |= {item.operator.partition(", in the step")[0] for item in asked.wrong}
    results.wrong += [(item, gradcheck(item)) for item in asked.wrong]
    results.partial += [(item, gradcheck(item)) for item in asked.partial]
    rights = asked.right if everything else asked.right[:2]
    results.right += [(item, gradcheck(item)) for item in rights]
    if everything:
        results.right += [(item, gradcheck(item)) for item in under_other_options(rights)]
    for name, tool in tools.items():
        torch.set_default_dtype(torch.float64)
        results.of_wrong.setdefault(name, []).extend((item, tool(item, point)) for item in asked.wrong)
        results.of_right.setdefault(name, []).extend((item, tool(item, point)) for item in rights)


def under_other_options(items: Sequence[Item]) -> Iterator[Item]:
    """Each under other seeds, in other precisions, to second order, and with the numeric oracle's say."""
    for item in items:
        is_derived = item.operator == "as derived"
        yield from (item.under(seed=seed) for seed in SEEDS[: 3 if is_derived else None])
        if item.graph.in_half_precision:
            yield from (item.under(dtype=dtype) for dtype in DTYPES)
        yield item.under(oracle="numeric")
        if not item.graph.steps:
            yield item.under(order=2)
        yield from (item.under(sizes=sizes) for sizes in other_sizes(item.graph))


def other_sizes(graph: Graph) -> Iterator[dict[str, int]]:
    """Sizes at which structure is lost: all 1, all 2, all equal; those that the graph allows."""
    for size in (1, 2, 4):
        sizes = dict.fromkeys(graph.dims, size)
        if sizes and eval(graph.needs, {}, dict(sizes)):
            yield sizes


# Tables --------------------------------------------------------------------------------------------------


def rows() -> Iterator[Row]:
    yield from _rows(hold(), full=True)


def _rows(results: Results, full: bool) -> Iterator[Row]:
    wrong, right = len(results.wrong), len(results.right)
    details = f"{results.graphs} graphs, {len(results.operators)} operators; {_counted(results.missed)}"
    enough = not full or (wrong >= 4000 and right >= 400)
    yield Row("exam: wrong formulas missed", f"{len(results.missed)} of {wrong:,}", "0",
              not results.missed and enough, details)  # fmt: skip
    yield Row("exam: wrong formulas proved", f"{len(results.proved)} of {wrong:,}", "0", not results.proved,
              _counted(results.proved))  # fmt: skip
    yield Row("exam: right formulas flagged", f"{len(results.flagged)} of {right:,}", "0", not results.flagged,
              _options(results.flagged))  # fmt: skip
    silent = [(item, v) for item, v in results.partial if v.is_unconditional]
    yield Row("exam: partial formulas proved without a condition", f"{len(silent)} of {len(results.partial)}", "0",
              not silent, "")  # fmt: skip
    for name in results.of_wrong:
        for what, answers, mistake in (("wrong formulas missed", results.of_wrong[name], "right"),
                                       ("right formulas flagged", results.of_right[name], "wrong")):  # fmt: skip
            asked = [(item, answer) for item, answer in answers if answer != "not asked"]
            bad = [(item, None) for item, answer in asked if answer == mistake]
            yield Row(f"exam: {name}: {what}", f"{len(bad)} of {len(asked):,}", "", True, _counted(bad))


def tables(results: Results) -> Iterator[str]:
    """What was missed by class, and flagged by theme, a column a checker."""
    missed = {"gradcheck": _answers(results.wrong)} | results.of_wrong
    yield from _table("wrong ones missed", missed, "right", lambda item: item.group)
    plain = [(item, v) for item, v in results.right if not item.choices]
    flagged = {"gradcheck": _answers(plain)} | results.of_right
    yield ""
    yield from _table("right ones flagged", flagged, "wrong", lambda item: item.graph.theme)


def _answers(found: Sequence[tuple[Item, Verdict]]) -> list[tuple[Item, Answer]]:
    return [(item, "right" if v.passed else "wrong") for item, v in found]


def _table(
    title: str, answers: Mapping[str, Sequence[tuple[Item, Answer]]], mistake: Answer, kind: Callable[[Item], str]
) -> Iterator[str]:
    """A line a kind, and the whole; a dash where a checker was not asked."""
    yield f"| {title} | of | {' | '.join(answers)} |"
    yield "|---|---|" + "---|" * len(answers)
    asked = Counter(kind(item) for item, _ in answers["gradcheck"])
    for name, count in [*asked.most_common(), ("**all**", sum(asked.values()))]:
        told = [[a for item, a in found if name in (kind(item), "**all**")] for found in answers.values()]
        cells = [str(one.count(mistake)) if {*one} - {"not asked"} else "–" for one in told]
        yield f"| {name} | {count:,} | {' | '.join(cells)} |"


def _counted(found: Sequence[tuple[Item, object]]) -> str:
    counts = Counter(item.group for item, _ in found)
    return ", ".join(f"{group} {count}" for group, count in counts.most_common())


def _options(found: Sequence[tuple[Item, object]]) -> str:
    counts = Counter(", ".join(f"{k} {v}" for k, v in item.choices.items()) or "as it stands" for item, _ in found)
    return ", ".join(f"{option}: {count}" for option, count in counts.most_common())


def listed(results: Results) -> Iterator[str]:
    """A line for every mistake of gradcheck's, with all that is needed to repeat it."""
    for what, found in (("missed", results.missed), ("flagged", results.flagged)):
        for item, v in found:
            said = "proved" if v.proved else v.status
            choices = "".join(f" --{key} {value}" for key, value in item.choices.items())
            let = "" if item.let is None else f" with {dict(item.let)}"
            yield f"{what}\t{said}\t{item.group}\t{item.name}\t{item.tensor}: {item.formula}{let}{choices}\t{v.why}"


def _neighbours(only: str) -> int:
    """A line for each formula of which something else is said beside others."""
    from benchmarks.exam.together import influenced

    count = 0
    for graph in _chosen(only):
        torch.set_default_dtype(torch.float64)
        for item, verdict, passes in influenced(questions(graph, MOST)):
            count += 1
            said = "passes" if passes else "fails"
            print(f"{verdict.status} alone, {said} beside others\t{item.group}\t{item.name}\t{item.formula}")
    return int(count > 0)


def main(arguments: Sequence[str] = ()) -> int:
    """`python -m benchmarks exam [--sample N] [--list] [--only GRAPH] [--alone] [--together] [--jobs N]`."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks exam")
    parser.add_argument("--sample", type=int, help="about so many wrong formulas, instead of all")
    parser.add_argument("--list", action="store_true", help="every formula that was missed or flagged")
    parser.add_argument("--only", default="", help="graphs with this in their name, or of this theme")
    parser.add_argument("--alone", action="store_true", help="without the other checkers")
    parser.add_argument("--together", action="store_true", help="what is said otherwise of formulas that share a file")
    parser.add_argument("--jobs", type=int, default=1, help="in so many processes")
    chosen = parser.parse_args(arguments)
    try:
        _chosen(chosen.only)
    except LookupError as error:
        parser.error(str(error.args[0]))
    if chosen.together:
        return _neighbours(chosen.only)
    results = hold(chosen.sample, not chosen.alone, chosen.only, chosen.jobs)
    print("| what | measured | promised | kept | details |\n|---|---|---|---|---|")
    found = list(_rows(results, full=not (chosen.sample or chosen.only)))
    print(*found, "", *tables(results), sep="\n")
    if chosen.list:
        print(*listed(results), sep="\n", file=sys.stdout)
    return 0 if all(row.kept or not row.promised for row in found) else 1
