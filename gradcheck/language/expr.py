"""Expr: an expression of the case language as an immutable tree. It knows text, never arrays' values."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Expr:
    """The base of all expressions. `at` is the column, from 0, in the text it was parsed from; it takes no part in
    equality."""

    at: int = field(default=0, kw_only=True, compare=False)

    def __str__(self) -> str:
        from gradcheck.language.printer import to_text

        return to_text(self)


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A number, a text, True, False, None or `...`."""

    value: int | float | complex | str | bool | None | type(Ellipsis)  # type: ignore[valid-type]


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """A name of the case: an input, a constant, a graph entry, a size, an intermediate step."""

    name: str


@dataclass(frozen=True, slots=True)
class Dtype(Expr):
    """A dtype by its torch name: `float64` or `torch.float64`."""

    name: str


@dataclass(frozen=True, slots=True)
class Gradient(Expr):
    """`grad(p)`: the gradient that the backward pass leaves in `p`."""

    name: str


@dataclass(frozen=True, slots=True)
class Attribute(Expr):
    """`x.shape`, `x.ndim` or `x.dtype`. (`x.T` and its like are calls of ops.)"""

    value: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Sequence(Expr):
    """A list, or a tuple."""

    items: tuple[Expr, ...]
    is_tuple: bool = False


@dataclass(frozen=True, slots=True)
class Slice(Expr):
    """`start:stop:step` inside an index."""

    start: Expr | None = None
    stop: Expr | None = None
    step: Expr | None = None


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """An op applied to arguments. Operators, methods, indexing and `x.T` are calls too: `a @ b` is `matmul(a, b)`."""

    op: str
    args: tuple[Expr, ...]
    kwargs: tuple[tuple[str, Expr], ...] = ()
