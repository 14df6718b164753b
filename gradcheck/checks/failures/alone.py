"""Evidence about one op's rule: the op alone, at its own numbers and at others, in the engine and in the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from gradcheck.checks.claims.operations import WrongNode, nodes_of, positions
from gradcheck.checks.failures.diagnosis import Evidence, Rule
from gradcheck.checks.points import nudged
from gradcheck.engines.base import Application, Engine
from gradcheck.engines.recording import arrays, rebuild
from gradcheck.errors import GradcheckError

#: At how many points besides its own an op is tried.
MORE_POINTS = 2
#: Incoming gradients grow from point to point, so that what is cut off to integers is not taken for zeros.
_LARGER = 8

Cotangents = Sequence[np.ndarray | None]


def evidence_of(
    wrong: WrongNode, reference: Engine, dtype: np.dtype, others: Callable[[int], Sequence[Application]]
) -> Iterator[Evidence]:
    """One point after another. `others(k)` are the applications of the same graph at its k-th other point."""
    ask = asking(reference, dtype)
    node = wrong.node
    yield from _point(wrong.index, node.application, node.cotangents, wrong.mine.gradients, ask)
    for number in range(1, MORE_POINTS + 1):
        application = _counterpart(wrong, others(number), number)
        (node,) = nodes_of([application], 7919 * number + wrong.number)
        cotangents = tuple(None if c is None else _LARGER**number * c for c in node.cotangents)
        (mine,) = wrong.engine.pull_back([application], [cotangents], dtype)
        if not mine.error:
            yield from _point(wrong.index, application, cotangents, mine.gradients, ask)


def _point(
    index: int,
    application: Application,
    cotangents: tuple[np.ndarray | None, ...],
    gradients: Sequence[np.ndarray | None],
    ask: Callable[[Application, Cotangents], Sequence[np.ndarray | None]],
) -> Iterator[Evidence]:
    """The evidence at one point; none where the reference has nothing to say."""
    wants = tuple(ask(replace(application, recorded=None), cotangents))
    places = positions(application)
    if not index < len(places) or not index < len(gradients) or not wants:
        return
    rule = Rule(application, places[index], index, cotangents, wants, ask)
    want = wants[index]
    yield Evidence(gradients[index], np.zeros_like(rule.tensor) if want is None else want, rule=rule)


def asking(reference: Engine, dtype: np.dtype) -> Callable[[Application, Cotangents], Sequence[np.ndarray | None]]:
    """The reference as somebody who can be asked about one op; who says nothing where it would raise."""

    def ask(application: Application, cotangents: Cotangents) -> Sequence[np.ndarray | None]:
        try:
            (found,) = reference.pull_back([application], [cotangents], dtype)
        except (GradcheckError, ValueError, TypeError, IndexError):  # a question that makes no sense
            return ()
        return () if found.error else found.gradients

    return ask


def _counterpart(wrong: WrongNode, applications: Sequence[Application], number: int) -> Application:
    """The same op of the graph at another point; at nudged arguments where that point has none."""
    own = wrong.node.application
    if wrong.number < len(applications):
        found = applications[wrong.number]
        if found.op is own.op and found.owner == own.owner and found.outputs == own.outputs:
            return found
    generator = np.random.default_rng([number, wrong.number])
    moved = iter([nudged(array, generator) for array in arrays(own.args, own.kwargs)])
    args, kwargs = rebuild(own.args, own.kwargs, lambda _: next(moved), np.dtype)
    return replace(own, args=args, kwargs=kwargs, recorded=None)
