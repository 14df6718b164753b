"""Evidence about one op's rule: the op alone, at its own numbers and at others, in the engine and in the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gradcheck.checks.claims.operations import operations_of, positions
from gradcheck.checks.failures.diagnosis.evidence import Evidence, Rule
from gradcheck.checks.failures.evidence import MORE_POINTS
from gradcheck.checks.points import scaled_array
from gradcheck.checks.result import Operation, WrongOperation
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError
from gradcheck.language.random import stream

#: Incoming gradients grow from point to point, so that what is cut off to integers is not taken for zeros.
_LARGER = 8

Cotangents = Sequence[np.ndarray | None]


def evidence_of_rule(
    wrong: WrongOperation, reference: Engine, dtype: np.dtype, others: Callable[[int], Sequence[Application]]
) -> Iterator[Evidence]:
    """One point after another. `others(k)` are the applications of the same graph at its k-th other point."""
    ask = asking(reference, dtype)
    yield from _at(wrong.operation, wrong.index, wrong.mine.gradients, ask)
    for number in range(1, MORE_POINTS + 1):
        application = _counterpart(wrong, others(number), number)
        (drawn,) = operations_of([application], 7919 * number + wrong.number)
        cotangents = tuple(None if c is None else _LARGER**number * c for c in drawn.cotangents)
        (mine,) = wrong.engine.pull_back([application], [cotangents], dtype)
        if not mine.error:
            yield from _at(Operation(application, cotangents), wrong.index, mine.gradients, ask)


def _at(
    operation: Operation,
    index: int,
    gradients: Sequence[np.ndarray | None],
    ask: Callable[[Application, Cotangents], Sequence[np.ndarray | None]],
) -> Iterator[Evidence]:
    """The evidence at one point; none where the reference has nothing to say."""
    application, cotangents = operation.application, operation.cotangents
    wants = tuple(ask(replace(application, recorded=None), cotangents))
    places = positions(application)
    if not index < len(places) or not index < len(gradients) or not wants:
        return
    rule = Rule(application, places[index], index, cotangents, wants, ask)
    want = wants[index]
    yield Evidence(gradients[index], np.zeros_like(rule.tensor) if want is None else want, rule=rule)


def asking(reference: Engine, dtype: np.dtype) -> Callable[[Application, Cotangents], Sequence[np.ndarray | None]]:
    """The reference, as a function of one op and its incoming gradients; nothing where it would raise."""

    def ask(application: Application, cotangents: Cotangents) -> Sequence[np.ndarray | None]:
        try:
            (found,) = reference.pull_back([application], [cotangents], dtype)
        except (GradcheckError, ValueError, TypeError, IndexError):  # a question that makes no sense
            return ()
        return () if found.error else found.gradients

    return ask


def _counterpart(wrong: WrongOperation, applications: Sequence[Application], number: int) -> Application:
    """The same op of the graph at another point; at scaled arguments where that point has none."""
    own = wrong.application
    if wrong.number < len(applications):
        found = applications[wrong.number]
        if found.op is own.op and found.owner == own.owner and found.outputs == own.outputs:
            return found
    generator = stream(wrong.number, "counterpart", number)
    moved = iter([scaled_array(array, generator) for array in arrays(own.args, own.kwargs)])
    args, kwargs = rebuild(own.args, own.kwargs, lambda _: next(moved), np.dtype)
    return replace(own, args=args, kwargs=kwargs, recorded=None)
