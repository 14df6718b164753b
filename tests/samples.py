"""Calls of every op of the table, as text, and as expressions whose random tensors have names."""

from __future__ import annotations

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.op import TABLE, Op
from gradcheck.errors import Place
from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.expr.nodes import Call, Expr, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import rewrite
from gradcheck.language.problem import Problem
from gradcheck.language.random_streams import RANDOM_OPS, RandomHost, stream


def samples(op: Op) -> tuple[str, ...]:
    """The op's own samples, or an elementwise call within its domain."""
    if op.samples or not op.elementwise:
        return op.samples
    count = sum(p.required for p in op.parameters)
    parts = [op.domain[min(i, len(op.domain) - 1)] for i in range(count)]
    return (f"{op.name}({', '.join(f'uniform({low}, {high}, [2, 3])' for low, high in parts)})",)


#: All of them, but for random ops themselves.
CALLS = [text for op in TABLE.values() if op.name not in RANDOM_OPS for text in samples(op)]
#: Of which op each is.
OP_OF = {text: op.name for op in TABLE.values() if op.name not in RANDOM_OPS for text in samples(op)}


def named(text: str) -> tuple[Expr, dict[str, Expr]]:
    """The expression with a name for each random tensor, and what makes each."""
    creators: dict[str, Expr] = {}

    def change(node: Expr) -> Expr:
        if not (isinstance(node, Call) and node.op in RANDOM_OPS):
            return node
        name = f"x{len(creators)}"
        creators[name] = node
        return Name(name)

    return rewrite(parse(text), change), creators


def drawn(text: str, seed: int = 0) -> tuple[Expr, dict[str, np.ndarray]]:
    """The same, with the tensors drawn in double precision."""
    expr, creators = named(text)
    arrays = {}
    for name, creator in creators.items():
        arrays[name] = np.asarray(evaluate(creator, {}, RandomHost(stream(seed, name), np.dtype(np.float64))))
    return expr, arrays


def problem_of(text: str, roots: dict[str, np.ndarray] | None = None, seed: int = 0) -> Problem:
    """The call as a graph; `roots` are where the backward pass starts, nowhere unless given."""
    expr, arrays = drawn(text, seed)
    step = Step("backward", roots=dict.fromkeys(roots)) if roots else Step("forward")
    case = Case("test::op", "op", Place(), {}, {"out": Claim(text, expr)}, (step,))
    inputs = {name: a for name, a in arrays.items() if dtypes.is_differentiable(a.dtype)}
    constants = {name: a for name, a in arrays.items() if name not in inputs}
    return Problem(case, inputs, constants, {}, (roots or {},), ({},))
