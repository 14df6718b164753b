"""What sizes alone tell of creators: which are too large, at any depth, without making anything large."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from gradcheck.language.loader.oversized_creators import oversized_creators
from gradcheck.language.loader.parsed_expression import parse_cached

SIZES = {"n": 10, "m": 1000}


def refused(text: str, limit: int = 10**6) -> list[str]:
    read = parse_cached(text)
    return [f"{call.op}: {error.message}" for call, error in oversized_creators(read.expr, read.creators, SIZES, limit)]


@pytest.mark.parametrize(
    ("text", "ops"),
    [
        ("zeros(m, m)", []),
        ("zeros(m, m + 1)", ["zeros"]),
        ("zeros(m, m, dtype=float64) + zeros(m, m, m)", ["zeros"]),
        ("x @ eye(2 * m + zeros(n).shape[0])", ["eye"]),
        ("full(size=[m, m, n], fill_value=1)", ["full"]),
        ("randn(unknown, m, m)", []),
        ("zeros(x.shape[0], m, m)", []),
        ("zeros(-m, m, m)", []),
        ("zeros(10 ** 10)[0] + zeros(10 ** 9)[0]", ["zeros", "zeros"]),
        ("grad(x) + zeros(m, m, m)", ["zeros"]),
        ("max(n, m) + arange(m ** 4)", ["arange"]),
    ],
)
def test_which_are_too_large(text: str, ops: list[str]) -> None:
    assert [message.partition(":")[0] for message in refused(text)] == ops


@pytest.mark.parametrize(
    "text",
    [
        f"zeros(3){'[0]' * 1_500}",
        f"x{'[0]' * 1_500}",
        " + ".join(["zeros(9)"] * 800),
        "svd(ones(999, 999))[1] + zeros(99 * 99)[0]",
        "zeros(10 ** 7)[0] + meshgrid(ones(10 ** 7), ones(3))[0]",
    ],
)
def test_every_part_is_looked_at_once_and_nothing_large_is_made(text: str) -> None:
    parse_cached(text)
    tracemalloc.start()
    started = time.process_time()
    refused(text, 10**8)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.process_time() - started < 2
    assert peak < 16e6
