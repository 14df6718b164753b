"""Further capabilities of a Tensor class, under the winning hypothesis.

They are kept gradients, roots, accumulation, precision, constants, and NumPy's functions.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from gradcheck.engines.tensor_class import dialects
from gradcheck.engines.tensor_class.backward_engine import BackwardEngine
from gradcheck.engines.tensor_class.capabilities import Capabilities
from gradcheck.engines.tensor_class.hypotheses import (
    GRADIENT_PROBES,
    A,
    B,
    GradientProbe,
    apply_op,
    incoming_of,
    is_right,
    merges_equal_nodes,
    run_pass,
    run_probe,
)
from gradcheck.engines.tensor_class.members import method_of, overrides_numpy
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor
from gradcheck.errors import Unsupported

#: The reason for a class whose `backward` is that of one op.
ONE_OP = "a pass goes no further than one op"
#: Two contributions in one pass.
_TWICE = next(probe for probe in GRADIENT_PROBES if probe.uses > 1)
#: Ops whose gradients are integers if the incoming one is: they show no precision.
_WHOLE = ("add", "sub", "neg", "sum", "relu")


def complete_capabilities(engine: BackwardEngine, can: Capabilities) -> Capabilities:
    plain = [probe for probe in GRADIENT_PROBES if probe.uses == 1]
    probes = [probe for probe in plain if is_right(engine, can, probe)] or plain
    rounds = any(probe.op not in _WHOLE for probe in probes)
    can = replace(can, dtype=lowest_dtype(engine, can, probes if rounds else plain))
    engine.use_dtype(can.dtype)
    engine.api.needs_arrays = _wants_arrays(engine, can, probes)
    can = _with_constants(engine, can, [probe for probe in probes if probe.operands == 2])
    can = _with_totals(engine, _with_chain(engine, can, probes[0]), probes)
    if merges_equal_nodes(engine):
        can = replace(can, merges_equal_nodes=True, keeps_intermediates=False)
    engine.api.clearing_name = clearing_of(engine, can, probes)
    can = replace(can, answers_numpy=_answers_numpy(engine, can))
    if can.seed == "none" and not engine.api.is_scalar:
        can = replace(can, starts_with_ones=_starts_with_ones(engine, can, probes))
    return can


def _answers_numpy(engine: BackwardEngine, can: Capabilities) -> bool:
    """Return whether NumPy's functions work on its tensors, with gradients."""
    if engine.api.is_scalar or not overrides_numpy(engine.api.tensor_type):
        return False
    with suppress(*USER_EXCEPTIONS):
        engine.new_graph()
        given = [A, B] if can.seed != "none" else [np.full(can.total_shape, number) for number in (2.0, 3.0)]
        a, b = (engine.leaf(array.astype(can.dtype), True) for array in given)
        made = np.multiply(a.tensor, b.tensor)
        if not engine.api.is_tensor(made):
            return False
        incoming = np.ones(can.total_shape) if can.seed == "none" else incoming_of(A.shape)
        engine.start(made, can, incoming.astype(can.dtype))
        wanted = [incoming * other for other in reversed(given)]
        pairs = zip((a, b), wanted, strict=True)
        return all(_is_times(1, engine.gradient(x), want.astype(can.dtype)) for x, want in pairs)
    return False


def _wants_arrays(engine: BackwardEngine, can: Capabilities, probes: list[GradientProbe]) -> bool:
    """Return whether single numbers must be arrays for right gradients."""
    single = next((probe for probe in probes if probe.op not in ("matmul", "sum")), None)
    if engine.api.is_scalar or single is None or is_right(engine, can, single, "single"):
        return False
    engine.api.needs_arrays = True
    engine.forget_forms()
    wanted = is_right(engine, can, single, "single")
    engine.forget_forms()
    return wanted


def _starts_with_ones(engine: BackwardEngine, can: Capabilities, probes: list[GradientProbe]) -> bool:
    """Return whether a pass from an array needs no incoming gradient.

    If the class has `sum`, no rule may read the shape of a plain number: `self.grad = 1` starts from single numbers."""
    for probe in GRADIENT_PROBES if any(probe.op == "sum" for probe in probes) else ():
        try:
            run_probe(engine, can, probe, "ones")
        except AttributeError as error:
            if isinstance(error.obj, (int, float)):
                return False
        except USER_EXCEPTIONS:
            continue
    others = [probe for probe in probes if probe.op not in ("sum", "matmul")]
    return any(is_right(engine, can, probe, "ones") for probe in others) and not _begins_at_one(engine, can, others[0])


def _begins_at_one(engine: BackwardEngine, can: Capabilities, probe: GradientProbe) -> bool:
    """Return whether a pass from an array starts with a single 1."""
    engine.new_graph()
    given = [engine.leaf(array.astype(can.dtype), True) for array in (A, B)[: probe.operands]]
    root = apply_op(engine, probe.op, *given * probe.uses)
    with suppress(*USER_EXCEPTIONS):
        run_pass(engine, can, root)
    with suppress(*USER_EXCEPTIONS):
        own = engine.raw_gradient(root)
        return own is not None and own.size == 1
    return False


def _with_constants(engine: BackwardEngine, can: Capabilities, probes: list[GradientProbe]) -> Capabilities:
    """Learn whether constants pass gradients on, and have none themselves."""
    if not engine.api.grad_flag or not probes:
        return replace(can, constants_lack_gradients=bool(engine.api.grad_flag))
    if not all(is_right(engine, can, probe, "constant") for probe in probes):
        return replace(can, tracks_constants=True, constants_lack_gradients=False)
    engine.new_graph()
    shape = can.total_shape if can.seed == "none" or engine.api.is_scalar else A.shape
    variable, constant = (
        engine.leaf(np.full(shape, number, can.dtype), wanted) for number, wanted in ((2.0, True), (3.0, False))
    )
    try:
        root = apply_op(engine, probes[0].op, variable, constant)
        run_pass(engine, can, root)
        quiet = constant.tensor is None or not np.any(engine.raw_gradient(constant))
    except USER_EXCEPTIONS:
        quiet = False
    return replace(can, constants_lack_gradients=quiet)


def _with_chain(engine: BackwardEngine, can: Capabilities, probe: GradientProbe) -> Capabilities:
    """Learn the kept gradients of x, y = op(x), z = op(y), over two passes."""
    arrays = (can.seed != "none" or probe.op == "sum") and not engine.api.is_scalar
    given = (A if arrays else np.full(can.total_shape, 2.0)).astype(can.dtype)

    def applied(tensor: WrappedTensor) -> WrappedTensor:
        others = [engine.leaf(given + 1, True)] if probe.operands == 2 else []
        made: WrappedTensor = apply_op(engine, probe.op, tensor, *others)
        engine.retain(made)
        return made

    def passed(root: WrappedTensor, factor: int) -> None:
        incoming = np.ones(root.shape) if can.seed == "none" else factor * incoming_of(root.shape)
        keep = True if engine.api.keeping_arguments else None
        engine.start(engine.start_of(root), can, incoming.astype(can.dtype), keep)

    try:
        engine.new_graph()
        start = engine.leaf(given, True)
        y = applied(start)
        z = applied(y)
        passed(z, 1)
        inner, own, arrived = engine.gradient(y), engine.gradient(z), engine.gradient(start)
        if not _is_nonzero(arrived):
            passed(z, 1)
            if not _is_nonzero(engine.gradient(start)):
                return replace(can, not_understood=ONE_OP)  # a pass in a wrong order goes further each time
        can = replace(can, keeps_intermediates=_is_nonzero(inner), keeps_roots=_is_nonzero(own))
        with suppress(*USER_EXCEPTIONS):  # it may reject another pass
            passed(z, 1)
            is_anew = _is_times(1, engine.gradient(y), inner) and _is_times(2, engine.gradient(start), arrived)
            can = replace(can, adds_to_intermediates=not (is_anew and can.keeps_intermediates))
        engine.new_graph()
        x = engine.leaf(given, True)
        y = applied(x)
        passed(y, 1)
        first, own = engine.gradient(x), engine.gradient(y)
        passed(y, 3)
        second, twice = engine.gradient(x), engine.gradient(y)
        with suppress(Unsupported):  # a gradient that cannot be cleared
            x.grad = None
        passed(y, 1)
        is_alive = _is_nonzero(engine.gradient(x))  # equal gradients may be of a second pass that did nothing
    except USER_EXCEPTIONS:
        return replace(can, keeps_graph=False)
    moved = second is not None and (first is None or not np.array_equal(first, second))
    factor = 1 if can.seed == "none" else 3
    is_set = own is not None and twice is not None and np.array_equal(factor * own, twice)
    # a class that overwrites gradients has equal ones
    is_alike = (can.seed == "none" or engine.api.is_scalar) and not engine.api.keeps_first_gradient
    keeps = moved or (is_alike and is_alive)
    begins_anew = keeps and _is_times(factor, second, first) and is_right(engine, can, _TWICE)
    return replace(can, keeps_graph=keeps, adds_to_roots=not is_set, adds_up=not begins_anew)


def _is_nonzero(gradient: np.ndarray | None) -> bool:
    return gradient is not None and bool(np.any(gradient))


def _is_times(factor: int, now: np.ndarray | None, before: np.ndarray | None) -> bool:
    return now is not None and before is not None and np.array_equal(now, factor * before)


def _with_totals(engine: BackwardEngine, can: Capabilities, probes: list[GradientProbe]) -> Capabilities:
    """Learn the shape of a total that starts a pass by itself, if any.

    It is the one for which most ops are right: some take an array with an axis, and NumPy makes numbers of others."""
    if can.seed == "none" or engine.api.is_scalar:
        return replace(can, starts_alone=can.seed == "none")
    single = [probe for probe in probes if probe.op not in ("matmul", "sum")] or probes[:1]
    best: tuple[int, ...] = ()
    most = 0
    for total in ((), (1,), (1, 1)):
        alone = replace(can, seed="none", total_shape=total)
        right = sum(is_right(engine, alone, probe) for probe in single)
        if total:
            engine.forget_forms()  # learned with single numbers of another shape
        best, most = (total, right) if right > most else (best, most)
        if most == len(single):
            break
    return replace(can, total_shape=best, starts_alone=most > 0)


# Clearing gradients -------------------------------------------------------------------------------


def clearing_of(engine: BackwardEngine, can: Capabilities, probes: list[GradientProbe]) -> str:
    """Return the name of the clearing method, or "" without a usable one.

    It must clear no other tensor's gradient, but if nothing arrives after an assignment, it is `CLEARS_ALL`. One that
    clears nothing is used, as a user would."""
    for probe in (probe for probe in probes if probe.operands == 2):
        arrays = can.seed != "none" and not engine.api.is_scalar
        given = (A if arrays else np.full(can.total_shape, 2.0)).astype(can.dtype)
        try:
            engine.new_graph()
            first, second = engine.leaf(given, True), engine.leaf(given + 1, True)
            root = apply_op(engine, probe.op, first, second)
            run_pass(engine, can, root)
            method = method_of(engine.start_of(first), dialects.CLEARING_METHODS)
            if method is None or not np.any(engine.gradient(second)):
                return ""
            method()
            kept = engine.gradient(second)
            if kept is None or not np.any(kept):
                for _ in range(2):  # over graphs of its own; the gradient is assigned in between
                    second.grad = None
                    run_pass(engine, can, apply_op(engine, probe.op, engine.leaf(given, True), second))
                return "" if np.any(engine.gradient(second)) else dialects.CLEARS_ALL
            if _clearing_cuts_graph(engine, can, (root, second), method.__name__):
                return ""
        except USER_EXCEPTIONS:
            continue
        return method.__name__
    return ""


def _clearing_cuts_graph(
    engine: BackwardEngine, can: Capabilities, made: tuple[WrappedTensor, WrappedTensor], clearing: str
) -> bool:
    """Return whether clearing cuts the graph, so that a further pass stops."""
    root, leaf = made
    getattr(engine.start_of(root), clearing)()
    leaf.grad = None
    run_pass(engine, can, root)
    return can.keeps_graph and not np.any(engine.gradient(leaf))


# Precision ----------------------------------------------------------------------------------------


def made_dtype(engine: BackwardEngine) -> str:
    """Return the dtype of a tensor made from float64, at most float64."""
    if engine.api.is_scalar:
        return _number_dtype(engine)
    dtype = engine.api.read(engine.api.make(A, True)).dtype
    return dtype.name if dtype.kind == "f" and dtype.itemsize < A.itemsize else "float64"


def _number_dtype(engine: BackwardEngine) -> str:
    """Return the dtype of a class's numbers, by the value of a tenth."""
    try:
        number = float(engine.api.read(engine.api.make(np.array(0.1), True)).reshape(-1)[0])
    except USER_EXCEPTIONS:  # it may take only integers
        return "float64"
    return "float32" if number == float(np.float32(0.1)) else "float64"


def lowest_dtype(engine: BackwardEngine, can: Capabilities, probes: list[GradientProbe]) -> str:
    """Return the least precise dtype of its results and gradients."""
    if engine.api.is_scalar:
        return can.dtype
    found = [np.dtype(can.dtype)]
    with suppress(*USER_EXCEPTIONS):
        begun = engine.leaf(A.astype(can.dtype), True).initial  # a rule may add to it
        found += [begun.dtype] if isinstance(begun, np.ndarray) else []
    with suppress(*USER_EXCEPTIONS):
        found.append(apply_op(engine, "sum", engine.leaf(A[0].astype(can.dtype), True)).dtype)
    with suppress(*USER_EXCEPTIONS):
        scaled = apply_op(engine, "mul", engine.leaf(A.astype(can.dtype), True), 0.1)
        found += [] if np.allclose(scaled.array, A * 0.1, 1e-12) else [np.dtype(np.float32)]
    for probe in probes:
        given = [engine.leaf(array.astype(can.dtype), True) for array in (A, B)[: probe.operands]]
        try:
            root = apply_op(engine, probe.op, *given)
            found.append(root.dtype)
            run_pass(engine, can, root)
            gradient = engine.gradient(given[0])
            found += [] if gradient is None else [gradient.dtype]
        except USER_EXCEPTIONS:
            continue
    return str(min((dtype for dtype in found if dtype.kind == "f"), key=lambda dtype: dtype.itemsize).name)
