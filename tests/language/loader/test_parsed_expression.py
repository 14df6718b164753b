"""A text is read once; what it mentions, makes and names is known with it."""

from gradcheck.language.expr.printer import to_text
from gradcheck.language.loader.parsed_expression import arithmetic, read_text


def test_a_text_is_read_once() -> None:
    assert read_text("x + y * 2") is read_text("x + y * 2")
    assert list(read_text("x + y * 2").mentions.names) == ["x", "y"]


def test_what_is_asked_about() -> None:
    read = read_text("max(x, 2) + zeros(n, m) + m.values + x // 3 + x.shape[0]")
    assert "zeros" in [call.op for call in read.creators]
    assert [to_text(call) for call in read.extremes] == ["max(x, 2)"]
    assert [part.name for part in read.parts] == ["values"]
    assert read.has_arithmetic
    assert not read_text("x + y").has_arithmetic


def test_arithmetic_among_sizes() -> None:
    found = arithmetic(read_text("x[: n // (m - 1)] * n").expr, {"n": 4, "m": 1})
    assert [to_text(call) for call in found] == ["n // (m - 1)"]
