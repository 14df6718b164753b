"""The gradient of one tensor as entries of the graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gradcheck.language.case import Case, Claim, Step
from gradcheck.language.expr.nodes import Call, Expr, Gradient, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import gradient_names, rewrite
from gradcheck.language.problem import Problem
from gradcheck.language.symbolic.symbolic_gradients import derive_gradients


def gradients_of(problem: Problem, root: str, wanted: Iterable[str] | None = None) -> dict[str, Expr]:
    """Return the gradients of a one-element root, those that others use first.

    All, or only the `wanted` and those that they use; none for a tensor that the root does not depend on. Raises
    NonScalarBackward, NoGradRequired, Unsupported."""
    case = replace(problem.case, steps=(Step("backward", roots={root: None}),))
    derived = derive_gradients(replace(problem, case=case, seeds=({root: None},), forwards=({},)), most=None)
    return _uses_first(derived, derived if wanted is None else wanted)


def _uses_first(derived: Mapping[str, Expr], wanted: Iterable[str]) -> dict[str, Expr]:
    found: dict[str, Expr] = {}
    stack = [name for name in wanted if name in derived][::-1]
    while stack:
        name = stack[-1]
        missing = [one for one in gradient_names(derived[name]) if one not in found and one != name]
        if missing and name not in found:
            stack += missing
            continue
        stack.pop()
        found.setdefault(name, derived[name])
    return found


def with_gradients(case: Case, problem: Problem, root: str, wanted: Iterable[str]) -> tuple[Case, dict[str, str]]:
    """Return the case with entries for a root's gradients, and their names."""
    taken = {*problem.sizes, *case.dims, *case.inputs, *case.constants, *case.graph, *case.let}
    graph, names = dict(case.graph), dict[str, str]()
    wanted = list(dict.fromkeys(wanted))
    for tensor, expr in gradients_of(problem, root, wanted).items():
        names[tensor] = _free_name(f"d_{root}_d_{tensor}", taken)
        graph[names[tensor]] = Claim.of(with_names(expr, names))
    for tensor in wanted:
        if tensor not in names:
            names[tensor] = _free_name(f"d_{root}_d_{tensor}", taken)
            graph[names[tensor]] = Claim.of(Call("zeros_like", (tensor_expr(tensor),)))
    return replace(case, graph=graph), names


def with_names(expr: Expr, names: Mapping[str, str]) -> Expr:
    """Return the expression with entries in place of gradients."""
    return rewrite(expr, lambda node: Name(names[node.name]) if isinstance(node, Gradient) else node)


def tensor_expr(tensor: str) -> Expr:
    """Return the expression of `x` or `m[0]`."""
    return parse(tensor)


def _free_name(name: str, taken: set[str]) -> str:
    """Return a name that no tensor has, and take it."""
    name = name.replace("[", "_").replace("]", "")
    while name in taken:
        name += "_"
    taken.add(name)
    return name
