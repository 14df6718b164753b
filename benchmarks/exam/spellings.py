"""`python -m benchmarks spellings`: right formulas in many spellings, under every option; how many are flagged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import torch

from benchmarks.exam.collect import DTYPES
from benchmarks.exam.graph import Graph, Item
from benchmarks.exam.graphs import all_graphs
from benchmarks.exam.tools import Verdict, gradcheck
from benchmarks.timing import Row

#: The seeds besides the case's own, of which each spelling is asked.
SEEDS = tuple(range(1, 14))


def rows() -> Iterator[Row]:
    """A row for each kind of option, and the whole."""
    flagged: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    spelled = 0
    threads, dtype = torch.get_num_threads(), torch.get_default_dtype()
    torch.set_num_threads(1)
    try:
        for graph in all_graphs():
            items = list(spellings(graph))
            spelled += len(items)
            for item in items:
                for kind, one in under_each_option(item):
                    asked[kind] += 1
                    flagged[kind] += _is_flagged(gradcheck(one))
    finally:
        torch.set_num_threads(threads)
        torch.set_default_dtype(dtype)
    details = f"{spelled} spellings; {', '.join(f'{kind} {count:,}' for kind, count in asked.items())}"
    for kind, count in flagged.items():
        if count:
            yield Row(f"spellings: flagged, {kind}", f"{count} of {asked[kind]:,}", "0", False, "")
    total = sum(flagged.values())
    enough = spelled >= 80
    yield Row(
        "spellings: right formulas flagged", f"{total} of {sum(asked.values()):,}", "0", not total and enough, details
    )


def spellings(graph: Graph) -> Iterator[Item]:
    """Each other way in which a gradient of the graph is written."""
    for tensor, texts in graph.spelled.items():
        yield from (Item(graph, tensor, text, "right", f"`{text}`") for text in texts)


def under_each_option(item: Item) -> Iterator[tuple[str, Item]]:
    """The same under each seed, in each precision that its graph has, to second order, with the numeric oracle's say,
    and in both modes; by the kind of option."""
    yield "seeds", item
    yield from (("seeds", item.under(seed=seed)) for seed in SEEDS)
    if item.graph.in_half_precision:
        yield from ((dtype, item.under(dtype=dtype)) for dtype in DTYPES)
    yield "oracle numeric", item.under(oracle="numeric")
    if not item.graph.steps:
        yield "order 2", item.under(order=2)
        yield "mode both", item.under(mode="both")


def _is_flagged(verdict: Verdict) -> bool:
    """What a dtype or a library cannot compute says nothing of a formula."""
    return verdict.status not in ("passed", "unsupported", "skipped")
