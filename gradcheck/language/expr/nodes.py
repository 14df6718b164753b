"""Expr: an expression of the case language as an immutable tree.

It knows text, never the values of arrays. Nothing here recurses, so a sum of a thousand terms works like any other.
"""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, field
from itertools import zip_longest
from types import EllipsisType
from typing import Any

#: Comparisons, each with the one that holds where it does not.
OPPOSITES = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expr:
    """The base of all expressions.

    `at` is its column, from 0, in the parsed text; equality ignores it.
    """

    at: int = field(default=0, kw_only=True)

    @property
    def children(self) -> tuple[Expr, ...]:
        """The direct subexpressions in reading order."""
        return ()

    @property
    def label(self) -> tuple[Any, ...]:
        """The other fields; the labels in the order of `walk` determine the tree."""
        return ()

    def rebuild(self, children: abc.Sequence[Expr]) -> Expr:
        """Return the node over other children; see `traverse.with_children`."""
        raise TypeError(f"{type(self).__name__} has no children")

    def walk(self) -> abc.Iterator[Expr]:
        """Yield all nodes in reading order, parents first, repeats included."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node.children))

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Expr):
            return self is other
        pairs = zip_longest(self.walk(), other.walk())
        return all(type(a) is type(b) and a.label == b.label for a, b in pairs)

    def __hash__(self) -> int:
        return hash(tuple((type(node), node.label) for node in self.walk()))

    def __repr__(self) -> str:
        """Return all kinds and labels in reading order; `to_text` prints nicely."""
        return " ".join(f"{type(node).__name__}({', '.join(map(repr, node.label))})" for node in self.walk())


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Literal(Expr):
    """A number, a text, True, False, None or `...`."""

    value: int | float | complex | str | bool | EllipsisType | None

    @property
    def label(self) -> tuple[Any, ...]:
        """Type and spelling: 1 is not 1.0, -0.0 is not 0.0, and nan is nan."""
        return (type(self.value), repr(self.value))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Named(Expr):
    """An expression that is one name."""

    name: str

    @property
    def label(self) -> tuple[Any, ...]:
        return (self.name,)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Name(Named):
    """A name of the case, or a word of the language such as `pi`."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dtype(Named):
    """A dtype by its torch name: `torch.float64`."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gradient(Named):
    """`grad(p)` or `grad(m[0])`: the gradient of `p`, of `m[0]`."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Derivative(Named):
    """`jacobian(y, x)`, `hessian(f, x)` or `hessian(f, x, z)`, as `name`."""

    @classmethod
    def of(cls, kind: str, *tensors: str, at: int = 0) -> Derivative:
        """Return the node; a Hessian by one tensor twice names it once."""
        named = tensors[:-1] if kind == "hessian" and tensors[1:2] == tensors[2:] else tensors
        return cls(f"{kind}({', '.join(named)})", at=at)

    @property
    def kind(self) -> str:
        """`jacobian` or `hessian`."""
        return self.name.partition("(")[0]

    @property
    def tensors(self) -> tuple[str, ...]:
        """The tensors between its brackets."""
        return tuple(self.name.partition("(")[2][:-1].split(", "))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Attribute(Expr):
    """`x.shape`, `x.ndim`, `x.dtype`, `x.numel()`, `len(x)`; `x.T` is a call."""

    value: Expr
    name: str

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    @property
    def label(self) -> tuple[Any, ...]:
        return (self.name,)

    def rebuild(self, children: abc.Sequence[Expr]) -> Expr:
        return Attribute(children[0], self.name)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sequence(Expr):
    """A list, or a tuple."""

    items: tuple[Expr, ...]
    is_tuple: bool = False

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.items

    @property
    def label(self) -> tuple[Any, ...]:
        return (self.is_tuple, len(self.items))

    def rebuild(self, children: abc.Sequence[Expr]) -> Expr:
        return Sequence(tuple(children), self.is_tuple)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slice(Expr):
    """`start:stop:step` inside an index."""

    start: Expr | None = None
    stop: Expr | None = None
    step: Expr | None = None

    @property
    def children(self) -> tuple[Expr, ...]:
        return tuple(part for part in (self.start, self.stop, self.step) if part is not None)

    @property
    def label(self) -> tuple[Any, ...]:
        return (self.start is None, self.stop is None, self.step is None)

    def rebuild(self, children: abc.Sequence[Expr]) -> Expr:
        rest = iter(children)
        return Slice(*(None if part is None else next(rest) for part in (self.start, self.stop, self.step)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Call(Expr):
    """An op applied to arguments.

    Operators, methods, indexing and `x.T` are calls too: `a @ b` is `matmul(a, b)`.
    """

    op: str
    args: tuple[Expr, ...]
    kwargs: tuple[tuple[str, Expr], ...] = ()

    @property
    def children(self) -> tuple[Expr, ...]:
        return (*self.args, *(value for _, value in self.kwargs)) if self.kwargs else self.args

    @property
    def label(self) -> tuple[Any, ...]:
        return (self.op, len(self.args), *(name for name, _ in self.kwargs))

    def rebuild(self, children: abc.Sequence[Expr]) -> Expr:
        args, values = children[: len(self.args)], children[len(self.args) :]
        return Call(
            self.op, tuple(args), tuple((name, new) for (name, _), new in zip(self.kwargs, values, strict=True))
        )
