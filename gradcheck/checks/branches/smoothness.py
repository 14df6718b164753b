"""Smooth graphs: all ops are differentiable, so there are no kinks."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck.autograd.modes import quiet
from gradcheck.autograd.op import Op
from gradcheck.autograd.operators import Operators
from gradcheck.engines.recording import convert
from gradcheck.errors import GradcheckError
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.problem import Problem


def is_smooth(problem: Problem) -> bool:
    """Return whether all ops applied to inputs are analytic, without kinks."""
    met: set[Op] = set()
    names: dict[str, Any] = {**problem.sizes, **problem.constants}
    names |= {name: _OpRecordingArray(array, met) for name, array in problem.inputs.items()}
    try:
        with quiet():
            for name, claim in problem.case.graph.items():
                names[name] = evaluate(claim.expr, names)
    except (GradcheckError, TypeError, ValueError):
        return False
    return all(op.analytic and not op.kinks for op in met)


class _OpRecordingArray(Operators):
    """An array that records the ops that it goes through."""

    __slots__ = ("array", "met")

    def __init__(self, array: np.ndarray, met: set[Op]) -> None:
        self.array, self.met = array, met

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def ndim(self) -> int:
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype:
        return self.array.dtype

    @classmethod
    def __apply_op__(cls, op: Op, args: tuple[Any, ...]) -> Any:
        found: list[set[Op]] = []

        def plain(value: _OpRecordingArray) -> np.ndarray:
            found.append(value.met)
            return value.array

        result = op.compute(tuple(convert(arg, _OpRecordingArray, plain) for arg in args))
        found[0].add(op)
        return _wrap(result, found[0])


def _wrap(value: Any, met: set[Op]) -> Any:
    if isinstance(value, tuple):
        return tuple(_wrap(part, met) for part in value)
    return _OpRecordingArray(np.asarray(value), met)
