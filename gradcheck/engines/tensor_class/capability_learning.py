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

from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.capabilities import UNKNOWN, Capabilities, Seed
from gradcheck.engines.tensor_class.api_discovery import enable
from gradcheck.engines.tensor_class.user_code_guard import ANYTHING, said
from gradcheck.engines.tensor_class.hypotheses import (
    LESSONS,
    Asked,
    factor_of,
    hypotheses,
    is_right,
    is_whole,
    taught_by,
    writes_into_operands,
)
from gradcheck.engines.tensor_class.computed_dtype import made_dtype
from gradcheck.engines.tensor_class.traits import ONE_OP, completed
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


#: Of one whose tensors are tapes.
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
        found = _of_lists(engine, found) if found.misunderstood not in ("", ONE_OP) else found
        if found.misunderstood != ONE_OP:
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
        if way.records:
            engine.forget()  # outside of a tape an op may give what is no tensor
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
        return completed(engine, one)
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
