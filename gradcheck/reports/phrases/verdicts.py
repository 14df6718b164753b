"""In words: who is wrong, of those who disagree."""

from __future__ import annotations

import math

from gradcheck.facts import Fact
from gradcheck.reports.phrases.table import listed, named, phrases


def _closeness(found: Fact) -> str:
    """` to 2e-16`, or ` exactly`: how near those who agree are to each other, relatively."""
    return f" to {found['closeness']:.0e}" if found["closeness"] else " exactly"


def _stands_alone(found: Fact) -> str:
    return f"{named(found['wrong'])} is wrong: {listed(found['agree'])} agree{_closeness(found)}"


def _oracle_sides_with(found: Fact) -> str:
    got, want, oracle = named(found["got"]), named(found["want"]), named(found["oracle"])
    return f"{want} and {got} differ, {oracle} sides with {got}{_closeness(found)}"


def _oracle_cannot_tell(found: Fact) -> str:
    bar = found["error"]
    reason = f"its error bar is {bar:.1g}" if math.isfinite(bar) else "it does not converge there"
    return (
        f"{named(found['got'])} and {named(found['want'])} differ, and {named(found['oracle'])} cannot tell: {reason}"
    )


def _wrong_together(found: Fact) -> str:
    verb = "is" if len(found["wrong"]) == 1 else "are"
    agreed = f"{listed(found['agree'])} agree{_closeness(found)}"
    return f"{listed(found['wrong'])} {verb} wrong together: {agreed}"


def _number(value: complex) -> str:
    return f"{value:.6g}"


def _outside_subgradients(found: Fact) -> str:
    name, value = named(found["name"]), _number(found["value"])
    interval = f"[{_number(found['low'])}, {_number(found['high'])}]"
    return f"{name} is wrong: no derivative there, and {name} ({value}) is outside of the subgradients, {interval}"


def _kink(found: Fact) -> str:
    interval = f"[{_number(found['low'])}, {_number(found['high'])}]"
    kind = "for the function jumps" if found["jumps"] else f"and any of {interval} is a subgradient"
    got, want = named(found["got"]), named(found["want"])
    taken = f"{got} takes {_number(found['got_value'])}, {want} {_number(found['want_value'])}"
    return f"no derivative there, {kind}: {taken}"


phrases(
    {
        "the_formula": "the formula",
        "the_file": "the file",
        "proved": "{what} (proved)",
        "stands_alone": _stands_alone,
        "oracle_sides_with": _oracle_sides_with,
        "all_differ": lambda found: f"{listed(found['names'])} all differ",
        "oracle_cannot_tell": _oracle_cannot_tell,
        "wrong_together": _wrong_together,
        "parted": lambda found: f"{listed(found['some'])} stand against {listed(found['others'])}",
        "outside_subgradients": _outside_subgradients,
        "kink": _kink,
        "convention": "a difference of convention, not a failure: {kink}",
        "another_convention": "another convention at a kink: {kink}",
        "convention_at_first_kink": "a difference of convention, not a failure: first gradients have a kink there",
    }
)
