"""Gradients of a case as formulas, by a reverse sweep over expressions.

The result is text of the case language: it can be printed, pasted into `formulas:` and parsed. Evaluated, it equals the
core's gradient bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, cast

import numpy as np

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import no_grad, using_default_dtype
from gradcheck.autograd.node import walk
from gradcheck.autograd.op import TABLE, Op
from gradcheck.autograd.pullback import shares
from gradcheck.autograd.sweep import sweep
from gradcheck.errors import NoGradRequired, NonScalarBackward, Unsupported
from gradcheck.language.case import Claim
from gradcheck.language.evaluation.evaluate import evaluate
from gradcheck.language.evaluation.scalar_arithmetic import ARITHMETIC
from gradcheck.language.expr.common_subexpressions import tree_sizes
from gradcheck.language.expr.nodes import Call, Expr, Gradient, Literal, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import fold, with_children
from gradcheck.language.problem import Problem, named_parts
from gradcheck.language.symbolic.formula import (
    Formula,
    SymbolicNumber,
    arithmetic,
    call_expr,
    numeric_value,
    symbolic_number,
    to_expr,
)

#: Larger formulas are not useful when written out.
MAX_NODES = 20_000


def derive_gradients(problem: Problem, *, expand: bool = False, most: int | None = MAX_NODES) -> dict[str, Expr]:
    """Return the gradient of every tensor that the last pass reaches, by name.

    Parts of a tuple are `m[0]`, `m[1]`. A formula uses the gradients of the tensor's children, `grad(child)`; with
    `expand`, names and the roots' incoming gradients alone. With `most=None` a formula may have any number of nodes;
    its repeated parts are one object, which `extract_steps` can name. Raises as the forward pass does, and Unsupported
    for a formula that cannot be written or has more than `most` nodes.
    """
    passes = [i for i, s in enumerate(problem.case.steps) if s.action == "backward"]
    if not passes:
        raise Unsupported("the case has no backward pass to derive gradients of")
    seeds = problem.seeds[passes[-1]]
    with using_default_dtype(dtypes.real_of(problem.dtype)), np.errstate(all="ignore"):
        formulas = _differentiate(_Graph(problem), seeds, expand)
    formulas = _inline_compared_values(formulas, problem.case.graph)
    if most is not None:
        name, count = max(tree_sizes(formulas).items(), key=lambda item: item[1], default=("", 0))
        if count > most:
            message = f"the gradient of {name} is a formula of {count:,} parts, more than {most:,}"
            raise Unsupported(message, hint="give parts of the graph names of their own")
    return formulas


def definitions(problem: Problem) -> dict[str, Expr]:
    """Return the expressions of all one-tensor entries, in ops with rules."""
    with using_default_dtype(dtypes.real_of(problem.dtype)), np.errstate(all="ignore"):
        return _Graph(problem).definitions


#: Ops whose result rounding decides.
_EQUAL = frozenset(("eq", "ne"))
#: Ops that move elements without computing.
_MOVING = frozenset(
    ("reshape", "view", "unsqueeze", "squeeze", "movedim", "transpose", "permute", "t", "mT", "getitem")
)


def _inline_compared_values(formulas: Mapping[str, Expr], graph: Mapping[str, Claim]) -> dict[str, Expr]:
    """Return the formulas, values compared for equality recomputed.

    The engine and the formula may differ in the last digits, which would decide `exp(x) == y` with `y: amax(exp(x))`.
    Linear in the number of distinct objects.
    """
    done: dict[int, tuple[Expr, tuple[Expr, bool]]] = {}
    defined: dict[int, tuple[Expr, Expr]] = {}

    def define(node: Expr, children: list[Expr]) -> Expr:
        if isinstance(node, Name) and node.name in graph:
            return graph[node.name].expr
        return with_children(node, children)

    def combine(node: Expr, parts: list[tuple[Expr, bool]]) -> tuple[Expr, bool]:
        """Return the node, and whether it is computed, not only moved."""
        children, computed = [part for part, _ in parts], any(is_computed for _, is_computed in parts)
        if isinstance(node, Call) and node.op in _EQUAL and computed:
            children = [fold(child, define, defined) for child in children]
        return with_children(node, children), computed or (isinstance(node, Call) and node.op not in _MOVING)

    return {name: fold(formula, combine, done)[0] for name, formula in formulas.items()}


class _FormulaHost:
    def call(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        are_numbers = all(isinstance(arg, (int, float)) for arg in args)
        if op.elementwise and are_numbers and any(isinstance(arg, SymbolicNumber) for arg in args):
            return _of_numbers(op, args)
        if op.name == "getitem" and isinstance(args[0], tuple):
            return args[0][args[1]]
        if op.name == "linalg.cross" or (op.name == "cross" and "dim" in kwargs):
            op = _cross_with_rules(op.name)
        result = op(*args, **kwargs)
        if args and result is args[0] and type(result) is Formula and result.requires_grad:
            return TABLE["mul"](result, 1)  # as in the core, a new tensor with its own gradient
        if isinstance(result, np.ndarray):  # from no tensor, such as `ones(2, 3)`
            return Formula(result, call_expr(op, op.bind(args, kwargs)))
        if isinstance(result, tuple) and any(isinstance(part, np.ndarray) for part in result):
            return _wrap_constant_results(result, call_expr(op, op.bind(args, kwargs)))
        return result

    def dtype(self, name: str) -> Any:
        return dtypes.BY_NAME[name]


@cache
def _cross_with_rules(name: str) -> Op:
    """Return a vector product with rules in vector products, not in rolls."""

    def rule(one: Any, other: Any, dim: Any, of: Any) -> Any:
        found = product(one, other, dim=dim)
        return found if tuple(found.shape) == tuple(of.shape) else TABLE["sum_to_size"](found, of.shape)

    rules = (lambda g, y, a, b, dim: rule(b, g, dim, a), lambda g, y, a, b, dim: rule(g, a, dim, b))
    product: Op = replace(TABLE[name], composite=False, rules=rules)
    return product


def _wrap_constant_results(parts: tuple[Any, ...], whole: Expr) -> tuple[Any, ...]:
    """Return an op's results, constant ones as formulas."""
    return tuple(
        Formula(part, Call("getitem", (whole, Literal(index)))) if isinstance(part, np.ndarray) else part
        for index, part in enumerate(parts)
    )


def _of_numbers(op: Op, args: tuple[Any, ...]) -> Any:
    """Return the result of an op on sizes, which is a number and no tensor."""
    if op.name in ARITHMETIC and len(args) == 2:
        return arithmetic(op.name, *args)
    return symbolic_number(np.asarray(op(*map(numeric_value, args))).item(), call_expr(op, op.bind(args, {})))


class _Graph:
    """The forward pass: every named tensor as a formula with its name."""

    def __init__(self, problem: Problem) -> None:
        self.tensors: dict[str, Formula] = {}
        self.names: dict[Formula, str] = {}
        self.definitions: dict[str, Expr] = {}
        scope: dict[str, Any] = {name: symbolic_number(size, Name(name)) for name, size in problem.sizes.items()}
        for name, array in problem.constants.items():
            scope[name] = Formula(array.copy(), Name(name))
        for name, array in problem.inputs.items():
            scope[name] = leaf = Formula(array.copy(), Name(name), requires_grad=dtypes.is_differentiable(array.dtype))
            self._note(name, leaf)
        for name, claim in problem.case.graph.items():
            scope[name] = evaluate(claim.expr, scope, _FormulaHost())
            for part, formula in named_parts(name, scope[name]):
                if isinstance(formula, Formula) and self._note(part, formula):
                    if part == name:
                        self.definitions[name] = formula.expr
                    formula.set_expr(Name(name) if part == name else parse(part))

    def _note(self, name: str, formula: Formula) -> bool:
        """Store a tensor, and return whether it had no name before."""
        self.tensors[name] = formula
        return self.names.setdefault(formula, name) == name


def _differentiate(graph: _Graph, seeds: Mapping[str, np.ndarray | None], expand: bool) -> dict[str, Expr]:
    found: dict[Formula, Expr] = {}

    def pull(tensor: Formula, gradient: Formula) -> list[tuple[Formula, Formula]]:
        found[tensor] = gradient.expr
        name = graph.names.get(tensor)
        if name is not None and not expand:
            gradient = Formula(gradient.data, Gradient(name))
        return _cotangent_shares(tensor, gradient)

    roots = [graph.tensors[name] for name in seeds]
    with no_grad():
        below = {creator for formula in walk(roots) for creator in formula.creators}
        starts = [_seed(name, root, seeds[name], root in below) for name, root in zip(seeds, roots, strict=True)]
        leaves = sweep(roots, starts, pull)
    found |= {leaf: gradient.expr for leaf, gradient in leaves.items()}
    return {name: found[tensor] for name, tensor in graph.tensors.items() if tensor in found}


def _seed(name: str, root: Formula, seed: np.ndarray | None, is_below: bool) -> Formula:
    """Return the incoming gradient: 1, or the one that the case gives.

    That has no other name than `grad(root)`. A root below another is written out, since there it is only a part of the
    gradient.
    """
    if not root.requires_grad:
        raise NoGradRequired(f"a backward pass from {name}, which requires no gradient")
    if seed is not None:
        array = (seed if root.dtype.kind == "c" else seed.real).astype(root.dtype)
        return Formula(array, to_expr(array) if is_below else Gradient(name))
    if root.data.size != 1:
        raise NonScalarBackward(f"a backward pass without a gradient from {name}, of shape {root.data.shape}")
    return cast(Formula, TABLE["ones_like"](root))


def _cotangent_shares(tensor: Formula, gradient: Formula) -> list[tuple[Formula, Formula]]:
    """Return each creator's share for each use; halves computed in float32."""
    if tensor.dtype not in dtypes.HALVES:
        return shares(tensor, gradient, tensor, tensor.arguments)
    found = shares(tensor, _to_float32(gradient), _to_float32(tensor), _to_float32(tensor.arguments))
    return [(a, s if s.dtype == a.dtype else TABLE["to"](s, a.dtype)) for a, s in found]


def _to_float32(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_to_float32(item) for item in value]
    is_half = type(value) is Formula and value.dtype in dtypes.HALVES
    return TABLE["to"](value, np.dtype(np.float32)) if is_half else value
