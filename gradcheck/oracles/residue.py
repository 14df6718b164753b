"""Residue: a tensor of dual numbers modulo a prime, so that any forward yields its exact directional derivative.

Ops are applied to residues as they are to tensors and formulas; how each op acts on them stands in `residue_ops`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators
from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.oracles import modular
from gradcheck.oracles.chain import Chain, Matrix

#: How an op acts on residues: `(point, *canonical arguments)` to a Residue, or to plain arrays.
Action = Callable[..., Any]
F = TypeVar("F", bound=Action)
ACTIONS: dict[str, Action] = {}


@dataclass(slots=True)
class Point:
    """One random point: its prime, and the salt of the values that functions outside the field take at it."""

    prime: int
    salt: int
    #: Functions whose values were made up; a difference then refutes nothing, for they may be related otherwise.
    invented: set[str] = field(default_factory=set)

    def random(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return generator.integers(1, self.prime, shape, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Degree:
    """Bounds on the total degrees of numerator and denominator, as polynomials in everything that is random."""

    top: int = 0
    bottom: int = 0

    def __add__(self, other: Degree) -> Degree:
        if not self.bottom and not other.bottom:
            return Degree(max(self.top, other.top))
        return Degree(max(self.top + other.bottom, other.top + self.bottom), self.bottom + other.bottom)

    def __mul__(self, other: Degree) -> Degree:
        return Degree(self.top + other.top, self.bottom + other.bottom)

    def __pow__(self, exponent: int) -> Degree:
        return Degree(self.top * exponent, self.bottom * exponent)

    def inverted(self) -> Degree:
        return Degree(self.bottom, self.top)

    def summed(self, terms: int) -> Degree:
        """Of a sum of so many terms, each with a denominator of its own."""
        return Degree(self.top + (terms - 1) * self.bottom, self.bottom * terms) if terms > 1 else self

    def derived(self) -> Degree:
        """Of a directional derivative."""
        return Degree(self.top + self.bottom, 2 * self.bottom)


_LINEAR = Degree(1)


class Residue(Operators):
    """value      residues, an int64 array
    tangent    the derivative along the direction that is looked at; None for zero
    lazy_value, lazy_tangent    the same, or chains of matrices that are not multiplied out yet
    """

    __slots__ = ("degree", "lazy_tangent", "lazy_value", "point")
    #: What rules and formulas see: residues stand for real numbers.
    dtype = np.dtype(np.float64)

    def __init__(
        self,
        point: Point,
        value: np.ndarray | Chain,
        tangent: np.ndarray | Chain | None = None,
        degree: Degree = _LINEAR,
    ) -> None:
        self.point, self.degree = point, degree
        self.lazy_value = value if isinstance(value, Chain) else np.asarray(value)
        self.lazy_tangent = tangent if tangent is None or isinstance(tangent, Chain) else np.asarray(tangent)

    @property
    def value(self) -> np.ndarray:
        return self.lazy_value.dense() if isinstance(self.lazy_value, Chain) else self.lazy_value

    @property
    def tangent(self) -> np.ndarray | None:
        return self.lazy_tangent.dense() if isinstance(self.lazy_tangent, Chain) else self.lazy_tangent

    def chain(self) -> Chain:
        """The value of a matrix as a chain that can grow longer."""
        self.lazy_value = value = _chain(self.lazy_value, self.point.prime)
        return value

    def tangent_chain(self) -> Chain | None:
        """The same of the tangent."""
        if self.lazy_tangent is None:
            return None
        self.lazy_tangent = tangent = _chain(self.lazy_tangent, self.point.prime)
        return tangent

    @property
    def shape(self) -> tuple[int, ...]:
        return self.lazy_value.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        action = ACTIONS.get(op.name)
        if action is None:
            raise Unsupported(f"{op.name} is no operation of exact arithmetic")
        flat = [*args, *(args[op.sequence] if op.sequence is not None else ())]
        point = next(arg.point for arg in flat if isinstance(arg, Residue))
        try:
            return action(point, op, *args)
        except ZeroDivisionError as error:
            raise Unsupported(f"{op.name}: {error} at this point") from error
        except ValueError as error:
            raise ShapeMismatch(f"{op.name}: {error}") from error


def _chain(value: np.ndarray | Chain, prime: int) -> Chain:
    return value if isinstance(value, Chain) else Chain((Matrix(value, prime),))


def lift(point: Point, value: Any) -> Residue:
    """A number or an array as residues without tangent. Raises Unsupported for what is no rational number."""
    if isinstance(value, Residue):
        return value
    array = np.asarray(value)
    if array.dtype.kind in "biu":
        return Residue(point, modular.reduce(array, point.prime), degree=Degree())
    if array.dtype.kind != "f" or not np.all(np.isfinite(array)):
        raise Unsupported(f"{array.dtype} values that are no rational numbers")
    if not modular.is_rational(array):
        point.invented.add("rounded numbers")
    return Residue(point, modular.from_floats(array, point.prime), degree=Degree())


def acts_on(*names: str) -> Callable[[F], F]:
    """Say how these ops act on residues."""

    def decorate(action: F) -> F:
        for name in names:
            if ACTIONS.setdefault(name, action) is not action:
                raise ValueError(f"the op {name!r} already acts on residues")
        return action

    return decorate
