"""Point: one random point of a finite field, and what is made up at it for functions outside the field.

Such a function's values are random, the same for the same argument. What must be known of it beyond that (that
`exp(log(x))` is x) is noted as a value for its argument. Two arguments that are different expressions may still be
equal at a point by chance, and then a wrong identity may hold there; the odds of that are counted here too.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from gradcheck.oracles.exact.degree import MADE_UP, Degree

#: Of more arguments than this, the same one is counted as often as it is asked for.
_COUNTED_ONCE = 4096


class _Arguments:
    """The arguments that one function was asked for at a point."""

    __slots__ = ("known", "others", "reach", "seen")

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.others = 0
        #: The largest degree of a difference of two.
        self.reach = 0
        self.known: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def count(self) -> int:
        return len(self.seen) + self.others


@dataclass(slots=True)
class Point:
    """One random point: its prime, and the salt of the values that functions outside the field take at it."""

    prime: int
    salt: int
    #: Whether the square of a root, where it is written as such, is what it is the root of. Either way what is proved
    #: is true; some formulas are right by this alone, others are easier seen to be so without.
    squares: bool = False
    #: Functions whose values were made up; a difference then refutes nothing, for they may be related otherwise.
    invented: set[str] = field(default_factory=set)
    #: Whether one function was made up of another's value.
    nested: bool = False
    #: How often, times the prime, something may have been 0 by chance.
    chance: int = 0
    has_infinity: bool = False
    _arguments: dict[str, _Arguments] = field(default_factory=dict)

    def random(self, generator: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        return generator.integers(1, self.prime, shape, dtype=np.int64)

    def made_up(self, name: str, values: np.ndarray, degree: Degree) -> np.ndarray:
        """A value from 1 to p - 1 for every argument, fixed by the point, the function and the argument.

        `degree` is the arguments'.
        """
        self.invented.add(name)
        arguments = self._note(name, values, degree)
        # splitmix64's finalizer (Steele et al. 2014)
        mixed = np.atleast_1d(values).astype(np.uint64) ^ np.uint64(self._seed(name))
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 0x9E3779B97F4A7C15)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
        found = ((mixed % np.uint64(self.prime - 1)).astype(np.int64) + 1).reshape(values.shape)
        return found if arguments.known is None else _replaced(arguments.known, values, found)

    def know(self, name: str, values: np.ndarray, results: np.ndarray, degree: Degree) -> None:
        """Note what the function's value is for these arguments; what was noted first stays."""
        arguments = self._note(name, values, degree)
        keys, found = values.ravel(), np.broadcast_to(results, values.shape).ravel()
        if arguments.known is not None:
            keys = np.concatenate([arguments.known[0], keys])
            found = np.concatenate([arguments.known[1], found])
        keys, first = np.unique(keys, return_index=True)
        arguments.known = (keys, found[first])

    def known(self, name: str, values: np.ndarray, default: np.ndarray) -> np.ndarray:
        """What is known of the function's values, `default` elsewhere."""
        arguments = self._arguments.get(name)
        if arguments is None or arguments.known is None:
            return default
        return _replaced(arguments.known, values, default)

    def symbol(self, name: str) -> int:
        """A number that has a name, and of which nothing else is known."""
        return int(self.made_up(name, np.zeros(1, dtype=np.int64), Degree())[0])

    def infinity(self, name: str) -> int:
        """The number that stands for an infinity; its exponential is 0 if it is negative."""
        value = self.symbol(name)
        if name == "-inf" and not self.has_infinity:
            self.has_infinity = True
            self.know("exp", np.array([value]), np.zeros(1, dtype=np.int64), Degree(1))
        return value

    def odds(self, degree: Degree) -> float:
        """At most how likely it is that what is not zero, and has this degree, is zero at a random point."""
        collisions = sum(a.count * (a.count - 1) // 2 * a.reach for a in self._arguments.values())
        if not self.nested and collisions:
            most = max(a.count * a.reach for a in self._arguments.values())
            collisions = min(collisions, degree.top * most)
        values = self.prime - 1 - degree.bottom
        return min(1.0, (degree.top + collisions + self.chance) / values) if values > 0 else 1.0

    def _note(self, name: str, values: np.ndarray, degree: Degree) -> _Arguments:
        arguments = self._arguments.get(name)
        if arguments is None:
            arguments = self._arguments[name] = _Arguments()
        if values.size <= _COUNTED_ONCE:
            arguments.seen.update(values.ravel().tolist())
        else:
            arguments.others += values.size
        arguments.reach = max(arguments.reach, degree.top + degree.bottom)
        if degree.kind & MADE_UP:
            self.nested = True
        return arguments

    def _seed(self, name: str) -> int:
        seed = self.salt
        for byte in name.encode():
            seed = (seed * 0x100000001B3 + byte) % (1 << 63)
        return seed


def _replaced(known: tuple[np.ndarray, np.ndarray], values: np.ndarray, default: np.ndarray) -> np.ndarray:
    keys, results = known
    if not len(keys):
        return default
    places = np.minimum(np.searchsorted(keys, values), len(keys) - 1)
    return np.where(keys[places] == values, results[places], default)
