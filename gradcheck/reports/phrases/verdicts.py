"""In words: who is wrong, of those who disagree."""

from __future__ import annotations

import math

from gradcheck.reports.phrases.table import listed, named, phrases


def _closeness(relative: float) -> str:
    """How closely those agree who agree: ` to 2e-16`."""
    return f" to {relative:.0e}" if relative else " exactly"


def _why_not(error: float) -> str:
    return f"its error bar is {error:.1g}" if math.isfinite(error) else "it does not converge there"


def _agreed(names: tuple[str, ...], relative: float) -> str:
    return f"{listed(names)} agree{_closeness(relative)}"


phrases(
    {
        "stands_alone": lambda f: f"{named(f['wrong'])} is wrong: {_agreed(f['agree'], f['closeness'])}",
        "oracle_sides_with": lambda f: (
            f"{named(f['want'])} and {named(f['got'])} differ, {named(f['oracle'])} sides with {named(f['got'])}"
            f"{_closeness(f['closeness'])}"
        ),
        "oracle_cannot_tell": lambda f: (
            f"{named(f['got'])} and {named(f['want'])} differ, and {named(f['oracle'])} cannot tell: "
            f"{_why_not(f['error'])}"
        ),
        "all_differ": lambda f: f"{listed(f['names'])} all differ",
        "wrong_together": lambda f: (
            f"{listed(f['wrong'])} {'is' if len(f['wrong']) == 1 else 'are'} wrong together: "
            f"{_agreed(f['agree'], f['closeness'])}"
        ),
        "parted": lambda f: f"{listed(f['some'])} stand against {listed(f['others'])}",
        "convention_at_first_kink": "a difference of convention, not a failure: first gradients have a kink there",
    }
)
