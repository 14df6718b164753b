"""Intended deviations of a Tensor class from torch, which are no failures."""

from __future__ import annotations

from collections.abc import Iterator

from gradcheck.engines.tensor_class.capabilities import Capabilities
from gradcheck.facts import Fact, fact


def conventions_of(can: Capabilities, is_scalar: bool) -> tuple[Fact, ...]:
    """Return the conventions of a class, the most important first."""
    return tuple(_convention_facts(can, is_scalar))


def _convention_facts(can: Capabilities, is_scalar: bool) -> Iterator[Fact]:
    if can.not_understood:
        yield fact("not_understood", why=fact("said", text=can.not_understood))
        return
    if can.dtype != "float64":
        yield fact("computes_in", dtype=can.dtype)
    if can.total_shape:
        yield fact("totals_have_shape", shape=can.total_shape)
    if can.tracks_constants:
        yield fact("constants_are_tracked")
    if can.merges_equal_nodes:
        yield fact("equals_are_one")
    elif not can.keeps_intermediates:
        yield fact("keeps_no_intermediates")
    elif not can.adds_to_intermediates:
        yield fact("sets_intermediates_anew")
    if not can.keeps_roots:
        yield fact("keeps_no_roots")
    elif not can.adds_to_roots and can.adds_to_intermediates:
        yield fact("sets_roots_anew")
    if not can.keeps_graph:
        yield fact("keeps_no_graph")
    if can.seed == "none" and not is_scalar:
        yield fact("takes_no_incoming_gradient")
