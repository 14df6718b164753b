"""Every op of the table: its rule, called on formulas, says in the case language what it computes on arrays."""

from __future__ import annotations

import numpy as np
import pytest

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import TABLE, Op
from gradcheck.engines.core import Core
from gradcheck.errors import NoGradRequired, Place
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call, Expr, Name, Sequence
from gradcheck.language.expr.parser import parse
from gradcheck.language.problem import Problem
from gradcheck.language.random import RANDOM, Drawing, stream
from gradcheck.language.symbolic.derive import derive
from tests.language.symbolic.derived import check


def samples(op: Op) -> tuple[str, ...]:
    """The op's own samples, or an elementwise call within its domain."""
    if op.samples or not op.elementwise:
        return op.samples
    count = sum(p.required for p in op.parameters)
    parts = [op.domain[min(i, len(op.domain) - 1)] for i in range(count)]
    return (f"{op.name}({', '.join(f'uniform({low}, {high}, [2, 3])' for low, high in parts)})",)


CALLS = [text for op in TABLE.values() if op.name not in RANDOM for text in samples(op)]


def named(expr: Expr, inputs: dict[str, np.ndarray], seed: int) -> Expr:
    """The same with a name for each random tensor."""
    if isinstance(expr, Call) and expr.op in RANDOM:
        name = f"x{len(inputs)}"
        inputs[name] = np.asarray(evaluate(expr, {}, Drawing(stream(seed, name), np.dtype(np.float64))))
        return Name(name)
    if isinstance(expr, Call):
        kwargs = tuple((key, named(value, inputs, seed)) for key, value in expr.kwargs)
        return Call(expr.op, tuple(named(arg, inputs, seed) for arg in expr.args), kwargs)
    if isinstance(expr, Sequence):
        return Sequence(tuple(named(item, inputs, seed) for item in expr.items), expr.is_tuple)
    return expr


def problem_of(text: str, roots: dict[str, np.ndarray] | None = None, seed: int = 0) -> Problem:
    """The call as a graph; `roots` are where the backward pass starts, nowhere unless given."""
    drawn: dict[str, np.ndarray] = {}
    expr = named(parse(text), drawn, seed)
    step = Step("backward", roots=dict.fromkeys(roots)) if roots else Step("forward")
    case = Case("test::op", "op", Place(), {}, {"out": Claim(text, expr)}, (step,))
    inputs = {name: a for name, a in drawn.items() if dtypes.is_differentiable(a.dtype)}
    constants = {name: a for name, a in drawn.items() if name not in inputs}
    return Problem(case, inputs, constants, {}, (roots or {},), ({},))


@pytest.mark.parametrize("text", CALLS)
def test_the_formula_of_a_sample_is_its_gradient(text: str) -> None:
    """For every output that gradients can flow from, with a random incoming gradient; and so it is for other numbers
    than those it was derived from."""
    evaluation = Core().evaluate(problem_of(text))
    assert evaluation.error is None
    generator = np.random.default_rng(5)
    for output, value in evaluation.states[-1].values.items():
        if output.startswith("out"):
            roots = {output: generator.standard_normal(value.shape).astype(value.dtype)}
            other = problem_of(text, roots, seed=1)
            try:
                formulas = derive(problem_of(text, roots))
            except NoGradRequired:
                assert Core().evaluate(other).error is not None
            else:
                check(formulas, other)
