"""The properties of a Tensor class's backward pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.dialects import CLEARS_ALL
from gradcheck.errors import Unsupported
from gradcheck.facts import Fact, fact

SeedKind = Literal["array", "tensor", "assigned array", "assigned tensor", "none"]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The properties of a backward pass, learned by `capability_learning`.

    seed                   the form of the incoming gradient: an argument of `backward`, assigned before it, or "none"
    keeps_intermediates    gradients of tensors that are no leaves can be read afterwards
    keeps_graph            a second pass over the same graph has an effect
    mutates_arrays         an array as incoming gradient is changed in place, a tensor is not
    keyword                the parameter of the incoming gradient; "" by position
    merges_equal_nodes     equal expressions of the same tensors share one gradient
    keeps_roots            the gradient of a pass's root can be read afterwards
    adds_to_roots          a second pass adds to it, and does not overwrite it
    adds_to_intermediates  the same of other tensors that are no leaves
    adds_up                a second pass adds to the gradients of leaves
    starts_alone           a pass from a single number needs no incoming gradient
    starts_with_ones       without one, a pass from a tensor of several numbers starts with ones
    total_shape            the shape of a single number from which a pass starts
    tracks_constants       constants have to be made like inputs
    constants_lack_gradients  a tensor made without the flag has no gradient afterwards
    answers_numpy          NumPy's functions work on its tensors, with gradients
    dtype                  the dtype in which it computes, whatever its arguments
    not_understood         the reason why it cannot be checked; "" if it is understood"""

    seed: SeedKind
    keeps_intermediates: bool
    keeps_graph: bool
    mutates_arrays: bool = False
    keyword: str = ""
    merges_equal_nodes: bool = False
    keeps_roots: bool = True
    adds_to_roots: bool = True
    adds_to_intermediates: bool = True
    adds_up: bool = True
    starts_alone: bool = True
    starts_with_ones: bool = False
    total_shape: Shape = ()
    tracks_constants: bool = False
    constants_lack_gradients: bool = True
    answers_numpy: bool = False
    dtype: str = "float64"
    not_understood: str = ""


#: The assumption before anything is learned.
UNKNOWN = Capabilities("array", keeps_intermediates=True, keeps_graph=True)


def as_seed(api: Api, seed: SeedKind, incoming: np.ndarray) -> Any:
    """Return an incoming gradient in the form of the class."""
    if seed.endswith("tensor"):
        return api.make(incoming, False)
    return float(incoming.reshape(-1)[0]) if api.is_scalar else api.stored(incoming)


def check_can_accumulate(api: Api, gradient: np.ndarray | None) -> None:
    """Raise Unsupported if a pass adds to no gradient, or it is not cleared.

    Some classes compute a gradient when it is first read, and keep it."""
    if gradient is None and api.clearing_name == CLEARS_ALL:
        raise Unsupported(f"{api.name} clears all gradients at once", lacks="gradients that are cleared alone")
    if gradient is not None and api.keeps_first_gradient:
        raise Unsupported(f"{api.name} adds nothing to a gradient that is there", lacks="gradients that add up")


def class_conventions(can: Capabilities, is_scalar: bool) -> Iterator[Fact]:
    """Yield the conventions of a class, the most important first."""
    if can.not_understood:
        yield fact("not_understood", why=fact("said", text=can.not_understood))
        return
    if can.dtype != "float64":
        yield fact("computes_in", dtype=can.dtype)
    if can.mutates_arrays:
        yield fact("mutates_arrays")
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
    elif not can.adds_up:
        yield fact("begins_anew")
    if can.seed == "none" and not is_scalar:
        yield fact("takes_no_incoming_gradient")
