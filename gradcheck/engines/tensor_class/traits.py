"""What else holds of a Tensor class, under the hypothesis that is believed: what its passes keep, start from and add
to, its precision, what it takes for a constant, whether NumPy's functions are its own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.capabilities import Capabilities
from gradcheck.engines.tensor_class.clearing import clearing_of
from gradcheck.engines.tensor_class.computed_dtype import lowest_dtype
from gradcheck.engines.tensor_class.hypotheses import (
    GRADIENT_PROBES,
    A,
    B,
    GradientProbe,
    ProbedEngine,
    incoming_of,
    is_right,
    merges_equal_nodes,
    run_probe,
)
from gradcheck.engines.tensor_class.modules import overrides_numpy
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor
from gradcheck.errors import GradcheckError

#: Of a class whose `backward` is one op's own.
ONE_OP = "a pass goes no further than one op"
#: Ops whose gradients are whole numbers where the incoming one is: of their precision these tell nothing.
_WHOLE = ("add", "sub", "neg", "sum", "relu")


def complete_capabilities(engine: ProbedEngine, one: Capabilities) -> Capabilities:
    plain = [lesson for lesson in GRADIENT_PROBES if lesson.uses == 1]
    lessons = [lesson for lesson in plain if is_right(engine, one, lesson)] or plain
    rounds = any(lesson.op not in _WHOLE for lesson in lessons)
    one = replace(one, dtype=lowest_dtype(engine, one, lessons if rounds else plain))
    engine.use_dtype(one.dtype)
    engine.api.needs_arrays = _wants_arrays(engine, one, lessons)
    one = _with_constants(engine, one, [lesson for lesson in lessons if lesson.operands == 2])
    one = _with_totals(engine, _with_chain(engine, one, lessons[0]), lessons[0])
    if merges_equal_nodes(engine):
        one = replace(one, merges_equal_nodes=True, keeps_intermediates=False)
    engine.api.clearing_name = clearing_of(engine, one, lessons)
    one = replace(one, answers_numpy=_answers_numpy(engine, one))
    if one.seed == "none" and not engine.api.is_scalar:
        one = replace(one, starts_with_ones=_starts_with_ones(engine, one, lessons))
    return one


def _answers_numpy(engine: ProbedEngine, one: Capabilities) -> bool:
    """Whether the class says what NumPy's functions of its tensors come to, with the right gradients: some give what is
    computed with and has none."""
    if engine.api.is_scalar or not overrides_numpy(engine.api.tensor_type):
        return False
    with suppress(GradcheckError, *USER_EXCEPTIONS):
        engine.new_graph()
        given = [
            np.full(one.total_shape, number) if one.seed == "none" else array for number, array in ((2.0, A), (3.0, B))
        ]
        a, b = (engine.leaf(array.astype(one.dtype), True) for array in given)
        made = np.multiply(a.tensor, b.tensor)
        if not engine.api.is_tensor(made):
            return False
        incoming = np.ones(one.total_shape) if one.seed == "none" else incoming_of(A.shape)
        engine.start(made, one, incoming.astype(one.dtype))
        wanted = [incoming * other for other in reversed(given)]
        return all(
            _is_times(1, engine.gradient(x), want.astype(one.dtype)) for x, want in zip((a, b), wanted, strict=True)
        )
    return False


def _wants_arrays(engine: ProbedEngine, one: Capabilities, lessons: list[GradientProbe]) -> bool:
    """Whether gradients of single numbers are right where these are arrays, and not where they are Python's."""
    single = next((lesson for lesson in lessons if lesson.op not in ("matmul", "sum")), None)
    if engine.api.is_scalar or single is None or is_right(engine, one, single, "single"):
        return False
    engine.api.needs_arrays = True
    engine.forget_forms()
    wanted = is_right(engine, one, single, "single")
    engine.forget_forms()
    return wanted


def _starts_with_ones(engine: ProbedEngine, one: Capabilities, lessons: list[GradientProbe]) -> bool:
    """Whether a pass from an array needs no incoming gradient. Where there is a sum to start from, none of its rules
    may ask a plain number for a shape: who says `self.grad = 1` starts from single numbers."""
    for lesson in GRADIENT_PROBES if any(lesson.op == "sum" for lesson in lessons) else ():
        try:
            run_probe(engine, one, lesson, "ones")
        except AttributeError as error:
            if isinstance(error.obj, (int, float)):
                return False
        except (GradcheckError, *USER_EXCEPTIONS):
            continue
    others = [lesson for lesson in lessons if lesson.op not in ("sum", "matmul")]
    return any(is_right(engine, one, lesson, "ones") for lesson in others) and not _begins_at_one(
        engine, one, others[0]
    )


def _begins_at_one(engine: ProbedEngine, one: Capabilities, lesson: GradientProbe) -> bool:
    """Whether a pass from an array puts a single 1 there, which rules are not made for that some ops have."""
    engine.new_graph()
    op = TABLE[lesson.op]
    given = [engine.leaf(array.astype(one.dtype), True) for array in (A, B)[: lesson.operands]]
    root = engine.apply(op, op.bind(tuple(given) * lesson.uses, {}))
    with suppress(GradcheckError, *USER_EXCEPTIONS):
        engine.start(engine.start_of(root), one, np.ones(root.shape, one.dtype))
    with suppress(GradcheckError, *USER_EXCEPTIONS):
        own = engine.raw_gradient(root)
        return own is not None and own.size == 1
    return False


def _with_constants(engine: ProbedEngine, one: Capabilities, lessons: list[GradientProbe]) -> Capabilities:
    """Whether what is made without the flag lets gradients through, and has none of its own."""
    if not engine.api.grad_flag or not lessons:
        return replace(one, constants_lack_gradients=bool(engine.api.grad_flag))
    if not all(is_right(engine, one, lesson, "constant") for lesson in lessons):
        return replace(one, tracks_constants=True, constants_lack_gradients=False)
    engine.new_graph()
    op = TABLE[lessons[0].op]
    shape = one.total_shape if one.seed == "none" or engine.api.is_scalar else A.shape
    variable, constant = (
        engine.leaf(np.full(shape, number, one.dtype), wanted) for number, wanted in ((2.0, True), (3.0, False))
    )
    try:
        root = engine.apply(op, op.bind((variable, constant), {}))
        engine.start(engine.start_of(root), one, np.ones(shape, one.dtype))
        quiet = constant.tensor is None or not np.any(engine.raw_gradient(constant))
    except (GradcheckError, *USER_EXCEPTIONS):
        quiet = False
    return replace(one, constants_lack_gradients=quiet)


def _with_chain(engine: ProbedEngine, one: Capabilities, lesson: GradientProbe) -> Capabilities:
    """What is kept of x, y = op(x), z = op(y) after a pass, and of x and y after two passes from y."""
    arrays = (one.seed != "none" or lesson.op == "sum") and not engine.api.is_scalar
    given = (A if arrays else np.full(one.total_shape, 2.0)).astype(one.dtype)
    op = TABLE[lesson.op]

    def applied(tensor: WrappedTensor) -> WrappedTensor:
        others = [engine.leaf(given + 1, True)] if lesson.operands == 2 else []
        made: WrappedTensor = engine.apply(op, op.bind((tensor, *others), {}))
        engine.retain(made)
        return made

    def passed(root: WrappedTensor, factor: int) -> None:
        incoming = np.ones(root.shape) if one.seed == "none" else factor * incoming_of(root.shape)
        keep = True if engine.api.retain_parameter else None
        engine.start(engine.start_of(root), one, incoming.astype(one.dtype), keep)

    try:
        engine.new_graph()
        start = engine.leaf(given, True)
        y = applied(start)
        z = applied(y)
        passed(z, 1)
        inner, own = engine.gradient(y), engine.gradient(z)
        if not _has_arrived(engine, start):
            return replace(one, not_understood=ONE_OP)
        one = replace(one, keeps_intermediates=inner is not None and bool(np.any(inner)), keeps_roots=own is not None)
        arrived = engine.gradient(start)
        with suppress(GradcheckError, *USER_EXCEPTIONS):  # it may refuse another pass
            passed(z, 1)
            is_anew = _is_times(1, engine.gradient(y), inner) and _is_times(2, engine.gradient(start), arrived)
            one = replace(one, adds_to_intermediates=not (is_anew and one.keeps_intermediates))
        engine.new_graph()
        x = engine.leaf(given, True)
        y = applied(x)
        passed(y, 1)
        first, own = engine.gradient(x), engine.gradient(y)
        passed(y, 3)
        second, twice = engine.gradient(x), engine.gradient(y)
    except (GradcheckError, *USER_EXCEPTIONS):  # it refuses
        return replace(one, keeps_graph=False)
    moved = second is not None and (first is None or not np.array_equal(first, second))
    factor = 1 if one.seed == "none" else 3
    is_set = own is not None and twice is not None and np.array_equal(factor * own, twice)
    # one that overwrites has the same again
    keeps = moved or ((one.seed == "none" or engine.api.is_scalar) and not _keeps_first_gradient(engine.api))
    return replace(one, keeps_graph=keeps, adds_to_roots=not is_set)


def _keeps_first_gradient(api: Api) -> bool:
    """Whether a gradient that has been asked for is what it was for ever."""
    return api.pass_runner is not None and bool(api.pass_runner.attribute)


def _is_times(factor: int, now: np.ndarray | None, before: np.ndarray | None) -> bool:
    return now is not None and before is not None and np.array_equal(now, factor * before)


def _has_arrived(engine: ProbedEngine, tensor: WrappedTensor) -> bool:
    found = engine.gradient(tensor)
    return found is not None and bool(np.any(found))


def _with_totals(engine: ProbedEngine, one: Capabilities, lesson: GradientProbe) -> Capabilities:
    """Whether a pass from a single number starts without an incoming gradient, and of which shape that number is."""
    if one.seed == "none" or engine.api.is_scalar:
        return replace(one, starts_alone=one.seed == "none")
    for total in ((), (1,), (1, 1)):
        if is_right(engine, replace(one, seed="none", total_shape=total), lesson):
            if total:
                engine.forget_forms()  # what ops took, or refused, of single numbers of another shape
            return replace(one, total_shape=total)
    return replace(one, starts_alone=False)
