"""How a case's backward passes, or one op alone, answer when a single tensor is moved: forwards only, no gradient rule.

A gradient says how `sum(seed * root)`, over all roots and passes, changes with a tensor. A `Moving` is that sum as a
function of the tensor, element by element, so that whoever takes differences can do so before anything is added up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import Op
from gradcheck.errors import Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.mentions import free_names
from gradcheck.language.problem import Problem
from gradcheck.oracles.numeric.perturbed import Probe, Walk, data_of


class Moving(Protocol):
    """A function of one tensor. `point` is where it stands, in float64 or complex128."""

    point: np.ndarray

    def terms(self, moved: np.ndarray, walk: Walk) -> list[np.ndarray]:
        """`seed * root` for each root that answers when the tensor is `moved`. Raises GradcheckError."""
        ...


class WideHost:
    """NumPy, with double precision for every lower one that an expression names."""

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The op's result."""
        return op(*args, **kwargs)

    def dtype(self, name: str) -> Any:
        """The dtype of this torch name, or the wide one that stands in for it."""
        return dtypes.BY_NAME[dtypes.RAISED.get(name, name)]


_HOST = WideHost()


# One tensor of a case ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pass:
    """One backward pass that counts towards a gradient: from which roots, with which seeds, at which leaves."""

    leaves: Mapping[str, np.ndarray]
    seeds: Mapping[str, np.ndarray | None]


def passes(problem: Problem, tensor: str, step: int) -> list[Pass]:
    """The backward passes whose gradients have added up in a tensor after this step, the first to the last."""
    leaves: dict[str, np.ndarray] = {**problem.inputs, **problem.constants}
    found: list[Pass] = []
    name = tensor.partition("[")[0]
    for index, action in enumerate(problem.case.steps[: step + 1]):
        if action.raises is not None:
            continue
        if action.action == "backward":
            found.append(Pass(leaves, problem.seeds[index]))
        elif action.action == "zero_grad":
            if not action.names or name in action.names or tensor in action.names:
                found = []
        else:
            changed = problem.forwards[index]
            known = leaves.get(name)
            if known is None or (name in changed and changed[name].shape != known.shape):
                found = []  # graph entries are new tensors, as is a leaf of another shape
            leaves = {**leaves, **changed}
    return found


@dataclass(slots=True)
class Tensor:
    """What one backward pass says about one named tensor. The problem must be in double precision."""

    problem: Problem
    tensor: str
    backward: Pass
    point: np.ndarray = field(init=False)
    _still: dict[str, Any] = field(init=False)
    _affected: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._still = dict(self.problem.sizes) | dict(self.backward.leaves)
        for name, claim in self.problem.case.graph.items():
            self._still[name] = evaluate(claim.expr, self._copied(), _HOST)
        self.point = wide(np.asarray(_part(self._still, self.tensor)))
        self._affected = _below(self.problem, self.tensor.partition("[")[0])

    def terms(self, moved: np.ndarray, walk: Walk) -> list[np.ndarray]:
        """The roots' shares, where the tensor is `moved`."""
        names = self._copied()
        _replace(names, self.tensor, Probe(moved, walk))
        graph = self.problem.case.graph
        for name in self._affected:
            names[name] = evaluate(graph[name].expr, names, _HOST)
        found = []
        for root, seed in self.backward.seeds.items():
            value = _part(names, root)
            if type(value) is Probe:
                found.append(_weighted(value.data, seed))
        return found

    def _copied(self) -> dict[str, Any]:
        """Constants are copied, for an op may change its arguments: a batch norm its running statistics."""
        constants = self.problem.constants
        return {n: v.copy() if n in constants and isinstance(v, np.ndarray) else v for n, v in self._still.items()}


def _below(problem: Problem, tensor: str) -> list[str]:
    """The graph entries that depend on a tensor, in order."""
    moved = {tensor}
    found = []
    for name, claim in problem.case.graph.items():
        if name != tensor and not moved.isdisjoint(free_names(claim.expr)):
            moved.add(name)
            found.append(name)
    return found


_INDEX = re.compile(r"\[(\d+)\]")


def _part(names: Mapping[str, Any], tensor: str) -> Any:
    """The tensor of this name; `m[0]` is a part of `m`."""
    value = names[tensor.partition("[")[0]]
    for index in _INDEX.findall(tensor):
        value = value[int(index)]
    return value


def _replace(names: dict[str, Any], tensor: str, value: Any) -> None:
    name = tensor.partition("[")[0]
    indices = [int(index) for index in _INDEX.findall(tensor)]
    names[name] = _replaced(names[name], indices, value)


def _replaced(whole: Any, indices: Sequence[int], value: Any) -> Any:
    if not indices:
        return value
    parts = list(whole)
    parts[indices[0]] = _replaced(parts[indices[0]], indices[1:], value)
    return tuple(parts)


# One op alone --------------------------------------------------------------------------------------


@dataclass(slots=True)
class Alone:
    """One op with an incoming gradient for each output, as a function of one array among its arguments.

    `call` applies the op with a value in the place of that array, everything else as it is.
    """

    point: np.ndarray
    call: Callable[[Any], Any]
    cotangents: Sequence[np.ndarray | None]

    def terms(self, moved: np.ndarray, walk: Walk) -> list[np.ndarray]:
        """The outputs' shares."""
        made = self.call(Probe(moved, walk))
        outputs = made if isinstance(made, tuple) else (made,)
        return [
            _weighted(output.data, seed)
            for output, seed in zip(outputs, self.cotangents, strict=False)
            if type(output) is Probe and seed is not None
        ]


def _weighted(values: np.ndarray, seed: np.ndarray | None) -> np.ndarray:
    """torch's convention for complex numbers: the gradient of the real part of `conj(seed) * root`."""
    if values.dtype.kind not in "fc":
        raise Unsupported(f"a root of {values.dtype}")
    return values * (1.0 if seed is None else wide(seed).conj())


def wide(array: np.ndarray) -> np.ndarray:
    """In double precision."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def shares(terms: Sequence[np.ndarray]) -> np.ndarray:
    """All the terms in one flat array."""
    return np.concatenate([np.ravel(data_of(term)) for term in terms]) if terms else np.zeros(0)
