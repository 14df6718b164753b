"""The comparisons and domains of a graph, which formulas may share.

Two things hold for a graph that need not hold for a formula. If the graph itself compares two numbers, their equality
is a kink of it, at which a gradient may be anything. And if one of its ops is undefined, nothing is claimed. So both
are recorded while the graph is evaluated, and looked up for the comparisons and domains of formulas.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

#: Domains of functions: x > 0, x >= 0, x != 0, |x| <= 1, x >= 1, |x| < 1.
Domain = Literal["positive", "nonnegative", "nonzero", "unit", "from_one", "unit_open"]
#: The evaluated expression: the graph, the core's rules for it, or a claimed formula.
Phase = Literal["graph", "rule", "claim"]
#: Domains that are in each of these; the derivative of a root is undefined at 0.
_WITHIN: dict[Domain, tuple[Domain, ...]] = {
    "nonnegative": ("nonnegative", "positive", "from_one"),
    "positive": ("positive", "nonnegative"),
    "nonzero": ("nonzero", "positive", "nonnegative"),
    "unit": ("unit", "unit_open"),
    "unit_open": ("unit_open", "unit"),
    "from_one": ("from_one",),
}


class Residues:
    """A set of residues, made of whole arrays, and sorted on the first query."""

    __slots__ = ("_added", "_sorted")

    def __init__(self) -> None:
        self._added: list[np.ndarray] = []
        self._sorted = np.zeros(0, dtype=np.int64)

    def add(self, residues: np.ndarray) -> None:
        self._added.append(residues)

    def contains(self, residues: np.ndarray) -> np.ndarray:
        """Return which of them are in the set, as an array of booleans."""
        if self._added:
            self._sorted = np.unique(np.concatenate([self._sorted, *[one.ravel() for one in self._added]]))
            self._added.clear()
        if not len(self._sorted):
            return np.zeros(residues.shape, dtype=np.bool_)
        places = np.minimum(np.searchsorted(self._sorted, residues), len(self._sorted) - 1)
        return np.asarray(self._sorted[places] == residues)


class GraphRegions:
    """The comparisons and domains of one graph at one point."""

    __slots__ = ("_domains", "compared", "finite", "phase")

    def __init__(self) -> None:
        self.phase: Phase = "graph"
        self.compared = Residues()  # differences that the graph compares with 0, up to their sign
        self.finite = Residues()  # values that the graph itself tests for finiteness
        self._domains: dict[Domain, Residues] = {}

    def are_never_zero(self, residues: np.ndarray) -> np.ndarray:
        """Return where the graph itself is undefined if the residue is 0."""
        return self._in_any(_WITHIN["nonzero"], residues)

    def is_defined(self, domain: Domain, residues: np.ndarray) -> bool:
        """Record a domain of the graph; return whether a formula's is in it."""
        if self.phase == "graph":
            self._domains.setdefault(domain, Residues()).add(residues)
        if self.phase != "claim":
            return True
        return bool(self._in_any(_WITHIN[domain], residues).all())

    def _in_any(self, domains: tuple[Domain, ...], residues: np.ndarray) -> np.ndarray:
        found = np.zeros(residues.shape, dtype=np.bool_)
        for domain in domains:
            if domain in self._domains:
                found |= self._domains[domain].contains(residues)
        return found
