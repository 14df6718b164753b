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
from gradcheck.engines.tensor_class.user_code_guard import ANYTHING
from gradcheck.engines.tensor_class.hypotheses import (
    LESSONS,
    A,
    Asked,
    B,
    Lesson,
    equals_are_one,
    incoming_of,
    is_right,
    taught_by,
)
from gradcheck.engines.tensor_class.modules import says_what_numpy_comes_to
from gradcheck.engines.tensor_class.computed_dtype import lowest_dtype
from gradcheck.engines.tensor_class.wrapped_tensor import WrappedTensor
from gradcheck.errors import GradcheckError

#: Of a class whose `backward` is one op's own.
ONE_OP = "a pass goes no further than one op"
#: Ops whose gradients are whole numbers where the incoming one is: of their precision these tell nothing.
_WHOLE = ("add", "sub", "neg", "sum", "relu")


def completed(engine: Asked, one: Capabilities) -> Capabilities:
    plain = [lesson for lesson in LESSONS if lesson.uses == 1]
    lessons = [lesson for lesson in plain if is_right(engine, one, lesson)] or plain
    rounds = any(lesson.op not in _WHOLE for lesson in lessons)
    one = replace(one, dtype=lowest_dtype(engine, one, lessons if rounds else plain))
    engine.use_dtype(one.dtype)
    engine.api.arrays_alone = _wants_arrays(engine, one, lessons)
    one = _with_constants(engine, one, [lesson for lesson in lessons if lesson.operands == 2])
    one = _with_totals(engine, _with_chain(engine, one, lessons[0]), lessons[0])
    if equals_are_one(engine):
        one = replace(one, equals_are_one=True, keeps_intermediates=False)
    engine.api.clearing = clearing_of(engine, one, lessons)
    one = replace(one, answers_numpy=_answers_numpy(engine, one))
    if one.seed == "none" and not engine.api.scalar:
        one = replace(one, starts_with_ones=_starts_with_ones(engine, one, lessons))
    return one


def _answers_numpy(engine: Asked, one: Capabilities) -> bool:
    """Whether the class says what NumPy's functions of its tensors come to, with the right gradients: some give what is
    computed with and has none."""
    if engine.api.scalar or not says_what_numpy_comes_to(engine.api.tensor_type):
        return False
    with suppress(GradcheckError, *ANYTHING):
        engine.new_graph()
        given = [np.full(one.total, number) if one.seed == "none" else array for number, array in ((2.0, A), (3.0, B))]
        a, b = (engine.leaf(array.astype(one.dtype), True) for array in given)
        made = np.multiply(a.tensor, b.tensor)
        if not engine.api.is_tensor(made):
            return False
        incoming = np.ones(one.total) if one.seed == "none" else incoming_of(A.shape)
        engine.start(made, one, incoming.astype(one.dtype))
        wanted = [incoming * other for other in reversed(given)]
        return all(
            _is_times(1, engine.gradient(x), want.astype(one.dtype)) for x, want in zip((a, b), wanted, strict=True)
        )
    return False


def _wants_arrays(engine: Asked, one: Capabilities, lessons: list[Lesson]) -> bool:
    """Whether gradients of single numbers are right where these are arrays, and not where they are Python's."""
    single = next((lesson for lesson in lessons if lesson.op not in ("matmul", "sum")), None)
    if engine.api.scalar or single is None or is_right(engine, one, single, "single"):
        return False
    engine.api.arrays_alone = True
    engine.forget()
    wanted = is_right(engine, one, single, "single")
    engine.forget()
    return wanted


def _starts_with_ones(engine: Asked, one: Capabilities, lessons: list[Lesson]) -> bool:
    """Whether a pass from an array needs no incoming gradient. Where there is a sum to start from, none of its rules
    may ask a plain number for a shape: who says `self.grad = 1` starts from single numbers."""
    for lesson in LESSONS if any(lesson.op == "sum" for lesson in lessons) else ():
        try:
            taught_by(engine, one, lesson, "ones")
        except AttributeError as error:
            if isinstance(error.obj, (int, float)):
                return False
        except (GradcheckError, *ANYTHING):
            continue
    others = [lesson for lesson in lessons if lesson.op not in ("sum", "matmul")]
    return any(is_right(engine, one, lesson, "ones") for lesson in others) and not _begins_at_one(
        engine, one, others[0]
    )


def _begins_at_one(engine: Asked, one: Capabilities, lesson: Lesson) -> bool:
    """Whether a pass from an array puts a single 1 there, which rules are not made for that some ops have."""
    engine.new_graph()
    op = TABLE[lesson.op]
    given = [engine.leaf(array.astype(one.dtype), True) for array in (A, B)[: lesson.operands]]
    root = engine.apply(op, op.bind(tuple(given) * lesson.uses, {}))
    with suppress(GradcheckError, *ANYTHING):
        engine.start(engine.start_of(root), one, np.ones(root.shape, one.dtype))
    with suppress(GradcheckError, *ANYTHING):
        own = engine.raw_gradient(root)
        return own is not None and own.size == 1
    return False


def _with_constants(engine: Asked, one: Capabilities, lessons: list[Lesson]) -> Capabilities:
    """Whether what is made without the flag lets gradients through, and has none of its own."""
    if not engine.api.flag or not lessons:
        return replace(one, spares_constants=bool(engine.api.flag))
    if not all(is_right(engine, one, lesson, "constant") for lesson in lessons):
        return replace(one, tracks_constants=True, spares_constants=False)
    engine.new_graph()
    op = TABLE[lessons[0].op]
    shape = one.total if one.seed == "none" or engine.api.scalar else A.shape
    variable, constant = (
        engine.leaf(np.full(shape, number, one.dtype), wanted) for number, wanted in ((2.0, True), (3.0, False))
    )
    try:
        root = engine.apply(op, op.bind((variable, constant), {}))
        engine.start(engine.start_of(root), one, np.ones(shape, one.dtype))
        quiet = constant.tensor is None or not np.any(engine.raw_gradient(constant))
    except (GradcheckError, *ANYTHING):
        quiet = False
    return replace(one, spares_constants=quiet)


def _with_chain(engine: Asked, one: Capabilities, lesson: Lesson) -> Capabilities:
    """What is kept of x, y = op(x), z = op(y) after a pass, and of x and y after two passes from y."""
    arrays = (one.seed != "none" or lesson.op == "sum") and not engine.api.scalar
    given = (A if arrays else np.full(one.total, 2.0)).astype(one.dtype)
    op = TABLE[lesson.op]

    def applied(tensor: WrappedTensor) -> WrappedTensor:
        others = [engine.leaf(given + 1, True)] if lesson.operands == 2 else []
        made: WrappedTensor = engine.apply(op, op.bind((tensor, *others), {}))
        engine.retain(made)
        return made

    def passed(root: WrappedTensor, factor: int) -> None:
        incoming = np.ones(root.shape) if one.seed == "none" else factor * incoming_of(root.shape)
        keep = True if engine.api.retaining else None
        engine.start(engine.start_of(root), one, incoming.astype(one.dtype), keep)

    try:
        engine.new_graph()
        start = engine.leaf(given, True)
        y = applied(start)
        z = applied(y)
        passed(z, 1)
        inner, own = engine.gradient(y), engine.gradient(z)
        if not _has_arrived(engine, start):
            return replace(one, misunderstood=ONE_OP)
        one = replace(one, keeps_intermediates=inner is not None and bool(np.any(inner)), keeps_roots=own is not None)
        arrived = engine.gradient(start)
        with suppress(GradcheckError, *ANYTHING):  # it may refuse another pass
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
    except (GradcheckError, *ANYTHING):  # it refuses
        return replace(one, keeps_graph=False)
    moved = second is not None and (first is None or not np.array_equal(first, second))
    factor = 1 if one.seed == "none" else 3
    is_set = own is not None and twice is not None and np.array_equal(factor * own, twice)
    # one that overwrites has the same again
    keeps = moved or ((one.seed == "none" or engine.api.scalar) and not _remembers(engine.api))
    return replace(one, keeps_graph=keeps, adds_to_roots=not is_set)


def _remembers(api: Api) -> bool:
    """Whether a gradient that has been asked for is what it was for ever."""
    return api.running is not None and bool(api.running.attribute)


def _is_times(factor: int, now: np.ndarray | None, before: np.ndarray | None) -> bool:
    return now is not None and before is not None and np.array_equal(now, factor * before)


def _has_arrived(engine: Asked, tensor: WrappedTensor) -> bool:
    found = engine.gradient(tensor)
    return found is not None and bool(np.any(found))


def _with_totals(engine: Asked, one: Capabilities, lesson: Lesson) -> Capabilities:
    """Whether a pass from a single number starts without an incoming gradient, and of which shape that number is."""
    if one.seed == "none" or engine.api.scalar:
        return replace(one, starts_alone=one.seed == "none")
    for total in ((), (1,), (1, 1)):
        if is_right(engine, replace(one, seed="none", total=total), lesson):
            if total:
                engine.forget()  # what ops took, or refused, of single numbers of another shape
            return replace(one, total=total)
    return replace(one, starts_alone=False)
