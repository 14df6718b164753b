"""The function to differentiate: backward passes, or one op.

A gradient is the derivative of `sum(<incoming gradient, root>)`, over all roots and passes, with respect to a tensor.
An `Objective` is that sum, its terms apart, so that differences can be taken before anything is added up. It uses only
forwards, no gradient rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import wide
from gradcheck.autograd.op import Op
from gradcheck.errors import ShapeMismatch, Unsupported
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Expr
from gradcheck.language.expr.traverse import free_names
from gradcheck.language.problem import Problem, split_name, tensor_value, with_tensor_value
from gradcheck.oracles.numeric.high_precision import floats, reals, supported
from gradcheck.oracles.numeric.perturbed_array import ForwardPass, Perturbed, apply_to_pair


class Objective(Protocol):
    """A function of one tensor at `point`, in float64 or complex128."""

    point: np.ndarray

    def terms(self, moved: np.ndarray, forward: ForwardPass) -> np.ndarray:
        """Return each element's term of the sum, flat. Raises GradcheckError."""
        ...


class WideHost:
    """NumPy, with double precision for every lower one in an expression."""

    def __init__(self, forward: ForwardPass | None = None) -> None:
        self.forward = forward

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Apply the op; plain arrays count towards the pass's work, too."""
        if args and type(args[0]) is Perturbed and not op.composite:
            made = apply_to_pair(op, *args) if len(args) == 2 and not kwargs else None
            return Perturbed.__apply_op__(op, op.bind(args, kwargs)) if made is None else made
        made = op(*args, **kwargs)
        if self.forward is not None and isinstance(made, np.ndarray):
            self.forward.count(op, args, made)
        return made

    def dtype(self, name: str) -> Any:
        """Return the dtype of this torch name, or its double-precision one."""
        return dtypes.BY_NAME[dtypes.RAISED.get(name, name)]


@dataclass(frozen=True, slots=True)
class BackwardPass:
    """One backward pass of a gradient: its roots, seeds and leaves."""

    leaves: Mapping[str, np.ndarray]
    seeds: Mapping[str, np.ndarray | None]


def backward_passes(problem: Problem, tensor: str, step: int) -> list[BackwardPass]:
    """Return the passes that accumulate in a tensor up to this step, in order."""
    leaves: dict[str, np.ndarray] = {**problem.inputs, **problem.constants}
    found: list[BackwardPass] = []
    entry, _ = split_name(tensor)
    for index, action in enumerate(problem.case.steps[: step + 1]):
        if action.raises is not None:
            continue
        if action.action == "backward":
            found.append(BackwardPass(leaves, problem.seeds[index]))
        elif action.action == "zero_grad":
            if not action.names or entry in action.names or tensor in action.names:
                found = []
        else:
            changed = problem.forwards[index]
            known = leaves.get(entry)
            if known is None or (entry in changed and changed[entry].shape != known.shape):
                found = []  # graph entries are new tensors, as is a leaf of another shape
            leaves = {**leaves, **changed}
    return found


@dataclass(slots=True)
class TensorObjective:
    """One backward pass as a function of a tensor, in double precision."""

    problem: Problem
    tensor: str
    backward: BackwardPass
    point: np.ndarray = field(init=False)
    _values: dict[str, Any] = field(init=False)  # where nothing is moved
    _affected: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self._values = dict(self.problem.sizes) | dict(self.backward.leaves)
        for name, claim in self.problem.case.graph.items():
            self._values[name] = evaluate(claim.expr, self._copied(), WideHost())
        self.point = wide(np.asarray(tensor_value(self._values, self.tensor)))
        self._affected = _entries_below(self.problem, split_name(self.tensor)[0])

    def terms(self, moved: np.ndarray, forward: ForwardPass) -> np.ndarray:
        if forward.high_precision:
            shift = moved - reals(self.point)
            values = _precise_values(self.problem, self.backward.leaves, forward, self.tensor, shift)
            return _weighted((tensor_value(values, root), seed) for root, seed in self.backward.seeds.items())
        values = self._copied()
        entry, indices = split_name(self.tensor)
        values[entry] = with_tensor_value(values[entry], indices, Perturbed(moved, forward))
        host = WideHost(forward)
        for name in self._affected:
            values[name] = evaluate(self.problem.case.graph[name].expr, values, host, max_elements=None)
        return _weighted((tensor_value(values, root), seed) for root, seed in self.backward.seeds.items())

    def _copied(self) -> dict[str, Any]:
        """Return values with copied constants: a batch norm changes its own."""
        constants = self.problem.constants
        return {n: v.copy() if n in constants and isinstance(v, np.ndarray) else v for n, v in self._values.items()}


def _entries_below(problem: Problem, tensor: str) -> list[str]:
    moved = {tensor}
    found = []
    for name, claim in problem.case.graph.items():
        if name != tensor and not moved.isdisjoint(free_names(claim.expr)):
            moved.add(name)
            found.append(name)
    return found


@dataclass(slots=True)
class OpObjective:
    """One op as a function of the array that `call` puts into its arguments."""

    point: np.ndarray
    call: Callable[[Any], Any]
    cotangents: Sequence[np.ndarray | None]

    def terms(self, moved: np.ndarray, forward: ForwardPass) -> np.ndarray:
        made = self.call(Perturbed(moved, forward))
        outputs = made if isinstance(made, tuple) else (made,)
        pairs = zip(outputs, self.cotangents, strict=False)
        return _weighted((output, seed) for output, seed in pairs if seed is not None)


def precise_value(
    problem: Problem,
    tensor: str,
    step: int,
    claim: Expr | None = None,
    incoming: Mapping[str, np.ndarray] | None = None,
) -> np.ndarray:
    """Return the value of a tensor, or of a claim about it, rounded once.

    Raises GradcheckError; LookupError for a claim about a gradient that is not `incoming`."""
    leaves: dict[str, np.ndarray] = {**problem.inputs, **problem.constants}
    for changed in problem.forwards[: step + 1]:
        leaves |= changed
    forward = ForwardPass(at_rest=True, high_precision=True)
    with supported():
        values = _precise_values(problem, leaves, forward)
        arriving = {root: Perturbed(reals(array), forward) for root, array in (incoming or {}).items()}
        found = evaluate(claim, values, WideHost(forward), arriving) if claim else tensor_value(values, tensor)
    if type(found) is not Perturbed or found.data.dtype.kind != "O":
        raise Unsupported(f"{tensor} has no value in high precision")
    value = floats(found.data)
    if not np.isfinite(value).all():
        raise Unsupported(f"{tensor} has a pole on the way")  # where torch may give a number: of `atan(1 / 0)`
    return value


def _precise_values(
    problem: Problem, leaves: Mapping[str, np.ndarray], forward: ForwardPass, tensor: str = "", shift: Any = 0
) -> dict[str, Any]:
    """Return all values in high precision, one tensor shifted."""
    values: dict[str, Any] = dict(problem.sizes)
    values |= {name: Perturbed(reals(a), forward) if a.dtype.kind == "f" else a for name, a in leaves.items()}
    entry, indices = split_name(tensor)

    def move() -> None:
        part = tensor_value(values, tensor)
        data = np.asanyarray((part.data if type(part) is Perturbed else part) + shift)
        values[entry] = with_tensor_value(values[entry], indices, Perturbed(data, forward))

    if entry in values:
        move()
    for name, claim in problem.case.graph.items():
        values[name] = evaluate(claim.expr, values, WideHost(forward))
        if name == entry:
            move()
    return values


def _weighted(roots: Iterable[tuple[Any, np.ndarray | None]]) -> np.ndarray:
    """Return the moved roots, each times its incoming gradient, in one array.

    None is 1. torch's convention for complex numbers: the gradient of the real part of `conj(seed) * root`. Raises
    Unsupported for roots of integers, ShapeMismatch for an incoming gradient of another shape.
    """
    terms = [np.zeros(0)]
    for root, seed in roots:
        if type(root) is Perturbed:
            if root.data.dtype.kind not in "fcO":
                raise Unsupported(f"a root of {root.data.dtype}")
            try:
                terms.append(np.ravel(root.data * (1.0 if seed is None else wide(seed).conj())))
            except ValueError as error:
                raise ShapeMismatch(f"an incoming gradient: {error}") from error
    return np.concatenate(terms)
