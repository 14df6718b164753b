"""A problem and an engine in double precision, to measure lower precision."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.dtypes import RAISED
from gradcheck.autograd.op import Op
from gradcheck.engines.base import TensorBackend
from gradcheck.language.case import Claim
from gradcheck.language.evaluation.host import Host
from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.expr.traverse import rewrite, with_children
from gradcheck.language.problem import Problem


class DoublePrecisionHost:
    """A host with double precision in place of every named dtype."""

    def __init__(self, host: Host) -> None:
        self._host = host

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._host.call(op, args, kwargs)

    def dtype(self, name: str) -> Any:
        return self._host.dtype(RAISED.get(name, name))


B = TypeVar("B", bound=TensorBackend)


def double_precision_backend(backend: B) -> B:
    """Return the backend with double precision everywhere."""
    other = copy(backend)
    other.host = DoublePrecisionHost(backend.host)
    return other


def double_precision_array(array: np.ndarray) -> np.ndarray:
    """Return a floating or complex array in double precision."""
    double = RAISED.get(array.dtype.name)
    return array.astype(double) if double else array


#: Ops that compare with a number, which libraries first round to the tensor's dtype.
_COMPARE = frozenset(("lt", "le", "gt", "ge", "eq", "ne", "clamp", "hardtanh", "threshold", "hardshrink", "softshrink"))


def double_precision_problem(problem: Problem) -> Problem:
    """Return the problem in double precision, with its own thresholds.

    At `float16(0.8)` a clamp at 0.8 has its kink."""
    double = RAISED.get(problem.dtype.name, problem.dtype.name)
    if double == problem.dtype.name:
        return problem

    def raise_all(arrays: Mapping[str, Any]) -> dict[str, Any]:
        return {name: None if array is None else double_precision_array(array) for name, array in arrays.items()}

    thresholds = dtypes.real_of(problem.dtype)
    graph = {name: _with_thresholds(claim, thresholds) for name, claim in problem.case.graph.items()}
    return replace(
        problem,
        case=replace(problem.case, graph=graph),
        inputs=raise_all(problem.inputs),
        constants=raise_all(problem.constants),
        seeds=tuple(map(raise_all, problem.seeds)),
        forwards=tuple(raise_all(arrays) for arrays in problem.forwards),
        dtype=dtypes.BY_NAME[double],
    )


def _with_thresholds(claim: Claim, dtype: np.dtype) -> Claim:
    """Return the entry with compared numbers rounded to a dtype."""

    def change(node: Expr) -> Expr:
        if not isinstance(node, Call) or node.op not in _COMPARE:
            return node
        return with_children(node, [_rounded(child, dtype) for child in node.children])

    expr = rewrite(claim.expr, change)
    return claim if expr is claim.expr else replace(claim, expr=expr)


def _rounded(node: Expr, dtype: np.dtype) -> Expr:
    """Return a number rounded, also behind a minus; other nodes unchanged."""
    if isinstance(node, Call) and node.op == "neg":
        return with_children(node, [_rounded(child, dtype) for child in node.children])
    if isinstance(node, Literal) and isinstance(node.value, float):
        return Literal(float(np.asarray(node.value).astype(dtype)))
    return node
