"""Learning by gradients how a Tensor class is asked for them.

A hypothesis is a flag for gradients and a way to give the incoming gradient. Each is tried on graphs of one op, with
an incoming gradient of which every element differs, and the one under which most of these are right is believed;
where none is right, one under which all are wrong by the same factor. Names and signatures only say what to try first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from gradcheck.autograd.op import TABLE
from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.capabilities import UNKNOWN, Capabilities, Seed
from gradcheck.engines.tensor_class.clearing import clearing_of
from gradcheck.engines.tensor_class.discovery import enable
from gradcheck.engines.tensor_class.guard import ANYTHING, said
from gradcheck.engines.tensor_class.hypotheses import (
    LESSONS,
    A,
    Asked,
    B,
    Lesson,
    equals_are_one,
    factor_of,
    hypotheses,
    incoming_of,
    is_right,
    is_whole,
    taught_by,
    writes_into_operands,
)
from gradcheck.engines.tensor_class.precision import lowest_dtype, made_dtype
from gradcheck.engines.tensor_class.wrapped import WrappedTensor
from gradcheck.errors import GradcheckError


@dataclass(slots=True)
class _Score:
    """How one hypothesis fared: lessons that ran, were right, and by which factors each was off; `tensors` where
    gradients are the class's own, `trouble` what was raised first."""

    ran: int = 0
    right: int = 0
    factors: tuple[float, ...] = ()
    tensors: bool = False
    trouble: str = ""

    def suits(self, seed: Seed) -> bool:
        """Whether gradients go in as they come out."""
        return seed == "none" or seed.endswith("tensor") == self.tensors

    def worth(self, api: Api, seed: Seed) -> tuple[int, int, bool]:
        """By which hypotheses are compared: what is right, what asks least of the class, what suits."""
        way = 0 if (seed == "none") is not api.scalar else 1 if seed.startswith("assigned") else 2
        return self.right, way, self.suits(seed)

    @property
    def is_consistent(self) -> bool:
        """Whether most of what arrived was wrong by one factor; of an op that is made of two, it may be the square."""
        factor, times = Counter(self.factors).most_common(1)[0] if self.factors else (0.0, 0)
        return times > 1 and 2 * times > self.ran and factor not in (0.0, np.inf)


#: Of a class whose `backward` is one op's own; of one whose tensors are tapes.
_ONE_OP = "a pass goes no further than one op"
_WRITES = "an op writes its result into its operand"
_WHOLE = "its sums are whole numbers"
_NOTHING = "no gradient is right, whatever is tried"


#: How often a class is looked at that seems to go no further than one op: one that answers by chance does, at times.
_LOOKS = 4


def capabilities_of(engine: Asked) -> Capabilities:
    """What the engine's class can do; the flag under which that holds, and what runs a pass, are those of its `Api`
    afterwards."""
    found = UNKNOWN
    for _ in range(_LOOKS if engine.api.backward_name else 0):
        found = _learned(engine)
        found = _of_lists(engine, found) if found.misunderstood not in ("", _ONE_OP) else found
        if found.misunderstood != _ONE_OP:
            break
    is_the_pass = found.misunderstood not in ("", _WRITES, _WHOLE)
    return _otherwise(engine, found) if is_the_pass or not engine.api.backward_name else found


def _otherwise(engine: Asked, found: Capabilities) -> Capabilities:
    """What is learned where something else than the method runs passes, or where the method runs some when it has been
    enabled; what was `found` where nothing does."""
    if engine.api.backward_name and enable(engine.api):
        again = _learned(engine)
        if not again.misunderstood:
            return again
    for way in engine.api.passes():
        engine.api.use(way)
        try:
            again = _learned(engine) if _promises(engine) else UNKNOWN
        except (GradcheckError, *ANYTHING):  # a tape that cannot be begun
            continue
        if again is not UNKNOWN and not again.misunderstood:
            return again
    engine.api.use(None)
    return found if found.misunderstood else replace(UNKNOWN, misunderstood=_NOTHING)


def _promises(engine: Asked) -> bool:
    """Whether any gradient of a sum, or a product, is right."""
    base = replace(UNKNOWN, dtype=made_dtype(engine))
    return any(is_right(engine, one, lesson) for one in hypotheses(engine.api, base) for lesson in LESSONS[:3])


def _of_lists(engine: Asked, found: Capabilities) -> Capabilities:
    """What is learned where tensors are made from lists: of a class that takes arrays, but computes with lists."""
    if engine.api.lists or engine.api.scalar:
        return found
    engine.api.lists = True
    engine.forget()
    with suppress(GradcheckError, *ANYTHING):  # it may refuse lists
        again = _learned(engine)
        if not again.misunderstood:
            return again
    engine.api.lists = False
    engine.forget()
    return found


def _learned(engine: Asked) -> Capabilities:
    found = list(_tried(engine))
    best, flag, one = max(found, key=lambda entry: entry[0].worth(engine.api, entry[2].seed))
    if not best.right:
        best, flag, one = next((entry for entry in found if entry[0].is_consistent), found[0])
    engine.use_flag(flag)
    if one.total != found[-1][2].total:
        engine.forget()
    if writes_into_operands(engine):
        return replace(UNKNOWN, misunderstood=_WRITES)
    if is_whole(engine, one):
        return replace(UNKNOWN, misunderstood=_WHOLE)
    if best.right or best.is_consistent:
        return _completed(engine, one)
    troubles = [entry[0].trouble for entry in found if entry[0].trouble and entry[2].seed == "none"]
    return replace(UNKNOWN, misunderstood=(troubles or [_NOTHING])[0])


def _tried(engine: Asked) -> Iterator[tuple[_Score, tuple[str, bool], Capabilities]]:
    """Every hypothesis and how it fared, up to the first that leaves nothing to be desired."""
    for flag in engine.api.flags:
        engine.use_flag(flag)
        dtype, total = made_dtype(engine), UNKNOWN.total
        for one in hypotheses(engine.api, replace(UNKNOWN, dtype=dtype)):
            if one.total != total:
                total = one.total
                engine.forget()  # what ops took of single numbers of another shape
            score = _score(engine, one)
            yield score, flag, one
            if score.right and score.right == score.ran and score.suits(one.seed):
                return


def _score(engine: Asked, one: Capabilities) -> _Score:
    score, factors = _Score(), list[float]()
    for lesson in LESSONS:
        try:
            taught = taught_by(engine, one, lesson)
        except (GradcheckError, *ANYTHING) as error:
            score.trouble = score.trouble or (error.message if isinstance(error, GradcheckError) else said(error))
            score.ran, factors = score.ran + 1, [*factors, float("inf")]
            continue
        if taught is None:
            continue
        factor = factor_of(taught)
        factors.append(factor)
        score.ran, score.right = score.ran + 1, score.right + (factor == 1)
        score.tensors = score.tensors or taught.tensors
    score.factors = tuple(factors)
    return score


# What else holds under the hypothesis that is believed ----------------------------------------------


def _completed(engine: Asked, one: Capabilities) -> Capabilities:
    plain = [lesson for lesson in LESSONS if lesson.uses == 1]
    lessons = [lesson for lesson in plain if is_right(engine, one, lesson)] or plain
    one = replace(one, dtype=lowest_dtype(engine, one, lessons))
    engine.use_dtype(one.dtype)
    engine.api.arrays_alone = _wants_arrays(engine, one, lessons)
    one = _with_constants(engine, one, [lesson for lesson in lessons if lesson.operands == 2])
    one = _with_totals(engine, _with_chain(engine, one, lessons[0]), lessons[0])
    if equals_are_one(engine):
        one = replace(one, equals_are_one=True, keeps_intermediates=False)
    engine.api.clearing = clearing_of(engine, one, lessons)
    if one.seed == "none" and not engine.api.scalar:
        one = replace(one, starts_with_ones=_starts_with_ones(engine, one, lessons))
    return one


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
            return replace(one, misunderstood=_ONE_OP)
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
