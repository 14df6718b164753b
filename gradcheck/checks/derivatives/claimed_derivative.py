"""Claims of Jacobians and Hessians, and a case that states them.

It states them as formulas of gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from gradcheck.autograd.dtypes import wide
from gradcheck.checks.derivatives.entry_mistakes import ALIKE, Entries
from gradcheck.checks.documented_functions import documented_case
from gradcheck.checks.points.point import Point
from gradcheck.checks.scope import Scope
from gradcheck.engines.core import Core
from gradcheck.errors import GradcheckError, Unsupported
from gradcheck.language.case import DERIVATIVE_SECTIONS, Case, Claim, Step, Value
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Call, Derivative, Dtype, Expr, Gradient, Literal, Name
from gradcheck.language.expr.parser import parse
from gradcheck.language.expr.traverse import gradient_names
from gradcheck.language.problem import Problem
from gradcheck.language.symbolic.gradient_entries import tensor_expr, with_gradients, with_names

#: The precision in which claims of low precision are compared.
_IN_LOW_PRECISION = 1e-2
#: The most entries of a derivative that are searched for a mistake.
MOST_ENTRIES = 1_000_000
_DOUBLE = np.dtype(np.float64).itemsize


@dataclass(frozen=True)
class ClaimedDerivative(Entries):
    """The claimed and the right entries at one point of a case.

    `derive` returns the derived formula, or raises GradcheckError."""

    stated: StatedDerivative
    point: Point
    derive: Callable[[], Expr]

    @property
    def gradients(self) -> Mapping[str, np.ndarray]:
        """Gradients by tensor, and Jacobians and Hessians by their text."""
        return self.point.scope(self.point.last_step).gradients


def claimed_at(point: Point, stated: StatedDerivative, derive: Callable[[], Expr]) -> ClaimedDerivative | None:
    """Return both sides at a point; None if not finite, or too large."""
    try:
        scope = point.scope(point.last_step)
        got, want = (wide(one) for one in (scope.array_of(stated.claim.expr), scope.gradients[stated.term.name]))
    except (GradcheckError, LookupError):
        return None
    if max(got.size, want.size) > MOST_ENTRIES or not np.isfinite(got).all() or not np.isfinite(want).all():
        return None
    within = ALIKE if point.problem.dtype.itemsize >= _DOUBLE else _IN_LOW_PRECISION
    rank = want.ndim - point.want.states[-1].values[stated.by].ndim
    return ClaimedDerivative(got, want, rank, stated.term.name, within, stated, point, derive)


class StatedDerivative(NamedTuple):
    """One claim: `term` is `jacobian(y, x)` or `hessian(f, x, z)`."""

    what: ClaimKind
    term: Derivative
    claim: Claim

    @property
    def of(self) -> str:
        """The tensor that is differentiated."""
        return self.term.tensors[0]

    @property
    def rows(self) -> str:
        """The tensor whose elements are the rows."""
        return self.term.tensors[1 if self.is_hessian else 0]

    @property
    def by(self) -> str:
        """The tensor whose elements are the columns."""
        return self.term.tensors[-1]

    @property
    def is_hessian(self) -> bool:
        return self.term.kind == "hessian"


def stated_derivatives(case: Case) -> Iterator[StatedDerivative]:
    """Yield the claims in the order of the sections."""
    for section in DERIVATIVE_SECTIONS:
        what = ClaimKind(section.removesuffix("s"))
        for of, entries in getattr(case, section).items():
            for by, claims in entries.items():
                term = Derivative.of(what.removeprefix("wrong_"), of, *by.split(", "))
                yield from (StatedDerivative(what, term, claim) for claim in claims)


@dataclass(frozen=True, slots=True)
class DerivedCase:
    """A derived case, and what its formulas stand for.

    root          the tensor from which the pass starts, whose Jacobian is claimed
    claims        by tensor and text of a formula: the stated claims, and the expression of the derivative
    first_order   for Hessians, the case that states the gradients in its graph
    """

    case: Case
    root: str
    claims: dict[tuple[str, str], tuple[list[StatedDerivative], Expr]]
    first_order: Case | None = None

    def term(self, tensor: str) -> Derivative:
        """Return the derivative by a tensor, as this case names it."""
        return Derivative.of("jacobian", self.root, tensor)


def derived_case(problem: Problem, listed: list[StatedDerivative]) -> DerivedCase:
    """Return the case of claims that differentiate one tensor.

    At the sizes of the `problem`, no size is 1 by chance. Raises GradcheckError if a gradient cannot be derived."""
    first, stated = listed[0], problem.case
    case, root, first_order = replace(stated.without_claims(), implementations=(), only=()), first.rows, None
    if first.is_hessian:
        documented = replace(problem, case=documented_case(stated))
        case, names = with_gradients(documented_case(case), documented, first.of, [first.rows])
        root = names[first.rows]
        pass_ = Step("backward", roots={first.of: None}, place=first.claim.place)
        first_order = replace(case, steps=(pass_,), formulas={first.rows: (Claim.of(Name(root)),)})
    case, gradients = _with_spoken_gradients(case, problem, listed)
    case, root, array = _with_root(case, problem, root, first.by)
    scope = Scope(problem, Core().evaluate(problem).states[-1])
    claims: dict[tuple[str, str], tuple[list[StatedDerivative], Expr]] = {}
    made: dict[bool, dict[str, list[Claim]]] = {False: {}, True: {}}
    for one in listed:
        claimed = with_names(one.claim.expr, gradients)
        gradient = Call("mul", (Gradient(root), claimed))  # by this claim, for any incoming one
        if array.ndim:
            pair = _in_one_dtype(Gradient(root), claimed, one.claim.expr, scope, array.dtype)
            gradient = Call("tensordot", pair, (("dims", Literal(array.ndim)),))
        formula = replace(Claim.of(gradient), place=one.claim.place)
        known = claims.setdefault((one.by, formula.text), ([], claimed))[0]
        known.append(one)
        of_tensor = made[one.what.is_stated_wrong].setdefault(one.by, [])
        of_tensor += [] if formula in of_tensor else [formula]
    incoming = parse(f"randn_like({root}){'.real' if array.dtype.kind == 'c' else ''}")
    tolerance = {name: known for name, known in ((one.by, stated.tolerance.get(first.of)) for one in listed) if known}
    case = replace(
        case,
        steps=(Step("backward", roots={root: Value(expr=incoming)}, place=first.claim.place),),
        formulas={name: tuple(several) for name, several in made[False].items()},
        wrong_formulas={name: tuple(several) for name, several in made[True].items()},
        tolerance={**{name: known for name, known in stated.tolerance.items() if not name}, **tolerance},
    )
    return DerivedCase(case, root, claims, first_order)


def _in_one_dtype(gradient: Expr, claimed: Expr, stated: Expr, scope: Scope, dtype: np.dtype) -> tuple[Expr, Expr]:
    """Return the incoming gradient and a claim, or list, in one dtype.

    What contracts them takes no two. Complex numbers stay: in a real dtype they would lose a part."""
    try:
        found, is_list = scope.array_of(stated).dtype, not hasattr(scope.value_of(stated), "shape")
    except (GradcheckError, ValueError):  # reported where it is evaluated
        return gradient, claimed
    if is_list:
        claimed = Call("tensor", (claimed,))
    if found.kind == "c" != dtype.kind:
        return Call("to", (gradient, Dtype(found.name))), claimed
    return gradient, claimed if found == dtype or found.kind == "c" else Call("to", (claimed, Dtype(dtype.name)))


def contracted_claim(formula: Expr, root: str) -> Expr | None:
    """Return the Jacobian of such a formula or a multiple; None for any other."""
    if not isinstance(formula, Call) or formula.op not in ("mul", "div", "tensordot") or len(formula.args) != 2:
        return None
    gradient, claimed = formula.args
    if isinstance(gradient, Call) and formula.op != "tensordot" and not gradient_names(claimed):
        inner = contracted_claim(gradient, root)
        return None if inner is None else Call(formula.op, (inner, claimed))
    gradient, claimed = (
        one.args[0] if isinstance(one, Call) and one.op == "to" and isinstance(one.args[-1], Dtype) else one
        for one in (gradient, claimed)
    )
    return claimed if gradient == Gradient(root) and formula.op != "div" and not gradient_names(claimed) else None


def _with_root(case: Case, problem: Problem, root: str, by: str) -> tuple[Case, str, Any]:
    """Return the case, a root of which a pass can start, and its value."""
    run = Core().new_run(replace(problem, case=case))
    run.run_graph()
    tensor = run.tensor(root)
    if tensor.requires_grad:
        return case, root, run.engine.array(tensor)
    name = root.replace("[", "_").replace("]", "") + "_"
    while name in run.values:
        name += "_"
    nothing = Call("mul", (Literal(0), Call("sum", (tensor_expr(by),))))
    entry = Claim.of(Call("add", (tensor_expr(root), nothing)))
    return replace(case, graph={**case.graph, name: entry}), name, run.engine.array(tensor)


def _with_spoken_gradients(
    case: Case, problem: Problem, listed: Iterable[StatedDerivative]
) -> tuple[Case, dict[str, str]]:
    """Return the case with `let`, and an entry for each `grad(p)` of claims."""
    stated = problem.case
    steps = dict.fromkeys(step for one in listed for step in stated.let_steps_of(one.claim.expr))
    let = {name: claim for name, claim in stated.let.items() if name in steps}
    exprs = [*(claim.expr for claim in let.values()), *(one.claim.expr for one in listed)]
    spoken = dict.fromkeys(name for expr in exprs for name in gradient_names(expr))
    if not spoken:
        return replace(case, let=let), {}
    root = _plain_root(stated)
    if root is None:
        raise Unsupported("grad(…) of passes that do not start from one element alone")
    case, names = with_gradients(case, problem, root, spoken)
    return replace(case, let={n: Claim.of(with_names(claim.expr, names)) for n, claim in let.items()}), names


def _plain_root(case: Case) -> str | None:
    """Return the only root of the only step, if its incoming gradient is 1."""
    roots: Iterator[Any] = (step.roots for step in case.steps)
    first = next(roots)
    return next(iter(first)) if len(case.steps) == 1 and len(first) == 1 and None in first.values() else None
