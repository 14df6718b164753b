"""What a case costs that fails, with all that is said of it, beside the same one where it passes.

In processor time of this process. At the end of a long chain and at its leaf; and of ordinary cases, those that come
with gradcheck.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from benchmarks.linear import SMALLEST, case_in, chain, entries, prepared, wrong
from benchmarks.timing import Row, Timing, race
from gradcheck import load, run
from gradcheck.checks.mutation.mutations import mutations_of
from gradcheck.language.case import Case, Claim

#: How many times as long as the passing case a failing one may take.
MOST = 10.0
#: One of so many of the shipped cases is measured.
_EACH = 4
#: So many of the mutations of a formula take turns.
_KINDS = 9


def rows() -> Iterator[Row]:
    with prepared() as folder:
        yield _chain(folder, "case that fails at the end of", 160, wrong)
        yield _chain(folder, "case that fails at the end of", 1_600, wrong)
        yield _chain(folder, "case that fails at the leaf of", 160, wrong_at_the_leaf)
        yield _shipped()


def _chain(folder: Path, what: str, size: int, make: Callable[[int], str]) -> Row:
    timing = _timed(case_in(folder, chain(size, "1")), case_in(folder, make(size)), rounds=3)
    ratio = timing.ratio("fails", "passes")
    details = f"CPU s: passes {timing.median('passes'):.2f}, fails {timing.median('fails'):.2f}"
    return Row(f"{what} {size:,} entries", f"{ratio:.1f} × passing", f"≤ {MOST:.0f} ×", ratio <= MOST, details)


def wrong_at_the_leaf(number: int) -> str:
    """A chain with a wrong formula for the input, which every entry leads to."""
    return f"{entries(number, 0.5)}formulas:\n  x: 2 * grad(h5)\n"


def _shipped() -> Row:
    """Some of the shipped cases, each with its first formula mutated, another way from one to the next."""
    cases, _ = load([SMALLEST.parents[1]])
    stated = [case for case in cases if case.formulas and not (case.xfail or case.skip or case.implementations)]
    pairs = [(case, _with_wrong_formula(case, number)) for number, case in enumerate(stated[::_EACH])]
    timings = [_timed(case, false, rounds=1) for case, false in pairs if run(false).count("failed")]
    ratios = [timing.ratio("fails", "passes") for timing in timings]
    passes, fails = (sum(timing.median(name) for timing in timings) for name in ("passes", "fails"))
    ratio, above = statistics.median(ratios), sum(ratio > MOST for ratio in ratios)
    together = f"all together {fails / passes:.1f} × ({passes:.0f} and {fails:.0f} CPU s)"
    details = f"{len(ratios)} cases, {above} above {MOST:.0f} ×; {together}"
    what = "shipped cases with a wrong formula each, median"
    return Row(what, f"{ratio:.1f} × passing", f"≤ {MOST:.0f} ×", ratio <= MOST, details)


def _with_wrong_formula(case: Case, number: int) -> Case:
    """The case with its first formula as one of the first mutations makes it."""
    name, (first, *_) = next(iter(case.formulas.items()))
    listed = [expr for _, expr in islice(mutations_of(first.expr), _KINDS)]
    return replace(case, formulas={**case.formulas, name: (Claim.of(listed[number % len(listed)]),)})


def _timed(right: Case, false: Case, rounds: int) -> Timing:
    return race({"passes": partial(run, right), "fails": partial(run, false)}, rounds, time.process_time)
