"""The report of a Jacobian that differs from differences."""

from __future__ import annotations

import numpy as np

from gradcheck.checks.derivatives.entry_mistakes import Entries, wrong_places
from gradcheck.reports.phrases.phrase_table import say
from gradcheck.reports.safe_text import count


def jacobian_report(found: Entries, at: np.ndarray, number: int) -> str:
    """Return the entry that differs most, by row and column, and the point."""
    where = "at x" if number == 0 else f"at other numbers, x = {np.array2string(at.ravel()[:6], precision=4)}"
    if found.got.shape != found.want.shape:
        return f"{found.term} has shape {list(found.got.shape)}, expected {list(found.want.shape)}, {where}"
    gap = np.nan_to_num(np.abs(found.got - found.want), nan=np.inf)
    index = np.unravel_index(int(np.argmax(gap)), gap.shape)
    differ = int(np.count_nonzero(gap > found.within * np.abs(found.want)))
    places = wrong_places(found)[1]
    listed = f", {say(places)}" if differ > 1 and any(places[kind] for kind in ("rows", "columns", "entries")) else ""
    return (
        f"{found.term} is wrong {where}: {max(differ, 1)} of {count(gap.size, 'entry', 'entries')} differ{listed}, "
        f"worst at {list(map(int, index))}: {found.got[index]:.9g}, by differences {found.want[index]:.9g}"
    )
