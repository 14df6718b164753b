"""Learning the capabilities of a Tensor class by gradients.

A hypothesis is a flag for gradients and a form of incoming gradient. Each is tried on graphs of one op, with an
incoming gradient of distinct elements, and the one with most right gradients wins; if none is right, one whose
gradients are all wrong by the same factor. Names and signatures only determine the order of trials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from gradcheck.engines.tensor_class.api import Api
from gradcheck.engines.tensor_class.api_discovery import enable_gradients, gradient_places
from gradcheck.engines.tensor_class.backward_engine import BackwardEngine
from gradcheck.engines.tensor_class.capabilities import UNKNOWN, Capabilities, SeedKind
from gradcheck.engines.tensor_class.hypotheses import (
    GRADIENT_PROBES,
    factor_of,
    hypotheses,
    is_right,
    pass_score,
    run_probe,
    sums_are_integers,
    writes_into_operands,
)
from gradcheck.engines.tensor_class.pass_runners import PassRunner
from gradcheck.engines.tensor_class.traits import ONE_OP, complete_capabilities, made_dtype
from gradcheck.engines.tensor_class.user_code_guard import USER_EXCEPTIONS, error_line
from gradcheck.errors import GradcheckError


@dataclass(slots=True)
class _Score:
    """The score of one hypothesis: probes that ran, that were right.

    `factors` are the ratios of wrong gradients; `tensors` is set if gradients are the class's own, `mutated` if a pass
    changed the incoming gradient; `first_error` is the first exception."""

    ran: int = 0
    right: int = 0
    factors: tuple[float, ...] = ()
    tensors: bool = False
    mutated: bool = False
    first_error: str = ""

    def matches_seed(self, seed: SeedKind) -> bool:
        """Return whether incoming gradients have the type of gradients."""
        return seed == "none" or seed.endswith("tensor") == self.tensors

    def rank(self, api: Api, seed: SeedKind) -> tuple[int, int, bool]:
        """Return the key by which hypotheses are compared."""
        simplicity = 0 if (seed == "none") is not api.is_scalar else 1 if seed.startswith("assigned") else 2
        return self.right, simplicity, self.matches_seed(seed)

    @property
    def is_consistent(self) -> bool:
        """True if most gradients are wrong by one factor, composed ops aside."""
        factor, times = Counter(self.factors).most_common(1)[0] if self.factors else (0.0, 0)
        return times > 1 and 2 * times > self.ran and factor not in (0.0, np.inf)


_WRITES = "an op writes its result into its operand"
_WHOLE = "its sums are whole numbers"
_JACOBIANS = "its gradients are Jacobians, of shape (3, 2) for a tensor of (2, 3)"
_NOTHING = "no gradient is right, whatever is tried"
#: The number of attempts with a class whose passes seem to go no further than one op: a random class may, at times.
_LOOKS = 4


def learn_capabilities(engine: BackwardEngine) -> Capabilities:
    """Return the class's capabilities; set the flag and passes of its `Api`."""
    if _has_transposed_gradients(engine.api):
        return replace(UNKNOWN, not_understood=_JACOBIANS)
    found = UNKNOWN
    for _ in range(_LOOKS if engine.api.backward_name else 0):
        found = _learn(engine)
        if found.not_understood not in ("", ONE_OP):
            places = [] if engine.api.gradient_name else gradient_places(engine.api)
            found = _learn_with(engine, found, "gradient_name", places)
            is_list_likely = not (engine.api.needs_lists or engine.api.is_scalar)
            found = _learn_with(engine, found, "needs_lists", [True] if is_list_likely else [])
        if found.not_understood != ONE_OP:
            break
    if engine.api.backward_name and found.not_understood in ("", _WRITES, _WHOLE):
        return found  # its own method is what its author calls, also if it is wrong
    return _learn_with_other_passes(engine, found)


def _has_transposed_gradients(api: Api) -> bool:
    """Return whether a new tensor's gradient has its dimensions reversed."""
    with suppress(*USER_EXCEPTIONS):
        found = None if api.is_scalar else api.gradient_array(api.make(np.ones((2, 3)), True))
        return found is not None and found.shape == (3, 2)
    return False


def _learn_with_other_passes(engine: BackwardEngine, found: Capabilities) -> Capabilities:
    """Return capabilities with the best pass runner, else `found`.

    The first without a fault of its own is taken."""
    best: tuple[tuple[int, int], PassRunner] | None = None
    if engine.api.backward_name and enable_gradients(engine.api):
        again = _learn(engine)
        if not again.not_understood:
            return again
    for runner in engine.api.passes():
        engine.api.use_pass(runner)
        if runner.records:
            engine.forget_forms()  # outside of a tape an op may return no tensor
        try:
            base = replace(UNKNOWN, dtype=made_dtype(engine))
            pairs = product(hypotheses(engine.api, base), GRADIENT_PROBES[1:4])  # ones of a sum show nothing
            again = _learn(engine) if any(is_right(engine, *pair) for pair in pairs) else UNKNOWN
        except USER_EXCEPTIONS:  # a tape that cannot be begun
            continue
        if again is UNKNOWN or again.not_understood:
            continue
        score = pass_score(engine, again)
        if score[0] == 0:
            return again
        best = (score, runner) if best is None or score > best[0] else best
    engine.api.use_pass(best[1] if best else None)
    engine.forget_forms()
    if best:
        return _learn(engine)
    return found if found.not_understood else replace(UNKNOWN, not_understood=_NOTHING)


def _learn_with(engine: BackwardEngine, found: Capabilities, name: str, values: Sequence[Any]) -> Capabilities:
    """Return capabilities with another attribute of the `Api`, else `found`."""
    known = getattr(engine.api, name)
    for value in values if found.not_understood else ():
        setattr(engine.api, name, value)
        engine.forget_forms()
        with suppress(*USER_EXCEPTIONS):  # it may reject lists
            again = _learn(engine)
            if not again.not_understood:
                return again
        setattr(engine.api, name, known)
        engine.forget_forms()
    return found


def _learn(engine: BackwardEngine) -> Capabilities:
    engine.use_dtype(UNKNOWN.dtype)  # not that of another attempt
    found = list(_score_hypotheses(engine))
    best, flag, can = max(found, key=lambda entry: entry[0].rank(engine.api, entry[2].seed))
    if not best.right:
        best, flag, can = next((entry for entry in found if entry[0].is_consistent), found[0])
    engine.use_flag(flag)
    if can.total_shape != found[-1][2].total_shape:
        engine.forget_forms()
    if writes_into_operands(engine):
        return replace(UNKNOWN, not_understood=_WRITES)
    if sums_are_integers(engine, can):
        return replace(UNKNOWN, not_understood=_WHOLE)
    if can.seed == "tensor" and not best.mutated:
        can = replace(can, mutates_arrays=any(score.mutated for score, _, other in found if other.seed == "array"))
    if best.right or best.is_consistent:
        return complete_capabilities(engine, can)
    errors = [entry[0].first_error for entry in found if entry[0].first_error and entry[2].seed == "none"]
    return replace(UNKNOWN, not_understood=(errors or [_NOTHING])[0])


def _score_hypotheses(engine: BackwardEngine) -> Iterator[tuple[_Score, tuple[str, bool], Capabilities]]:
    """Yield each hypothesis with its score, up to the first perfect one.

    One right op alone shows little: the others may reject the shape of these operands."""
    for flag in engine.api.grad_flags:
        engine.use_flag(flag)
        try:
            dtype, total = made_dtype(engine), UNKNOWN.total_shape
        except USER_EXCEPTIONS:  # no leaf may have this flag
            continue
        for can in hypotheses(engine.api, replace(UNKNOWN, dtype=dtype)):
            if can.total_shape != total:
                total = can.total_shape
                engine.forget_forms()  # learned with single numbers of another shape
            score = _score(engine, can)
            yield score, flag, can
            if score.right > 1 and score.right == score.ran and score.matches_seed(can.seed):
                return


def _score(engine: BackwardEngine, can: Capabilities) -> _Score:
    score, factors = _Score(), list[float]()
    for probe in GRADIENT_PROBES:
        try:
            result = run_probe(engine, can, probe)
        except USER_EXCEPTIONS as error:
            message = error.message if isinstance(error, GradcheckError) else error_line(error)
            score.first_error = score.first_error or message
            score.ran, factors = score.ran + 1, [*factors, float("inf")]
            continue
        if result is None:
            continue
        factor = factor_of(result)
        factors.append(factor)
        score.ran, score.right = score.ran + 1, score.right + (factor == 1 and not result.mutated)
        score.mutated = score.mutated or result.mutated
        score.tensors = score.tensors or result.tensors
    score.factors = tuple(factors)
    return score
