"""A text is read once; what it mentions, makes and names is known with it."""

from gradcheck.language.expr.printer import to_text
from gradcheck.language.loader.parsed_expression import parse_cached, partial_arithmetic


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
