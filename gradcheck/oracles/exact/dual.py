"""Residue: a tensor of dual numbers modulo a prime, so that any forward yields its exact directional derivative.

Ops are applied to residues as they are to tensors and formulas; how each op acts on them stands in `residue_*`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators
from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.oracles.exact import constants, modular
from gradcheck.oracles.exact.degree import CONSTANT, RANDOM, Degree
from gradcheck.oracles.exact.lazy_matmul import Chain, Matrix
from gradcheck.oracles.exact.point import Point

#: How an op acts on residues: `(point, op, *canonical arguments)` to a Residue, or to plain arrays.
Action = Callable[..., Any]
F = TypeVar("F", bound=Action)
ACTIONS: dict[str, Action] = {}


class Unlucky(Unsupported):
    """A divisor is 0 at this point; it need not be at another."""


class Residue(Operators):
    """value      residues, an int64 array
    tangent    the derivative along the direction that is looked at; None for zero
    lazy_value, lazy_tangent    the same, or chains of matrices that are not multiplied out yet
    """

    __slots__ = ("degree", "lazy_tangent", "lazy_value", "point")
    #: What rules and formulas see: residues stand for real numbers.
    dtype: np.dtype = np.dtype(np.float64)

    def __init__(self, point: Point, value: Any, tangent: Any = None, degree: Degree = RANDOM) -> None:
        self.point, self.degree = point, degree
        self.lazy_value, self.lazy_tangent = value, tangent

    @property
    def value(self) -> np.ndarray:
        value = self.lazy_value
        return value.dense() if type(value) is Chain else value

    @property
    def tangent(self) -> np.ndarray | None:
        tangent = self.lazy_tangent
        return tangent.dense() if type(tangent) is Chain else tangent

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

    def still(self) -> Residue:
        """The value alone."""
        return self if self.lazy_tangent is None else type(self)(self.point, self.lazy_value, None, self.degree.still())

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.lazy_value.shape
        return shape

    @property
    def ndim(self) -> int:
        return len(self.lazy_value.shape)

    def __len__(self) -> int:
        return self.shape[0]

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        action = ACTIONS.get(op.name)
        if action is None:
            raise Unsupported(f"{op.name} is no operation of exact arithmetic")
        if any(isinstance(arg, np.dtype) and arg.kind in "biuc" for arg in args) and not issubclass(cls, Truth):
            _refuse_casts(op)
        try:
            return action(_point_of(op, args), op, *args)
        except ZeroDivisionError as error:
            raise Unlucky(f"{op.name}: {error} at this point") from error
        except ValueError as error:
            raise ShapeMismatch(f"{op.name}: {error}") from error
        except OverflowError as error:
            raise Unsupported(f"{op.name}: {error}") from error


class Truth(Residue):
    """Truth values, of which nothing is known: any residues, so that what is proved holds for 0 and 1 as well."""

    __slots__ = ()
    dtype: np.dtype = np.dtype(np.bool_)


def _refuse_casts(op: Op) -> None:
    """Floats are cut to integers; complex numbers are no residues."""
    if not op.name.endswith("_like") and op.name != "to":
        raise Unsupported(f"{op.name} in another kind of numbers")


def _point_of(op: Op, args: tuple[Any, ...]) -> Point:
    for arg in args:
        if isinstance(arg, Residue):
            return arg.point
    assert op.sequence is not None
    return next(arg.point for arg in args[op.sequence] if isinstance(arg, Residue))


def _chain(value: np.ndarray | Chain, prime: int) -> Chain:
    return value if type(value) is Chain else Chain((Matrix(value, prime),))  # type: ignore[arg-type]


def lift(point: Point, value: Any) -> Residue:
    """A number or an array as residues without tangent. Raises Unsupported for what is no number.

    An infinity is some number that is made up, and so it is in what is proved: the proof holds for ever larger ones.
    """
    if isinstance(value, Residue):
        return value
    if type(value) is int:
        return Residue(point, np.asarray(value % point.prime), None, CONSTANT)
    array = np.asarray(value)
    if array.dtype.kind in "bui":
        return Residue(point, modular.reduce(array, point.prime), None, CONSTANT)
    if array.dtype.kind != "f" or np.any(np.isnan(array)):
        raise Unsupported(f"{array.dtype} values that are no rational numbers")
    return _lift_floats(point, array.astype(np.float64, copy=False))


def _lift_floats(point: Point, array: np.ndarray) -> Residue:
    if np.all(array == np.rint(array)) and np.all(np.abs(array) < 2.0**62):
        return Residue(point, modular.reduce(array.astype(np.int64), point.prime), None, CONSTANT)
    unique, places = np.unique(array, return_inverse=True)
    try:
        found = np.array([constants.residue(point, number) for number in unique.tolist()], dtype=np.int64)
    except ZeroDivisionError as error:
        raise Unlucky(str(error)) from error
    is_plain = all(math.isfinite(number) and constants.fraction(number) is not None for number in unique.tolist())
    degree = CONSTANT if is_plain else Degree(2, 2)  # powers of a symbol
    return Residue(point, found[places].reshape(array.shape), None, degree)


def acts_on(*names: str) -> Callable[[F], F]:
    """Say how these ops act on residues."""

    def decorate(action: F) -> F:
        for name in names:
            if ACTIONS.setdefault(name, action) is not action:
                raise ValueError(f"the op {name!r} already acts on residues")
        return action

    return decorate
