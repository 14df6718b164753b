"""A core with a mistake in it: its engine computes a record's function by one op that has the record's rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.peers.record import Record
from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.signature import Parameter
from gradcheck.autograd.tensor import Tensor
from gradcheck.engines.base import Application, Cotangents, Evaluation, Pullback, State
from gradcheck.engines.core import Core, CoreHost
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call, Expr
from gradcheck.language.problem import Problem


class Planted(Core):
    """gradcheck's own core, but for one function. Where the function is one op of the table, that op is wrong also
    when it is tried alone."""

    name = "planted"

    def __init__(self, record: Record) -> None:
        super().__init__()
        self._planted = _op(record)
        expr = record.forward_expr
        if isinstance(expr, Call) and not any(isinstance(argument, Call) for argument in expr.args):
            self.host = _Host(TABLE[expr.op], self._planted)

    def evaluate(self, problem: Problem, *_: object, **__: object) -> Evaluation:
        """The only entry of the graph, and its one backward pass."""
        with self.session(problem.dtype):
            leaves = {name: self.leaf(array, True) for name, array in problem.inputs.items()}
            out = self._planted(*leaves.values(), *problem.constants.values())
            out.retain_grad()
            self.backward([out], [problem.seeds[0]["out"]], True)
        tensors = {**leaves, "out": out}
        gradients = {name: None if tensor.grad is None else tensor.grad.data for name, tensor in tensors.items()}
        values = {name: tensor.data for name, tensor in tensors.items()}
        return Evaluation(self.name, (State({**problem.constants, **values}, gradients),))

    def pull_back(
        self, applications: Sequence[Application], cotangents: Sequence[Cotangents], dtype: np.dtype
    ) -> list[Pullback]:
        """What the right core has recorded is not taken for this one's."""
        return super().pull_back([replace(a, recorded=None) for a in applications], cotangents, dtype)


class _Host(CoreHost):
    """Calls one op in place of another."""

    def __init__(self, right: Op, wrong: Op) -> None:
        self._right, self._wrong = right, wrong

    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Of the right op only the tensors are handed on; what it is told besides is in the wrong one's text."""
        if op is self._right:
            return self._wrong(*(argument for argument in args if isinstance(argument, Tensor)))
        return super().call(op, args, kwargs)


def _op(record: Record) -> Op:
    names = (*record.inputs, *record.constants)

    def forward(*arrays: Any) -> Any:
        return evaluate(record.forward_expr, dict(zip(names, arrays, strict=True)))

    def rule(expr: Expr, g: Any, out: Any, *arrays: Any) -> Any:
        return evaluate(expr, {**dict(zip(names, arrays, strict=True)), "g": g, "out": out})

    return Op(
        name="planted",
        forward=forward,
        parameters=tuple(Parameter(name) for name in names),
        rules=tuple(partial(rule, expr) for expr in record.backward_exprs),
    )
