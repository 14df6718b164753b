"""Dual numbers modulo a prime, on which forwards yield exact derivatives.

A dual number is `value + tangent * e` with `e * e = 0`, so `f(x + v e) = f(x) + f'(x) v e`: forward-mode
differentiation (Wengert 1964; Griewank and Walther, "Evaluating Derivatives", 2008, chapter 3), without rounding. Ops
apply to dual numbers as to tensors and formulas; the rule of each op is in `EXACT_RULES`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators
from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.oracles.exact import exact_constants, modular_arithmetic
from gradcheck.oracles.exact.degree import CONSTANT, PARTIAL, RANDOM, UNINTERPRETED, Degree
from gradcheck.oracles.exact.field_point import FieldPoint
from gradcheck.oracles.exact.modular_matrices import MatrixChain, ModularMatrix, ones

#: The degree of powers of a symbol.
_SYMBOLIC = Degree(2, 2)

F = TypeVar("F", bound=Callable[..., Any])


class DivisionByZero(Unsupported):
    """A divisor is 0 at this point; it need not be 0 at another."""


class Dual(Operators):
    """A tensor of dual numbers. Operators work by element, with broadcasting.

    value      residues, an int64 array
    tangent    the derivative along the current direction; None for zero
    lazy_value, lazy_tangent    the same, or chains of matrices that are not multiplied yet
    degree     bounds on the polynomials
    """

    __slots__ = ("degree", "lazy_tangent", "lazy_value", "point")
    #: The dtype that formulas see: residues stand for real numbers.
    dtype: np.dtype = np.dtype(np.float64)

    def __init__(self, point: FieldPoint, value: Any, tangent: Any = None, degree: Degree = RANDOM) -> None:
        self.point, self.degree = point, degree
        self.lazy_value, self.lazy_tangent = value, tangent

    @property
    def value(self) -> np.ndarray:
        value = self.lazy_value
        return value.dense() if type(value) is MatrixChain else value

    @property
    def tangent(self) -> np.ndarray | None:
        tangent = self.lazy_tangent
        return tangent.dense() if type(tangent) is MatrixChain else tangent

    def value_chain(self) -> MatrixChain:
        """Return the value of a matrix as a chain that can grow."""
        chain = self.lazy_value
        if type(chain) is not MatrixChain:
            chain = self.lazy_value = MatrixChain((self._matrix(),))
        return chain

    def _matrix(self) -> ModularMatrix:
        value, prime = self.lazy_value, self.point.prime
        if self.degree is CONSTANT and 1 in value.shape and (value == 1).all():
            return ones(*value.shape, prime)
        return ModularMatrix(value, prime)

    def tangent_chain(self) -> MatrixChain | None:
        """Return the tangent of a matrix as a chain; None for zero."""
        if self.lazy_tangent is not None and type(self.lazy_tangent) is not MatrixChain:
            self.lazy_tangent = MatrixChain((ModularMatrix(self.lazy_tangent, self.point.prime),))
        chain: MatrixChain | None = self.lazy_tangent
        return chain

    def primal(self) -> Dual:
        """Return the value alone, as a constant."""
        if self.lazy_tangent is None:
            return self
        return type(self)(self.point, self.lazy_value, None, self.degree.of_value())

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
        for arg in args:
            if isinstance(arg, np.dtype) and arg.kind in "biuc" and not issubclass(cls, Indicator):
                _refuse_casts(op)
        return apply_rule(_point_of(op, args), op, args)

    # Arithmetic ------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Dual:
        if isinstance(self, Indicator) and getattr(other, "dtype", None) == self.dtype:
            raise Unsupported("a sum of booleans, which is a boolean")
        return _sum(self, lift(self.point, other), 1)

    def __sub__(self, other: Any) -> Dual:
        return _sum(self, lift(self.point, other), -1)

    def __rsub__(self, other: Any) -> Dual:
        return _sum(lift(self.point, other), self, -1)

    def __mul__(self, other: Any) -> Dual:
        """Multiply, by the product rule; a point may know squares of roots."""
        b, prime = lift(self.point, other), self.point.prime
        x, y, left, right = self.value, b.value, self.tangent, b.tangent
        tangent: np.ndarray | None = None
        if left is not None:
            tangent = left * y % prime
        if right is not None:
            tangent = x * right % prime if tangent is None else (tangent + x * right % prime) % prime
        product = Dual(self.point, x * y % prime, tangent, self.degree.times(b.degree))
        return _known_square(self, product) if other is self and self.point.keeps_squares else product

    def __truediv__(self, other: Any) -> Dual:
        return self * lift(self.point, other).reciprocal()

    def __rtruediv__(self, other: Any) -> Dual:
        inverted = self.reciprocal()
        return inverted if type(other) is int and other == 1 else inverted * other

    def __neg__(self) -> Dual:
        return self * -1

    __radd__, __rmul__ = __add__, __mul__

    def reciprocal(self) -> Dual:
        """Return `1 / x`. Raises ZeroDivisionError if x is 0."""
        prime, tangent, residues = self.point.prime, self.tangent, self.value
        value, degree = modular_arithmetic.inverse(residues, prime), self.degree.inverted()
        if tangent is not None:
            tangent = -(value * value % prime) * tangent % prime
        if self.point.domain_kinds("nonzero", residues, self.degree):
            degree = degree._replace(kinds=degree.kinds | PARTIAL)
        return Dual(self.point, value, tangent, degree)

    def add_formally(self, other: Dual, sign: int = 1) -> Dual:
        """Return `self + sign * other`, infinities treated as numbers."""
        point, x, y, left, right = self.point, self.value, other.value, self.tangent, other.tangent
        value = (x + y if sign > 0 else x - y) % point.prime
        tangent = left
        if right is not None:
            signed = right if sign > 0 else -right
            tangent = (signed if left is None else left + signed) % point.prime
        if tangent is not None and tangent.shape != value.shape:
            tangent = np.broadcast_to(tangent, value.shape)
        return Dual(point, value, tangent, self.degree.plus(other.degree))


class Indicator(Dual):
    """A comparison: 0 or 1, here an uninterpreted residue to cover both."""

    __slots__ = ()
    dtype: np.dtype = np.dtype(np.bool_)


def _known_square(x: Dual, product: Dual) -> Dual:
    value = x.point.defined_values("square", x.value, product.value)
    if value is product.value:
        return product
    return Dual(x.point, value, product.tangent, product.degree.join(Degree(1, kinds=UNINTERPRETED)))


def _sum(a: Dual, b: Dual, sign: int) -> Dual:
    """Add; a sum with minus infinity is minus infinity."""
    total = a.add_formally(b, sign)
    if not total.point.has_infinity:
        return total
    endless = total.point.infinity(-1)
    where = (a.value == endless) | (b.value == endless)
    value = np.where(where, endless, total.value)
    tangent = None if total.tangent is None else np.where(where, 0, total.tangent)
    return Dual(total.point, value, tangent, total.degree.join(Degree(1)))


# Rules --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExactRule:
    """The rule of an op: `function(*arguments)`, in the signature's order.

    It returns a Dual, or an array that is equal at all points. The arguments at `operands`, and those in a sequence,
    are passed as Duals.
    """

    function: Callable[..., Any]
    operands: tuple[int, ...]


#: By the op's name.
EXACT_RULES: dict[str, ExactRule] = {}


def exact_rule(*names: str, operands: tuple[int, ...] = (0,)) -> Callable[[F], F]:
    """Register an `ExactRule` for these ops. Raises ValueError for a second."""

    def decorate(function: F) -> F:
        for name in names:
            if name in EXACT_RULES:
                raise ValueError(f"the op {name!r} already has an exact rule")
            EXACT_RULES[name] = ExactRule(function, operands)
        return function

    return decorate


def apply_rule(point: FieldPoint, op: Op, args: Iterable[Any]) -> Any:
    """Apply an op. Raises Unsupported, DivisionByZero, ShapeMismatch."""
    rule = EXACT_RULES.get(op.name)
    if rule is None:
        raise Unsupported(f"{op.name} is no operation of exact arithmetic")
    given = list(args)
    try:
        if op.sequence is not None:
            given[op.sequence] = [lift(point, item) for item in given[op.sequence]]
        for position in rule.operands:
            if not isinstance(given[position], Dual):
                given[position] = lift(point, given[position])
        return rule.function(*given)
    except ZeroDivisionError as error:
        raise DivisionByZero(f"{op.name}: {error} at this point") from error
    except ValueError as error:
        raise ShapeMismatch(f"{op.name}: {error}") from error
    except OverflowError as error:
        raise Unsupported(f"{op.name}: {error}") from error


def lift(point: FieldPoint, value: Any) -> Dual:
    """Return rational numbers as a Dual without tangent. Raises Unsupported."""
    if isinstance(value, Dual):
        return value
    if type(value) is int:
        return Dual(point, np.asarray(value % point.prime), None, CONSTANT)
    if type(value) is float and math.isfinite(value) and not value.is_integer():
        return _lift_fraction(point, value)
    array = np.asarray(value)
    if array.dtype.kind in "bui":
        return Dual(point, modular_arithmetic.reduce(array, point.prime), None, CONSTANT)
    is_real, dtype = array.dtype.kind in "fV", array.dtype
    array = array.astype(np.float64, copy=False) if is_real else array
    if is_real and (whole := modular_arithmetic.as_integers(array)) is not None:
        return Dual(point, modular_arithmetic.reduce(whole, point.prime), None, CONSTANT)
    if not is_real or np.isnan(array).any():
        raise Unsupported(f"{array.dtype} values that are no rational numbers")
    return _lift_fractions(point, array, dtype)


def _lift_fraction(point: FieldPoint, number: float) -> Dual:
    try:
        found = exact_constants.residue(point, number)
    except ZeroDivisionError as error:
        raise DivisionByZero(str(error)) from error
    return Dual(point, np.array(found), None, CONSTANT if exact_constants.fraction(number) is not None else _SYMBOLIC)


def _lift_fractions(point: FieldPoint, array: np.ndarray, dtype: np.dtype) -> Dual:
    """Return an array of floats of this dtype, in double precision, as a Dual."""
    unique, places = np.unique(array, return_inverse=True)
    numbers = unique.tolist()
    try:
        found = np.array([exact_constants.residue(point, number, dtype) for number in numbers], dtype=np.int64)
    except ZeroDivisionError as error:
        raise DivisionByZero(str(error)) from error
    is_plain = all(math.isfinite(number) and exact_constants.fraction(number, dtype) is not None for number in numbers)
    degree = CONSTANT if is_plain else _SYMBOLIC
    return Dual(point, found[places].reshape(array.shape), None, degree)


def _refuse_casts(op: Op) -> None:
    """Raise Unsupported: casts cut floats; complex numbers are no residues."""
    if not op.name.endswith("_like") and op.name != "to":
        raise Unsupported(f"{op.name} in another kind of numbers")


def _point_of(op: Op, args: tuple[Any, ...]) -> FieldPoint:
    for arg in args if op.sequence is None else (*args, *args[op.sequence]):
        if isinstance(arg, Dual):
            return arg.point
    raise AssertionError("an op is applied here for a dual number among its arguments")
