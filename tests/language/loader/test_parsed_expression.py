"""Parsed expressions: cached, checked by sizes alone, and with results by their names."""

from __future__ import annotations

import time
import tracemalloc

import pytest

from gradcheck import run
from gradcheck.language.expr.printer import to_text
from gradcheck.language.loader import load_text
from gradcheck.language.loader.parsed_expression import oversized_creators, parse_cached, partial_arithmetic
from tests.language.loader.cases import one

SIZES = {"n": 10, "m": 1000}
GRAPH = "inputs: {{x: [[1, 2], [5, 3]]}}\ngraph:\n  m: torch.max(x, 1)\n  k: m\n  y: {}\n"


def test_a_text_is_read_once() -> None:
    assert parse_cached("x + y * 2") is parse_cached("x + y * 2")
    assert list(parse_cached("x + y * 2").mentions.names) == ["x", "y"]


def test_what_is_asked_about() -> None:
    read = parse_cached("max(x, 2) + zeros(n, m) + m.values + x // 3 + x.shape[0]")
    assert "zeros" in [call.op for call in read.creators]
    assert [to_text(call) for call in read.extremes] == ["max(x, 2)"]
    assert [part.name for part in read.parts] == ["values"]
    assert read.has_arithmetic
    assert not parse_cached("x + y").has_arithmetic


def test_arithmetic_among_sizes() -> None:
    found = partial_arithmetic(parse_cached("x[: n // (m - 1)] * n").expr, {"n": 4, "m": 1})
    assert [to_text(call) for call in found] == ["n // (m - 1)"]


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


@pytest.mark.parametrize(
    ("text", "by_place"),
    [("m.values * 2", "m[0] * 2"), ("k.indices", "k[1]"), ("x.gather(1, m.indices[:, None])", None)],
)
def test_parts_of_a_name(text: str, by_place: str | None) -> None:
    expr = one(GRAPH.format(text)).graph["y"].expr
    assert to_text(expr) == (by_place or "gather(x, 1, m[1][:, None])")


def test_parts_in_a_derivation() -> None:
    """A half of each gradient comes by way of a name, a half by way of none."""
    case = one(
        "inputs: {x: [[1, 2], [5, 3]]}\n"
        "graph: {s: sort(x), m: 'max(x, dim=1)', y: '(s.values * s.values + m.values[:, None]).sum()'}\n"
        "let: {t: 'topk(x, 1)'}\n"
        "formulas: {x: 2 * x + 2 * (x == t.values)}\ngeneralize: false\n"
    )
    (result,) = run([case]).cases
    assert result.status == "passed"


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("m.Q.sum()", 8, ".values, .indices"),
        ("x.values", 8, "give parts"),
        ("x + x.max", 12, "call it: .max()"),
        ("m.values + y0.values", None, "unknown"),
    ],
)
def test_what_is_no_part_is_refused_at_its_place(text: str, column: int | None, words: str) -> None:
    _, errors = load_text(GRAPH.format(text), "f.yaml")
    assert len(errors) == 1 or column is None
    assert any(words in f"{error.message} {error.hint}" for error in errors)
    assert column is None or (errors[0].place.line, errors[0].place.column) == (5, column)


def test_values_are_those_of_the_parts() -> None:
    (case,), errors = load_text(
        GRAPH.format("m.values.sum()") + "values: {y: 7}\nexpected: {x: [[0, 1], [1, 0]]}\n", "f"
    )
    assert not errors
    assert run([case]).cases[0].status == "passed"
