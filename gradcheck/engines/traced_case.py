"""A case on the core, with a trace of every backward pass and labels.

Tensors are labelled by the case's names, and unnamed ones by their expressions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gradcheck.autograd.tensor import Tensor
from gradcheck.autograd.trace import Received, Trace, trace
from gradcheck.engines.base import as_tensor_error
from gradcheck.engines.core import Core
from gradcheck.engines.graph_run import GraphRun
from gradcheck.engines.recording import map_nested
from gradcheck.errors import GradcheckError, TensorError, Unsupported
from gradcheck.language.case import Case, Step
from gradcheck.language.expr.nodes import Expr, Name
from gradcheck.language.expr.printer import to_text
from gradcheck.language.problem import Problem
from gradcheck.language.symbolic.formula import Formula, call_expr

#: A longer expression of an unnamed tensor is written `…` inside of others.
MAX_PARTS = 9
_ELLIPSIS = Name("…")


@dataclass(frozen=True, slots=True)
class Label:
    """A tensor's name or expression.

    Without a name, `inside` is the graph entry that the tensor is a part of. `expression` is empty for a leaf. `op`
    is the name of its last op. `number` counts equal expressions in one entry."""

    name: str
    expression: str = ""
    op: str = ""
    inside: str = ""
    number: int = 1

    @property
    def text(self) -> str:
        """`y`, or "`x + x` inside y"."""
        if self.name:
            return self.name
        again = f" ({self.number})" if self.number > 1 else ""
        return f"`{self.expression or 'a constant'}`{again}" + (f" inside {self.inside}" if self.inside else "")


@dataclass(frozen=True, slots=True)
class TracedStep:
    """One step of a case, with the trace of a backward pass."""

    index: int
    step: Step
    labels: Mapping[Tensor, Label] = field(default_factory=dict)
    trace: Trace | None = None
    error: TensorError | None = None

    @property
    def is_unexpected(self) -> bool:
        return self.error is not None and self.error.kind != self.step.raises


@dataclass(frozen=True, slots=True)
class TracedCase:
    """All steps of a case, or the error at the graph entry `failed_at`."""

    case: Case
    steps: tuple[TracedStep, ...] = ()
    error: TensorError | None = None
    failed_at: str = ""


def trace_case(problem: Problem) -> TracedCase:
    """Run the graph and every step, as the engine `core` does."""
    core = _TracingCore()
    with core.session(problem.dtype), np.errstate(all="ignore"):
        run = GraphRun(core, problem)
        try:
            run.run_graph()
        except GradcheckError as error:
            return TracedCase(problem.case, (), as_tensor_error(error), run.failed_at)
        return TracedCase(problem.case, tuple(_steps(core, run)))


def _steps(core: _TracingCore, run: GraphRun) -> Iterator[TracedStep]:
    for index, step in enumerate(run.problem.case.steps):
        core.last = None
        raised = run.run_step(index, step)
        seen = core.last
        labels: dict[Tensor, Label] = _Names(run.tensors, run.constants).labels_of(seen) if seen else {}
        traced = TracedStep(index, step, labels, seen, raised)
        yield traced
        if traced.is_unexpected:
            return


class _TracingCore(Core):
    """The core, with the trace of its last backward pass."""

    last: Trace | None = None

    def backward(self, roots: list[Tensor], seeds: list[np.ndarray | None], retain_graph: bool) -> None:
        self.last = trace(roots, seeds, retain_graph=retain_graph)
        if self.last.error is not None:
            raise self.last.error


# Labels --------------------------------------------------------------------------------------------


class _Names:
    """The tensors of one evaluation of a graph, by the case's names."""

    def __init__(self, tensors: Mapping[str, Tensor], constants: Mapping[str, Tensor]) -> None:
        self.names: dict[Tensor, str] = {}
        for name, tensor in (*tensors.items(), *constants.items()):
            self.names.setdefault(tensor, name)
        self.owners = _owners(self.names)
        self._written: dict[Tensor, Expr] = {}

    def labels_of(self, trace: Trace) -> dict[Tensor, Label]:
        """Return a label for every tensor of the pass."""
        touched: dict[Tensor, None] = dict.fromkeys(trace.roots)
        for event in trace.events:
            touched.setdefault(event.tensor)
            if isinstance(event, Received) and event.sender is not None:
                touched.setdefault(event.sender)
        if trace.freed is not None:
            touched.setdefault(trace.freed)
        alike: dict[tuple[str, str], int] = {}
        return {tensor: self._label(tensor, alike) for tensor in touched}

    def _label(self, tensor: Tensor, alike: dict[tuple[str, str], int]) -> Label:
        name, op = self.names.get(tensor, ""), tensor.creation_op
        if op is None:
            return Label(name)
        expression = to_text(self._expression(tensor))
        if name:
            return Label(name, expression, op.name)
        owner = self.owners.get(tensor, "").partition("[")[0]
        number = alike[owner, expression] = alike.get((owner, expression), 0) + 1
        return Label("", expression, op.name, owner, number)

    def _expression(self, tensor: Tensor) -> Expr:
        """Return the tensor's expression in named ones; without recursion."""
        stack = [tensor]
        while stack:
            top = stack[-1]
            missing = [c for c in top.creators if c.creation_op and c not in self.names and c not in self._written]
            if missing:
                stack += missing
                continue
            stack.pop()
            if top not in self._written:
                self._written[top] = self._write(top)
        return self._written[tensor]

    def _write(self, tensor: Tensor) -> Expr:
        op = tensor.creation_op
        assert op is not None
        given = tensor.arguments  # an operator omits defaults at their end
        args = (*given, *(parameter.default for parameter in op.parameters[len(given) :]))
        try:
            return call_expr(op, tuple(map_nested(arg, self._argument) for arg in args))
        except Unsupported:  # an unnamed array that is too large
            return Name(f"{op.name}(…)")

    def _argument(self, value: Any) -> Any:
        if isinstance(value, Tensor):
            return Formula(value.data, self._inner_expression(value))
        if isinstance(value, np.ndarray) and value.ndim:
            return Formula(value, _ELLIPSIS)
        return value

    def _inner_expression(self, tensor: Tensor) -> Expr:
        """Return a tensor's expression inside of another one."""
        name = self.names.get(tensor)
        if name:
            return Name(name)
        if tensor.creation_op is None:
            is_number = not tensor.data.ndim and tensor.data.dtype.kind == "f"
            return Name(f"{tensor.data.item():g}") if is_number else _ELLIPSIS
        expr = self._written[tensor]
        is_long = any(count > MAX_PARTS for count, _ in enumerate(expr.walk(), 1))
        return _ELLIPSIS if is_long else expr


def _owners(names: Mapping[Tensor, str]) -> dict[Tensor, str]:
    """Return the first graph entry that each unnamed tensor leads to."""
    owners: dict[Tensor, str] = {}
    for tensor, name in names.items():
        stack = [tensor]
        while stack:
            for creator in stack.pop().creators:
                if creator.creation_op and creator not in names and creator not in owners:
                    owners[creator] = name
                    stack.append(creator)
    return owners
