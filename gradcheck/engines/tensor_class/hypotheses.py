"""Hypotheses about the passes of a Tensor class, and probes to test them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.backward_engine import BackwardEngine
from gradcheck.engines.tensor_class.capabilities import Capabilities, SeedKind
from gradcheck.engines.tensor_class.members import vars_of
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor
from gradcheck.errors import GradcheckError

A, B = np.array([[2.0, 3.0], [0.5, 1.25]]), np.array([[1.5, 0.25], [4.0, 0.75]])
_INCOMING = np.array([[0.5, 2.0], [1.25, -3.0]])


class GradientProbe(NamedTuple):
    """An op of one or two operands, or of one twice, and its gradient rule."""

    op: str
    rule: Callable[..., tuple[Any, ...]]
    operands: int = 2
    uses: int = 1  # of its one operand


GRADIENT_PROBES = (
    GradientProbe("add", lambda g, a, b: (g, g)),
    GradientProbe("add", lambda g, a: (2 * g,), 1, 2),
    GradientProbe("mul", lambda g, a, b: (g * b, g * a)),
    GradientProbe("sub", lambda g, a, b: (g, -g)),
    GradientProbe("matmul", lambda g, a, b: (g @ b.T, a.T @ g)),
    GradientProbe("neg", lambda g, a: (-g,), 1),
    GradientProbe("sum", lambda g, a: (np.full(a.shape, g),), 1),
    GradientProbe("square", lambda g, a: (2 * g * a,), 1),
    GradientProbe("exp", lambda g, a: (g * np.exp(a),), 1),
    GradientProbe("tanh", lambda g, a: (g * (1 - np.tanh(a) ** 2),), 1),
    GradientProbe("relu", lambda g, a: (g,), 1),
)


def hypotheses(api: Api, base: Capabilities) -> Iterator[Capabilities]:
    """Yield forms of the incoming gradient, the likeliest first."""
    kinds: tuple[SeedKind, ...] = ("array", "tensor")
    if not api.is_scalar:
        for keyword in api.seed_keywords():
            for seed in kinds:
                yield replace(base, seed=seed, keyword=keyword)
        for seed in ("assigned array", "assigned tensor"):
            yield replace(base, seed=seed)
    for total in ((),) if api.is_scalar else ((), (1,), (1, 1)):
        yield replace(base, seed="none", total_shape=total)
    if api.is_scalar:
        for seed in (*kinds, "assigned array", "assigned tensor"):
            yield replace(base, seed=seed)


class ProbeResult(NamedTuple):
    """The gradients of a probe's operands, found and wanted.

    `tensors` is set if they are the class's own tensors, `mutated` if the root's own gradient is not the incoming one
    after the pass, in which an operand got two gradients, and `changed` if an operand has other values then."""

    found: list[np.ndarray | None]
    wanted: list[np.ndarray]
    tensors: bool
    mutated: bool = False
    changed: bool = False


def run_probe(engine: BackwardEngine, can: Capabilities, probe: GradientProbe, mode: str = "") -> ProbeResult | None:
    """Return the gradients of a probe; None if the class lacks the op.

    With `mode` "constant", the second operand is made without the flag; with "ones", a pass starts from an array
    without an incoming gradient; with "single", operands are single numbers."""
    engine.new_graph()
    scalar = (can.seed == "none" or engine.api.is_scalar or mode == "single") and probe.op != "sum" and mode != "ones"
    if (scalar and probe.op == "matmul") or (probe.op == "sum" and (engine.api.is_scalar or mode == "ones")):
        return None
    given = [A, B] if not scalar else [np.full(can.total_shape, 2.0), np.full(can.total_shape, 3.0)]
    given = [array.astype(can.dtype) for array in given[: probe.operands]]
    tensors = [engine.leaf(array, mode != "constant" or not index) for index, array in enumerate(given)]
    try:
        root = apply_op(engine, probe.op, *tensors * probe.uses)
    except GradcheckError as error:
        if error.kind == "unsupported":
            return None
        raise
    incoming = np.ones(root.shape) if scalar or mode == "ones" or can.seed == "none" else incoming_of(root.shape)
    with engine.mark_endless(TABLE[probe.op]):
        engine.start(engine.start_of(root), can, incoming.astype(can.dtype))
    if mode == "constant":
        tensors = tensors[:1]
    kept = engine.api.gradient(engine.start_of(tensors[0]))
    wanted = list(probe.rule(incoming, *given))[: len(tensors)]
    found = [engine.gradient(tensor) for tensor in tensors]
    own = engine.gradient(root) if probe.uses > 1 else None
    mutated = own is not None and bool(np.any(own)) and not np.allclose(own, incoming)
    changed = any(not np.array_equal(engine.current_values(tensor), tensor.array) for tensor in tensors)
    return ProbeResult(found, wanted, engine.api.is_tensor(kept), mutated, changed)


def apply_op(engine: BackwardEngine, name: str, *operands: Any) -> Any:
    return engine.call(TABLE[name], operands, {})


def run_pass(engine: BackwardEngine, can: Capabilities, root: WrappedTensor) -> None:
    """Run a pass with an incoming gradient of ones."""
    engine.start(engine.start_of(root), can, np.ones(root.shape, can.dtype))


def incoming_of(shape: tuple[int, ...]) -> np.ndarray:
    return _INCOMING if shape == _INCOMING.shape else np.full(shape, 0.5)


def factor_of(result: ProbeResult) -> float:
    """Return the factor by which all gradients are wrong; infinity if none."""
    factors = set()
    for got, want in zip(result.found, result.wanted, strict=True):
        if got is None or got.shape != want.shape:
            return float("inf")
        ratio = np.asarray(got, np.float64) / want
        factors |= {float(value) for value in np.round(ratio, 4).reshape(-1)}
    return factors.pop() if len(factors) == 1 else float("inf")


def is_right(engine: BackwardEngine, can: Capabilities, probe: GradientProbe, mode: str = "") -> bool:
    try:
        result = run_probe(engine, can, probe, mode)
    except USER_EXCEPTIONS:
        return False
    return result is not None and factor_of(result) == 1 and not result.mutated


def pass_score(engine: BackwardEngine, can: Capabilities) -> tuple[int, int]:
    """Return how good a pass is: minus its own faults, and its right probes.

    Its own are a changed operand or incoming gradient, and two contributions that do not add up."""
    faults = right = 0
    for probe in GRADIENT_PROBES:
        try:
            result = run_probe(engine, can, probe)
        except USER_EXCEPTIONS:
            continue
        if result is not None:
            is_equal = factor_of(result) == 1
            right += is_equal
            faults += result.changed or result.mutated or (probe.uses > 1 and not is_equal)
    return -faults, right


def writes_into_operands(engine: BackwardEngine) -> bool:
    """Return whether an op overwrites an operand with its result."""
    for probe in (probe for probe in GRADIENT_PROBES if probe.operands == 2):
        try:
            given = [engine.leaf(array, True) for array in (A, B)]
            root = apply_op(engine, probe.op, *given)
        except USER_EXCEPTIONS:
            continue
        return any(root.tensor is a.tensor and not np.array_equal(root.array, a.array) for a in given)
    return False


def sums_are_integers(engine: BackwardEngine, can: Capabilities) -> bool:
    """Return whether sums are rounded to integers."""
    with suppress(*USER_EXCEPTIONS):
        given = [engine.leaf(np.full(can.total_shape, number, can.dtype), True) for number in (1.3, 2.1)]
        found = np.asarray(apply_op(engine, "add", *given).array)
        return bool(np.all(found == np.round(found)))
    return False


def has_right_complex_gradients(engine: BackwardEngine) -> bool:
    """Return whether gradients of a complex product are torch's.

    Each factor gets the gradient times the other's conjugate. It is True if the class has no products."""
    given, incoming = [A + 1j * B, B - 2j * A], _INCOMING * (1 - 0.5j)
    try:
        tensors = [engine.leaf(array, True) for array in given]
        engine.backward([apply_op(engine, "mul", *tensors)], [incoming], True)
        found = [engine.gradient(tensor) for tensor in tensors]
    except GradcheckError as error:
        return error.kind == "unsupported" and error.lacks == "mul"
    wanted = [incoming * other.conj() for other in reversed(given)]
    return all(got is not None and np.allclose(got, want) for got, want in zip(found, wanted, strict=True))


def merges_equal_nodes(engine: BackwardEngine) -> bool:
    """Return whether two equal expressions share one node of the class's.

    No other tensor holds it; then neither has a gradient of its own."""
    for probe in (probe for probe in GRADIENT_PROBES if probe.operands == 2):
        try:
            a, b = (engine.leaf(array, True) for array in (A, B))
            made = [apply_op(engine, probe.op, *pair) for pair in ((a, b), (a, b), (a, a))]
            first, second, *others = (engine.start_of(tensor) for tensor in (*made, a, b))
        except USER_EXCEPTIONS:
            continue
        elsewhere = {id(part) for tensor in others for part in (tensor, *_foreign_attributes(tensor).values())}
        mine, its = _foreign_attributes(first), _foreign_attributes(second)
        return first is not second and any(its.get(n) is part and id(part) not in elsewhere for n, part in mine.items())
    return False


def _foreign_attributes(tensor: Any) -> dict[str, Any]:
    """Return a tensor's attributes of classes from other libraries."""
    found = {name: getattr(tensor, name) for name in vars_of(tensor)}
    return {name: part for name, part in found.items() if type(part).__module__ not in ("builtins", "numpy", "weakref")}
