"""The search: formulas one edit away, then those two away, as far as a second goes; kept is what fits at one point."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gradcheck.checks.failures.correction.bench import Bench
from gradcheck.checks.failures.correction.edits import edits
from gradcheck.checks.failures.correction.vocabulary import Vocabulary
from gradcheck.language.expr.printer import to_text

#: Formulas of more parts are not searched.
MAX_PARTS = 120
#: How closely a candidate must fit before it is verified; the verification has the last word.
_CLOSE = {8: 1e-7, 4: 1e-3, 2: 5e-2}
#: Once something fits, so many more are looked at for something likelier.
_LINGER = 2_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A formula that fits, by so many edits that are so unlikely together."""

    part: int
    edits: int
    cost: float


def search(bench: Bench, words: Vocabulary, root: int, want: np.ndarray, seconds: float) -> Iterator[list[Candidate]]:
    """What fits after one edit, then what fits after two, the likeliest first."""
    hunt = _Hunt(bench, words, root, want, time.perf_counter() + seconds)
    if hunt.parts(root) <= MAX_PARTS:
        yield hunt.ranked(hunt.one_edit())
        yield hunt.ranked(hunt.two_edits())


class _Hunt:
    def __init__(self, bench: Bench, words: Vocabulary, root: int, want: np.ndarray, deadline: float) -> None:
        self.bench, self.words, self.root, self.want = bench, words, root, want
        self.deadline = deadline
        self.tried: dict[int, float] = {root: 0.0}
        size = want.dtype.itemsize // (2 if want.dtype.kind == "c" else 1)
        scale = float(np.max(np.abs(want), initial=0.0))
        self.close = _CLOSE.get(size, 1e-7) * (scale if np.isfinite(scale) else 1.0)

    def parts(self, root: int) -> int:
        """How many parts an expression has, written out; no more than one beyond the limit are counted."""
        return sum(1 for _, _ in zip(self.bench.positions(root), range(MAX_PARTS + 1), strict=False))

    def ranked(self, found: Iterator[Candidate]) -> list[Candidate]:
        """Simple before complicated: by cost, then by length."""
        listed = list(found)
        return sorted(listed, key=lambda c: (c.cost, len(to_text(self.bench.exprs[c.part]))))

    def one_edit(self) -> Iterator[Candidate]:
        for part, _, cost in edits(self.bench, self.words, self.root):
            if part not in self.tried:
                self.tried[part] = cost
                if self.fits(part):
                    yield Candidate(part, 1, cost)
            if time.perf_counter() > self.deadline:
                return

    def two_edits(self) -> Iterator[Candidate]:
        """First the second edits at the root, for every first one; then those everywhere else."""
        first = sorted(((cost, part) for part, cost in self.tried.items() if part != self.root), key=lambda f: f[0])
        seen = set(self.tried)
        last = None  # how many formulas have been seen when the search ends
        for at_root in (True, False):
            for cost, start in first:
                for part, path, more in edits(self.bench, self.words, start):
                    if at_root and path:
                        break
                    if part in seen:
                        continue
                    seen.add(part)
                    if self.fits(part):
                        last = last or len(seen) + _LINGER
                        yield Candidate(part, 2, cost + more)
                    if time.perf_counter() > self.deadline or (last and len(seen) >= last):
                        return

    def fits(self, part: int) -> bool:
        """Whether it has the wanted shape and, nearly, the wanted numbers."""
        got, want = self.bench.array(part), self.want
        if got is None or got.shape != want.shape or got.dtype.kind not in "fc":
            return False
        return bool(np.all((np.abs(got - want) <= self.close) | ((got != got) & (want != want))))
