"""A product of tensors with letters as a matrix product or an einsum."""

from __future__ import annotations

import pytest

from gradcheck.errors import Unsupported
from gradcheck.language.expr.nodes import Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.symbolic.term_forms import Term, squeezed, written

#: Letters 0 and 1 are those of the rows at most; 4 is summed.
SIZES = {letter: Name(f"n{letter}") for letter in range(5)}


@pytest.mark.parametrize(
    ("rows", "out", "factors", "text"),
    [
        (1, (1,), {(0, 1): "A"}, "A"),
        (1, (1,), {(1, 0): "A"}, "A.T"),
        (1, (0,), {}, "eye(n0)"),
        (1, (0,), {(0,): "v"}, "diag(v)"),
        (1, (1,), {(0,): "v"}, "outer(v, ones(c))"),
        (1, (1,), {(0, 4): "A", (4,): "v", (1, 4): "B.T"}, "A @ diag(v) @ B"),
        (1, (1,), {(0,): "u", (0, 1): "A", (1, 0): "B"}, "diag(u) @ (A * B.T)"),
        (1, (1,), {(4, 0): "A", (1,): "v"}, "outer(sum(A, dim=0), v)"),
        (1, (), {(4, 0): "A.T", (4,): "v"}, "A @ v"),
        (1, (0,), {(4,): "u * v"}, "u @ v * eye(n0)"),
        (2, (2, 3), {(2, 0): "A", (1, 3): "B"}, "einsum('ki,jl->ijkl', A, B)"),
        (2, (0, 3), {(1, 3): "B.T"}, "einsum('ik,lj->ijkl', eye(n0), B)"),
        (2, (None,), {(0, 1): "A"}, "einsum('ij,k->ijk', A, ones(c))"),
        (1, (1,), {(0, 4): "A", (4, 2): "B", (4, 1): "C", (2,): "v"}, "A @ diag(B @ v) @ C"),
        (1, (1,), {(0, 4, 1): "T", (4,): "v"}, "einsum('iaj,a->ij', T, v)"),
    ],
)
def test_it_is_written(rows: int, out: tuple[int | None, ...], factors: dict[tuple[int, ...], str], text: str) -> None:
    term = Term(out, tuple((letters, parse(one)) for letters, one in factors.items()))
    assert to_text(written(term, range(rows), [Name(one) for one in "cde"], SIZES)) == text


def test_factors_and_divisors_stand_around_it() -> None:
    term = Term((0,), scale=(Name("a"), Name("b")), divisor=(Name("c"),))
    assert to_text(written(term, [0], [Name("d")], SIZES)) == "a * b * eye(n0) / c"


def test_too_many_letters_are_unsupported() -> None:
    with pytest.raises(Unsupported):
        written(Term(tuple(range(10, 40))), [0], [Name("c")] * 30, {**SIZES, **dict.fromkeys(range(40), Name("n"))})


@pytest.mark.parametrize(
    ("text", "axis", "rank", "without"),
    [
        ("s[:, None]", 1, 2, "s"),
        ("S[:, None, 1:]", 1, 3, "S[:, 1:]"),
        ("sum(S, dim=1, keepdim=True)", 1, 2, "sum(S, dim=1)"),
        ("S", 0, 2, "squeeze(S, 0)"),
    ],
)
def test_a_dimension_of_size_1_is_dropped(text: str, axis: int, rank: int, without: str) -> None:
    assert to_text(squeezed(parse(text), axis, rank)) == without
