"""Points of small integers, at which comparisons have an outcome.

At a random point of the field no number is larger than another, so a formula that is wrong on one side of a comparison
is neither proved nor refuted. At a point whose free variables are small integers, most differences are small integers
too, and a residue next to 0 is one (another is so close to 0 with a probability below 2^-14). If each comparison is
decided in this way, a difference that does not depend on any function refutes the formula at this point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from gradcheck.errors import Unsupported
from gradcheck.oracles.exact import modular_arithmetic
from gradcheck.oracles.exact.graph_regions import Domain

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
