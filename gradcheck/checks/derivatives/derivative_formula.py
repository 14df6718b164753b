"""Derive a Jacobian or a Hessian as a formula, from that of a gradient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.checks.derivation import explain
from gradcheck.checks.scope import Scope
from gradcheck.engines.core import Core
from gradcheck.errors import Unsupported
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.expr.nodes import Attribute, Call, Derivative, Expr, Gradient, Literal, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.terms import signed_terms, total_of
from gradcheck.language.expr.traverse import rewrite, substitute
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.symbolic.linear_maps import matrix_of

#: The name of the gradient that is differentiated again, in the graph.
_FIRST = "first_gradient_"
#: Terms below this part of the largest are 0 but for rounding.
_NOTHING = 1e-12


def derived_formula(case: Case, term: Derivative, seed: int | None) -> Expr:
    """Return the formula of a derivative. Raises GradcheckError."""
    bare, root, rows, by = case.without_claims(), term.tensors[0], term.tensors[-2], term.tensors[-1]
    if term.kind == "hessian":
        rows = term.tensors[1]
        step = Step("backward", roots={root: None})
        first = _gradient(replace(bare, steps=(step,)), rows, seed)
        bare, root = replace(bare, graph={**bare.graph, _FIRST: Claim.of(first)}), _FIRST
    elif root == by:
        rows = root
    problem = draw(
        replace(bare, steps=(Step("backward", roots={root: Value(expr=parse(f"randn_like({root})"))}),)), seed
    )
    evaluation = Core().evaluate(problem)
    if not evaluation.states:
        raise Unsupported(f"the graph cannot be evaluated: {evaluation.error}")
    scope = Scope(problem, evaluation.states[-1])

    def shape_of(expr: Expr) -> tuple[int, ...]:
        return tuple(getattr(scope.value_of(expr), "shape", ()))

    if root == by:
        formula: Expr = Gradient(root)
    elif scope.state.gradients.get(by) is None:
        words = {size: Name(word) for word, size in reversed(list(problem.sizes.items()))}
        sizes = (*shape_of(parse(rows)), *shape_of(parse(by)))
        return Call("zeros", tuple(words.get(size, Literal(size)) for size in sizes)) if sizes else Literal(0)
    else:
        formula = _gradient(problem.case, by, seed)
    found = _without_zeros(matrix_of(formula, root, by, shape_of, problem.sizes.values()), scope)
    return _with_names_of_case(found, root, rows, problem, scope)


def _gradient(case: Case, tensor: str, seed: int | None) -> Expr:
    """Return a gradient as a closed formula. Raises Unsupported."""
    found = explain(case, seed, expand=True)
    known = {name: Gradient(name) for name in found.incoming} | found.without_steps()
    if tensor not in known:
        raise Unsupported(f"the gradient of {tensor} is not derived")
    return known[tensor]


def _without_zeros(total: Expr, scope: Scope) -> Expr:
    """Return a sum without the terms that are 0."""
    terms = [(term, sign, np.max(np.abs(scope.value_of(term)), initial=0.0)) for term, sign in signed_terms(total)]
    kept = [(term, sign) for term, sign, size in terms if size > _NOTHING * max(size for *_, size in terms)]
    return total_of(kept) if 0 < len(kept) < len(terms) else total


def _with_names_of_case(expr: Expr, root: str, rows: str, problem: Problem, scope: Scope) -> Expr:
    """Return the expression in names of the case alone.

    A word such as `n` stands for a size that no other has, and what the first gradient is for its name."""
    listed = list(problem.sizes.values())
    words = {size: Name(word) for word, size in problem.sizes.items() if listed.count(size) == 1}

    def change(node: Expr) -> Expr:
        if isinstance(node, Gradient) and node.name == root:
            return parse(rows)
        is_size = isinstance(node, Call) and node.op == "getitem" and isinstance(node.args[0], Attribute)
        is_size = is_size or (isinstance(node, Attribute) and node.name == "numel")
        return words.get(scope.value_of(node), node) if is_size and words else node

    written = {_FIRST: problem.case.graph[_FIRST].expr} if _FIRST in problem.case.graph else {}
    return rewrite(substitute(expr, written), change)
