"""The exam's questions: every mutant that is wrong, every formula that is right; each judged before it is asked."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from benchmarks.exam.graph import Graph, Item
from benchmarks.exam.points import leading_to, points
from benchmarks.exam.slips import slipped
from benchmarks.exam.truth import Judge
from benchmarks.exam.wrappers import Mutant, wrapped

#: The dtypes, seeds and oracles under which right formulas are asked again.
DTYPES = ("float32", "float16", "bfloat16")
#: Wrong by what they say: what is claimed of a gradient by itself, at a tie, of elements that are far smaller than
#: their neighbours, and what torch refuses.
BY_HAND = ("tautologies", "ties", "faint elements", "refused by torch")


@dataclass
class Questions:
    """Of one graph. `partial` are stated to be right where they are defined; `equal` are mutants that change
    nothing."""

    graph: Graph
    judge: Judge
    wrong: list[Item] = field(default_factory=list)
    right: list[Item] = field(default_factory=list)
    partial: list[Item] = field(default_factory=list)
    equal: list[Item] = field(default_factory=list)
    mistaken: list[Item] = field(default_factory=list)  # stated to be right, or wrong, and found not to be


def questions(graph: Graph, most: int | None = None) -> Questions:
    """All questions about one graph, or so many wrong ones, of as many operators as there are."""
    judge = Judge.of(graph)
    found = Questions(graph, judge)
    seen: set[tuple[str, str]] = set()
    for tensor, right in graph.right.items():
        seen.add((tensor, right))
        found.right.append(Item(graph, tensor, right, "right", "as derived"))
        for text in graph.spelled.get(tensor, ()):
            item = Item(graph, tensor, text, "right", f"`{text}`")
            is_right = judge.truth(item) in ("equal", "partial")  # partial: where it overflows
            (found.right if is_right else found.mistaken).append(item)
            seen.add((tensor, text))
        for text in graph.conventions.get(tensor, ()):
            found.right.append(Item(graph, tensor, text, "right", f"convention `{text}`"))
    for tensor, texts in graph.partial.items():
        found.partial += [Item(graph, tensor, text, "partial", f"`{text}`") for text in texts]
    found.mistaken += [item for item in found.partial if judge.truth(item) != "partial"]
    for item in _mutants(graph):
        key = (item.tensor, item.formula if item.let is None else str(item.let))
        if key in seen:
            continue
        seen.add(key)
        if most is not None and len(found.wrong) >= most:
            break
        _sort(found, item)
    return found


def _sort(found: Questions, item: Item) -> None:
    if item.group in BY_HAND:
        found.wrong.append(item)
        return
    stated = item.operator.startswith("stated")
    truth = found.judge.truth(item)
    if stated and truth != "wrong":  # so rarely that it takes many points
        truth = found.judge.truth(item, points(found.graph, 400, 1000))
    listed = {"wrong": found.wrong, "equal": found.equal}.get(truth)
    if listed is not None:
        listed.append(item)
    if stated and truth != "wrong":
        found.mistaken.append(item)


def _mutants(graph: Graph) -> Iterator[Item]:
    """Those that are written down, then those of each tensor in turn, the rarer kinds first."""
    for tensor, listed in graph.wrong.items():
        for group, text in listed:
            yield Item(graph, tensor, text, group, f"stated, `{text}`")
    made = [_spread(_of_tensor(graph, tensor)) for tensor in graph.right]
    made.append([*_of_steps(graph)])
    for row in zip_longest(*made):
        yield from (item for item in row if item is not None)


def _of_tensor(graph: Graph, tensor: str) -> list[Item]:
    right = graph.right[tensor]
    mutants: list[Mutant] = [*wrapped(graph, tensor, right), *slipped(graph, right)]
    return [Item(graph, tensor, m.formula, m.group, m.operator) for m in mutants]


def _of_steps(graph: Graph) -> Iterator[Item]:
    """Slips in a step of the derivation; asked of the first tensor whose formula it spoils."""
    for step, text in graph.let.items():
        spoiled = [tensor for tensor, formula in graph.right.items() if step in leading_to(formula, graph.let)]
        for mutant in slipped(graph, text) if spoiled else ():
            let = {**graph.let, step: mutant.formula}
            operator = f"{mutant.operator}, in the step {step}"
            yield Item(graph, spoiled[0], graph.right[spoiled[0]], mutant.group, operator, let)


def _spread(items: Sequence[Item]) -> list[Item]:
    """By group in turn, each in an order of its own, so that the first so many are of every kind."""
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.group, []).append(item)
    for listed in groups.values():
        listed.sort(key=lambda item: zlib.crc32(item.name.encode()))
    of_pen = groups.pop("slips", [])
    listed = [*groups.values(), of_pen[::2], of_pen[1::2]]  # ordinary ones twice as often
    return [item for row in zip_longest(*listed) for item in row if item is not None]
