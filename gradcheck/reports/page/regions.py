"""The region of a tensor that is wrong: a row, a slice, a corner."""

from __future__ import annotations

import numpy as np

#: The most single indices of an axis that are named.
_NAMED = 3


def wrong_region(wrong: np.ndarray) -> str:
    """Return the block `[:, 0 or 4]` that is exactly what is wrong, or ""."""
    if wrong.ndim == 0 or wrong.all() or wrong.sum() < 2:
        return ""
    all_axes = range(wrong.ndim)
    axes = [np.asarray(wrong.any(axis=tuple(one for one in all_axes if one != axis))) for axis in all_axes]
    if not wrong[np.ix_(*axes)].all():
        return ""
    texts = [_indices(axis) for axis in axes]
    return f"[{', '.join(texts)}]" if all(texts) else ""


def _indices(hit: np.ndarray) -> str:
    """Return the indices along an axis: all, a span, one, or a few; else ""."""
    places = np.flatnonzero(hit).tolist()
    first, last = places[0], places[-1]
    if len(places) == hit.size:
        return ":"
    if len(places) == 1:
        return str(first)
    if last - first + 1 == len(places) and len(places) > 2:
        return f"{first or ''}:{'' if last + 1 == hit.size else last + 1}"
    if len(places) > _NAMED:
        return ""
    return f"{', '.join(map(str, places[:-1]))} or {places[-1]}"
