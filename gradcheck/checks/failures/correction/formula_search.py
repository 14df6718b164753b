"""The search for formulas one and two edits away, within a budget of work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gradcheck.checks.closeness.compare import derivation_tolerance, nearly_equal
from gradcheck.checks.closeness.tolerance import modulus
from gradcheck.checks.failures.correction.edit_position import Operands
from gradcheck.checks.failures.correction.edits import all_single_edits
from gradcheck.checks.failures.correction.expression_pool import ExpressionPool
from gradcheck.language.expr.printer import to_text

#: The most parts of a searched formula.
MAX_PARTS = 120
#: So many more formulas are tried after one fits, for a likelier one.
_LINGER = 2_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A formula that fits, its number of edits, and their cost."""

    part: int
    edits: int
    cost: float


class FormulaSearch:
    """The formulas near `root` in the pool that give the array `want`.

    The budget counts calls of an op on small tensors, and one for each formula. `is_complete` is True in the end if
    all formulas within two edits were tried.
    """

    def __init__(self, pool: ExpressionPool, operands: Operands, root: int, want: np.ndarray, budget: int) -> None:
        self.pool, self.operands, self.root, self.want = pool, operands, root, want
        self.budget = budget
        self.is_complete = False
        self._made = 0
        self._work_before = pool.work
        self._tried: dict[int, float] = {root: 0.0}
        self._first = want.item(0) if want.size else 0.0
        self._tolerance = derivation_tolerance(want)

    @property
    def spent(self) -> int:
        return self._made + self.pool.work - self._work_before

    def fits_by_edit_count(self) -> Iterator[list[Candidate]]:
        """Yield the formulas that fit after one edit, then two, likeliest first."""
        parts = sum(1 for _, _ in zip(self.pool.positions(self.root), range(MAX_PARTS + 1), strict=False))
        if parts <= MAX_PARTS:
            yield self._ranked(self._one_edit())
            yield self._ranked(self._two_edits())

    def _ranked(self, found: Iterator[Candidate]) -> list[Candidate]:
        return sorted(found, key=lambda c: (c.cost, len(to_text(self.pool.exprs[c.part]))))

    def _one_edit(self) -> Iterator[Candidate]:
        for part, _, cost in all_single_edits(self.pool, self.operands, self.root):
            self._made += 1
            if cost < self._tried.get(part, np.inf):
                self._tried[part] = cost
                if self.fits(part):
                    yield Candidate(part, 1, cost)
            if self.spent > self.budget:
                return

    def _two_edits(self) -> Iterator[Candidate]:
        """Try second edits at the root for half the budget, then everywhere."""
        first = sorted(((cost, part) for part, cost in self._tried.items() if part != self.root), key=lambda f: f[0])
        seen = set(self._tried)
        last = None  # how many formulas have been seen when the search ends
        for at_root in (True, False):
            for cost, start in first:
                for part, path, more in all_single_edits(self.pool, self.operands, start):
                    if self.spent > self.budget or (last and len(seen) >= last):
                        return
                    if at_root and (path or self.spent > self.budget // 2):
                        break
                    self._made += 1
                    if part in seen:
                        continue
                    seen.add(part)
                    if self.fits(part):
                        last = last or len(seen) + _LINGER
                        yield Candidate(part, 2, cost + more)
        self.is_complete = self.operands.is_complete

    def fits(self, part: int) -> bool:
        first, far = self.pool.first_element(part), self._tolerance.atol
        if first is not None and modulus(first - self._first) > far:  # tells most apart; NaN is not far
            return False
        got, want = self.pool.array(part), self.want
        if got is None or got.shape != want.shape or got.dtype.kind not in "fc":
            return False
        if got.size and modulus(got.item(0) - self._first) > far:
            return False
        return nearly_equal(got, want, self._tolerance)
