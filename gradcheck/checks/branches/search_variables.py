"""What moves in a search for the other side of a branch: what each random creator of a leaf has drawn, literal inputs,
incoming gradients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.op import Op
from gradcheck.autograd.tensor import Tensor
from gradcheck.checks.branches.branch_sites import as_array
from gradcheck.language.case import Case, Value
from gradcheck.language.evaluation.host import NumPy
from gradcheck.language.expr.nodes import Call
from gradcheck.language.random_streams import RANDOM_OPS, is_one_random_creator
from gradcheck.language.trial_draws import is_fixed_incoming

#: Creators whose elements lie between 0 and 1, and those that state their bounds.
_UNIT, _BOUNDED = ("rand", "rand_like"), ("uniform", "uniform_like")
BOUNDED_CREATORS = frozenset((*_UNIT, *_BOUNDED))


class SearchVariable(NamedTuple):
    """What can move: the how-manieth random creator of a leaf, a literal input, or the incoming gradient of a root."""

    name: str
    number: int = 0
    is_incoming: bool = False


class VariableHost(NumPy):
    """NumPy and the core, with given tensors for what the random creators of one leaf make."""

    def __init__(
        self, name: str, tensors: Mapping[SearchVariable, Tensor], bounds: dict[SearchVariable, tuple[float, float]]
    ) -> None:
        self._name, self._tensors, self._bounds = name, tensors, bounds
        self._count = 0

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result."""
        if op.name not in RANDOM_OPS:
            return op(*args, **kwargs)
        part = SearchVariable(self._name, self._count)
        self._count += 1
        if op.name in _UNIT:
            self._bounds[part] = (0.0, 1.0)
        elif op.name in _BOUNDED:
            first = int(op.name != "uniform")
            limits = [float(as_array(limit)) for limit in args[first : first + 2] if np.ndim(as_array(limit)) == 0]
            self._bounds[part] = (limits[0], limits[1]) if len(limits) == 2 else (-np.inf, np.inf)
        return self._tensors[part]


def is_incoming_free(case: Case, incoming: Value | None) -> bool:
    """Whether an incoming gradient is drawn at random by itself, or written out, so that a claim must hold for all."""
    if incoming is None or incoming.expr is None:
        return is_fixed_incoming(case, incoming)
    is_drawn = isinstance(incoming.expr, Call) and incoming.expr.op in RANDOM_OPS and incoming.expr.op.endswith("_like")
    return is_one_random_creator(incoming) or is_drawn or is_fixed_incoming(case, incoming)
