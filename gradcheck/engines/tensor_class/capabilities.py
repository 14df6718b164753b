"""What a Tensor class's backward pass takes and keeps; `learning` finds it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gradcheck.engines.tensor_class.api import Api
from gradcheck.errors import Unsupported

SeedKind = Literal["array", "tensor", "assigned array", "assigned tensor", "none"]
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a backward pass takes and keeps.

    seed                 the incoming gradient as an argument of `backward`, or as assigned before it; "none" where it
                         takes none
    keeps_intermediates  gradients of what is no leaf can be read afterwards
    equals_are_one       equal expressions of the same tensors have one gradient
    keeps_graph          a second pass over the same graph does something
    keyword              the parameter by which the incoming gradient is given; empty by position
    keeps_roots          the gradient of what a pass starts from can be read afterwards
    adds_to_roots        a second pass adds to it, and does not set it anew
    adds_to_intermediates  the same of what is no leaf
    starts_alone         a pass from a single number needs no incoming gradient
    starts_with_ones     without one, a pass from a tensor of several numbers starts with ones
    total                the shape of a single number from which a pass starts
    tracks_constants     constants have to be made as inputs are
    spares_constants     what is made without the flag has no gradient afterwards
    answers_numpy        NumPy's functions are its own: it says what they come to, with gradients
    dtype                in which it computes, whatever it is given
    misunderstood        why nothing can be asked of it; empty where it is understood
    """

    seed: SeedKind
    keeps_intermediates: bool
    keeps_graph: bool
    keyword: str = ""
    merges_equal_nodes: bool = False
    keeps_roots: bool = True
    adds_to_roots: bool = True
    adds_to_intermediates: bool = True
    starts_alone: bool = True
    starts_with_ones: bool = False
    total_shape: Shape = ()
    tracks_constants: bool = False
    constants_lack_gradients: bool = True
    answers_numpy: bool = False
    dtype: str = "float64"
    not_understood: str = ""


#: Of a class about which nothing could be learned.
UNKNOWN = Capabilities("array", keeps_intermediates=True, keeps_graph=True)


def seed_arguments(api: Api, seed: SeedKind, incoming: np.ndarray) -> tuple[Any, ...]:
    """The arguments of `backward` for an incoming gradient."""
    if seed not in ("array", "tensor"):
        return ()
    return (_as_seed(api, seed, incoming),)


def assigned_seed(api: Api, seed: SeedKind, incoming: np.ndarray) -> Any:
    """What is put into the gradient of the root before the pass; None where nothing is."""
    return _as_seed(api, seed, incoming) if seed.startswith("assigned") else None


def _as_seed(api: Api, seed: SeedKind, incoming: np.ndarray) -> Any:
    if seed.endswith("tensor"):
        return api.make(incoming, False)
    return float(incoming.reshape(-1)[0]) if api.is_scalar else api.stored(incoming)


def check_can_accumulate(api: Api, gradient: np.ndarray | None) -> None:
    """Unsupported for a gradient to which others are to be added, where one is computed when it is asked for first and
    stays what it was then."""
    if gradient is not None and api.pass_runner is not None and api.pass_runner.attribute:
        raise Unsupported(f"{api.name} adds nothing to a gradient that is there", lacks="gradients that add up")
