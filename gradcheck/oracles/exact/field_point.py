"""A random point of a finite field, and uninterpreted functions at it.

A function that is no fraction of polynomials (`exp`, `sin`, `x > 0`) is left uninterpreted: its values are random, the
same for the same argument. That is Ackermann's reduction (1954): of a function f nothing is assumed but that `x = y`
implies `f(x) = f(y)`, so what is proved for all such f is true of the real one. (Gulwani and Necula evaluate programs
at random in this way: "Global value numbering using random interpretation", POPL 2004.) Known identities, such as
`exp(log(x)) = x`, are defined value by value.

Two arguments that are different expressions may be equal at a point by chance, and then a wrong identity may hold
there; `error_bound` includes the probability of that.

At a random point no number is larger than another, so a formula that is wrong on one side of a comparison is neither
proved nor refuted. At a point whose free variables are small integers, most differences are small integers too, and a
residue next to 0 is one (another is so close to 0 with a probability below 2^-14). If each comparison is decided in
this way, a difference that does not depend on any function refutes the formula at this point.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from gradcheck.errors import Unsupported
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.degree import CONSTANT, PARTIAL, UNINTERPRETED, Degree
from gradcheck.oracles.exact.graph_regions import Domain, GraphRegions

#: The largest number of each such point, in the order of attempts.
SCALES = (3, 8, 200, 30, 3, 8, 200, 1000)
#: The names of uninterpreted functions that integers decide.
_PIECES = (">", "==", "amax", "amin", "floor", "ceil", "trunc", "round", "is")
#: The bound of residues that count as integers.
_SMALL = 1 << 16


def is_piecewise(functions: Iterable[str]) -> bool:
    """Return whether these functions include comparisons or steps."""
    return any(name.startswith(_PIECES) for name in functions)


def random_integers(scale: int, prime: int, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return integers up to a scale, none of them 0, as residues."""
    drawn = generator.integers(1, scale, shape, endpoint=True) * generator.choice((-1, 1), shape)
    return np.asarray(drawn % prime)


def integers_between(
    low: Any, high: Any, prime: int, generator: np.random.Generator, shape: tuple[int, ...]
) -> np.ndarray:
    """Return integers from a stated domain. Raises Unsupported for none."""
    first, last = math.ceil(low), math.floor(high)
    if first > last:
        raise Unsupported(f"whole numbers between {low} and {high}")
    return np.asarray(generator.integers(first, last, shape, endpoint=True) % prime)


def as_small_integers(residues: np.ndarray, prime: int) -> np.ndarray:
    """Return the integers of residues. Raises Unsupported for a large one."""
    found = modular_arithmetic.centred(residues, prime)
    if (np.abs(found) >= _SMALL).any():
        raise Unsupported("a comparison that is not decided")
    return found


def require_domain(domain: Domain, residues: np.ndarray, prime: int) -> None:
    """Raise Unsupported unless all of them are in the domain."""
    if domain == "nonzero":
        return
    found = as_small_integers(residues, prime)
    holds = {
        "positive": found > 0,
        "nonnegative": found >= 0,
        "unit": np.abs(found) <= 1,
        "unit_open": np.abs(found) < 1,
        "from_one": found >= 1,
    }
    if not holds[domain].all():
        raise Unsupported("a function that is not defined there")


#: The most arguments of a call whose duplicates are counted once.
_COUNTED_ONCE = 4096
#: The fewest random elements of a draw.
_AT_ONCE = 512
#: The shifts and factors of splitmix64's finalizer; and by what a hash is multiplied for each byte.
_SPLITMIX = tuple(
    (np.uint64(shift), np.uint64(factor))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 0x9E3779B97F4A7C15))
)
_BYTE = 0x100000001B3


@dataclass(slots=True)
class _Function:
    """The arguments of one uninterpreted function at a point, and its values."""

    seen: set[int] = field(default_factory=set)
    others: int = 0
    degree: int = 0  # the largest degree of a difference of two arguments
    #: Arguments with defined values, in ascending order.
    keys: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    values: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def arguments(self) -> int:
        return len(self.seen) + self.others

    def lookup(self, arguments: np.ndarray, default: np.ndarray) -> np.ndarray:
        if not len(self.keys):
            return default
        places = np.minimum(np.searchsorted(self.keys, arguments), len(self.keys) - 1)
        return np.where(self.keys[places] == arguments, self.values[places], default)


@dataclass(slots=True)
class FieldPoint:
    """One random point: elements and values are from 1 to its prime - 1."""

    prime: int
    salt: int
    #: Whether the square of a root is its argument, if it is written as a square. Either way what is proved
    #: is true; some formulas need this, others are easier to prove without.
    keeps_squares: bool = False
    #: From 1 on, the same point under other values of all functions.
    redraw: int = 0
    #: The size of its integers, 0 for random elements of the field.
    integer_scale: int = 0
    #: The numbers in the file's own expressions.
    written_numbers: Container[float] = ()
    #: The uninterpreted functions that were evaluated. A difference that depends on their values refutes nothing:
    #: the real functions may satisfy further identities.
    uninterpreted: set[str] = field(default_factory=set)
    #: Whether one such function was applied to another's value.
    nested: bool = False
    #: The sum of the degrees of all comparisons with 0.
    zero_tests: int = 0
    has_infinity: bool = False
    regions: GraphRegions = field(default_factory=GraphRegions)
    _functions: dict[str, _Function] = field(default_factory=dict)
    _drawn: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def random(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Return random elements, none of them 0."""
        return generator.integers(1, self.prime, shape, dtype=np.int64)

    def vector(self, generator: np.random.Generator, size: int) -> np.ndarray:
        """Return random elements, drawn in blocks: a few cost as much as hundreds."""
        if len(self._drawn) < size:
            self._drawn = self.random(generator, (max(size, _AT_ONCE),))
        found, self._drawn = self._drawn[:size], self._drawn[size:]
        return found

    def value(self, name: str, arguments: np.ndarray, degree: Degree) -> np.ndarray:
        """Return an uninterpreted function's values; `degree` is the arguments'."""
        self.uninterpreted.add(name)
        return self._asked(name, arguments, degree).lookup(arguments, self._hashed(name, arguments))

    def define(self, name: str, arguments: np.ndarray, results: np.ndarray, degree: Degree) -> None:
        """Fix the function's values for these arguments; the first one stays."""
        function = self._asked(name, arguments, degree)
        values = np.concatenate([function.values, np.broadcast_to(results, arguments.shape).ravel()])
        function.keys, first = np.unique(np.concatenate([function.keys, arguments.ravel()]), return_index=True)
        function.values = values[first]

    def defined_values(self, name: str, arguments: np.ndarray, default: np.ndarray) -> np.ndarray:
        """Return the values that were defined, else `default`."""
        function = self._functions.get(name)
        return default if function is None else function.lookup(arguments, default)

    def symbol(self, name: str) -> int:
        """Return a number with a name and no known properties."""
        return int(self.value(name, np.zeros(1, dtype=np.int64), Degree())[0])

    def domain_kinds(self, domain: Domain, arguments: np.ndarray, degree: Degree) -> int:
        """Return `PARTIAL` for a function with a smaller domain than the graph."""
        if self.integer_scale and degree != CONSTANT:
            require_domain(domain, arguments, self.prime)
            return 0
        if degree == CONSTANT or self.regions.is_defined(domain, arguments):
            return 0
        return PARTIAL

    def weight(self) -> int:
        """Return a random factor that combines two arguments into one."""
        return int(self._hashed("weight", np.zeros(1, dtype=np.int64))[0])

    def infinity(self, sign: int) -> int:
        """Return a symbol for ever larger numbers; `exp(-inf)` is 0."""
        value = self.symbol("inf" if sign > 0 else "-inf")
        if sign < 0 and not self.has_infinity:
            self.has_infinity = True
            self.define("exp", np.array([value]), np.zeros(1, dtype=np.int64), Degree(1))
        return value

    def error_bound(self, degree: Degree) -> float:
        """Return a bound on the probability that a nonzero `P / Q` vanishes here.

        That is `(deg P + collisions + zero tests) / (p - 1 - deg Q)`: by Schwartz and Zippel for P, for the difference
        of each pair of arguments of an uninterpreted function, and for each comparison with 0, of all points where Q is
        not 0.
        """
        functions = self._functions.values()
        collisions = sum(math.comb(function.arguments, 2) * function.degree for function in functions)
        if not self.nested and collisions:
            most = max(function.arguments * function.degree for function in functions)
            collisions = min(collisions, degree.numerator * most)
        elements = self.prime - 1 - degree.denominator
        vanishing = degree.numerator + collisions + self.zero_tests  # no float holds a degree of 2**4000
        return vanishing / elements if vanishing < elements else 1.0

    def _asked(self, name: str, arguments: np.ndarray, degree: Degree) -> _Function:
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = _Function()
        if arguments.size <= _COUNTED_ONCE:
            function.seen.update(arguments.ravel().tolist())
        else:
            function.others += arguments.size
        function.degree = max(function.degree, degree.numerator + degree.denominator)
        if degree.kinds & UNINTERPRETED:
            self.nested = True
        return function

    def _hashed(self, name: str, arguments: np.ndarray) -> np.ndarray:
        """Return 1 to p - 1 by splitmix64 (Steele, Lea and Flood, OOPSLA 2014)."""
        mixed = np.atleast_1d(arguments).astype(np.uint64) ^ np.uint64(self._seed(name))
        for shift, factor in _SPLITMIX:
            mixed ^= mixed >> shift
            mixed *= factor
        return ((mixed % np.uint64(self.prime - 1)).astype(np.int64) + 1).reshape(arguments.shape)

    def _seed(self, name: str) -> int:
        factor, rest = _hash_of(name)
        return ((self.salt + self.redraw) * factor + rest) % (1 << 63)


@lru_cache(maxsize=1024)
def _hash_of(name: str) -> tuple[int, int]:
    """Return the factor and summand by which a name's bytes change a seed."""
    factor, rest = 1, 0
    for byte in name.encode():
        factor, rest = factor * _BYTE % (1 << 63), (rest * _BYTE + byte) % (1 << 63)
    return factor, rest
