"""Derive a Jacobian or a Hessian as a formula, and check it as a claim."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gradcheck.autograd import dtypes
from gradcheck.autograd.modes import quiet, using_default_dtype
from gradcheck.checks.derivation import explain
from gradcheck.checks.options import Engines, Options
from gradcheck.checks.pipeline import check_case
from gradcheck.checks.scope import Scope
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError, InvalidCase, Unsupported
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim, Step, Value
from gradcheck.language.expr.nodes import Attribute, Call, Derivative, Expr, Gradient, Literal, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.printer import to_text
from gradcheck.language.expr.traverse import rewrite, substitute
from gradcheck.language.problem import Problem
from gradcheck.language.sampling import draw
from gradcheck.language.suggest import did_you_mean
from gradcheck.language.symbolic.linear_maps import matrix_of
from gradcheck.language.trial_draws import with_trials
from gradcheck.notebook_repr import NotebookRepr

#: The name of the gradient that is differentiated again, in the graph.
_FIRST = "first_gradient_"


@dataclass(frozen=True, slots=True)
class ExplainedDerivative(NotebookRepr):
    """A derivative as a formula; `proof` is its certificate, if it is proved."""

    case: Case
    term: Derivative
    expr: Expr | None = None
    shape: tuple[int, ...] = ()
    points: int = 0  # at which it holds
    proof: Mapping[str, Any] | None = None
    why_not: Fact | None = None  # why there is none


def explain_derivative(case: Case, term: Derivative, seed: int | None = None) -> ExplainedDerivative:
    """Return the formula, if it is found and holds as a claim.

    Raises InvalidCase for a tensor that the case does not have."""
    known = [*case.inputs, *case.graph]
    for tensor in term.tensors:
        if tensor.partition("[")[0] not in known:
            raise InvalidCase(f"the case has no tensor {tensor}", place=case.place, hint=did_you_mean(tensor, known))
    with using_default_dtype(dtypes.real_of(dtypes.BY_NAME[case.dtype])), quiet():
        try:
            expr = _derived(case, term, seed)
            return _checked(case, term, expr, seed)
        except (GradcheckError, InvalidCase) as error:
            return ExplainedDerivative(case, term, why_not=fact("said", text=str(error)))


def _derived(case: Case, term: Derivative, seed: int | None) -> Expr:
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
    if shape_of(Gradient(root)):
        found = matrix_of(formula, root, shape_of)
    else:
        found = _tidy(rewrite(formula, lambda node: Literal(1) if node == Gradient(root) else node))
    return _with_names_of_case(found, root, rows, problem)


def _gradient(case: Case, tensor: str, seed: int | None) -> Expr:
    """Return a gradient as a closed formula. Raises Unsupported."""
    found = explain(case, seed, expand=True)
    written = dict[str, Expr]()
    for name, expr in found.let.items():
        written[name] = substitute(expr, written)
    for formula in found.formulas:
        if formula.tensor == tensor:
            return substitute(formula.expr, written)
    if tensor in found.incoming:
        return Gradient(tensor)
    raise Unsupported(f"the gradient of {tensor} is not derived")


def _tidy(expr: Expr) -> Expr:
    """Return the expression without factors of 1."""

    def change(node: Expr) -> Expr:
        if isinstance(node, Call) and node.op == "mul" and Literal(1) in node.args:
            return node.args[1 if node.args[0] == Literal(1) else 0]
        return node

    return rewrite(expr, change)


def _with_names_of_case(expr: Expr, root: str, rows: str, problem: Problem) -> Expr:
    """Return the expression in names of the case alone.

    A word such as `n` stands for a size, and what the first gradient is for its name."""
    words = {size: Name(word) for word, size in reversed(list(problem.sizes.items()))}
    seed = problem.seeds[0][root]

    def change(node: Expr) -> Expr:
        if isinstance(node, Gradient) and node.name == root:
            return parse(rows)
        is_size = isinstance(node, Call) and node.op == "getitem" and isinstance(node.args[0], Attribute)
        if is_size and seed is not None and seed.ndim == 1 and seed.size in words:
            return words[seed.size]
        return node

    written = {_FIRST: problem.case.graph[_FIRST].expr} if _FIRST in problem.case.graph else {}
    return rewrite(substitute(expr, written), change)


def _checked(case: Case, term: Derivative, expr: Expr, seed: int | None) -> ExplainedDerivative:
    """Return the formula as read back from its text, if the claim holds."""
    claim = Claim.of(parse(to_text(expr)))
    of, by = term.tensors[0], ", ".join(term.tensors[1:])
    section: dict[str, Any] = {f"{term.kind}s": {of: {by: (claim,)}}}
    stated = replace(with_trials(case.without_claims()), **section, xfail=None, implementations=())
    core = Core()
    found = check_case(stated, Options(engines=("core",), reference="core", seed=seed), Engines((core,), core))
    held = [c for c in found.comparisons if c.what.is_about_derivative and c.formula]
    if not held or any(c.status != "passed" for c in held):
        return ExplainedDerivative(case, term, why_not=fact("derived_formula_is_wrong", formula=claim.text))
    return ExplainedDerivative(case, term, claim.expr, held[0].shape, len(held), held[0].certificate)
