"""Judge formulas by documented functions that torch approximates.

softplus is documented as `log(1 + exp(x))` and computed as `x` beyond a threshold. A formula of either is right, so a
claim that is not plainly right about what torch computes is checked again for a graph of the documented functions,
and judged there. A threshold that the graph itself gives is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gradcheck.autograd.op import TABLE, Op
from gradcheck.checks.claims.undefined_formulas import claim_key
from gradcheck.checks.context import Context
from gradcheck.checks.result import Comparison
from gradcheck.facts import Fact, fact
from gradcheck.language.case import Case, Claim
from gradcheck.language.claim_kind import ClaimKind
from gradcheck.language.expr.nodes import Call, Expr, Literal
from gradcheck.language.expr.traverse import ops_in, rewrite


def judge_by_documentation(context: Context, run: Callable[[Case], Context]) -> Context | None:
    """Move the general claims that are open to the run of the documented case.

    Returns that run, with these claims alone; None if there are none, or the graph approximates nothing."""
    moved = {claim_key(c) for c in context.found if _is_open(c)}
    documented = documented_case(context.case) if moved else context.case
    if documented is context.case:
        return None
    there = run(documented)
    remarks = tuple(map(_remark, _approximations(context.case)))
    there.found = [c.with_notes(*remarks) if c.status == "passed" else c for c in there.found if claim_key(c) in moved]
    context.found = [c for c in context.found if claim_key(c) not in moved]
    return there


def documented_case(case: Case) -> Case:
    """Return the case with documented functions; itself if all are exact."""
    graph = {name: _documented(claim) for name, claim in case.graph.items()}
    changed = any(graph[name] is not claim for name, claim in case.graph.items())
    return replace(case, graph=graph) if changed else case


def _is_open(c: Comparison) -> bool:
    """Return whether documented functions may give another verdict.

    A formula is right if it is so of either function, and wrong if it is so of both."""
    if c.what is ClaimKind.WRONG_FORMULA:
        return c.status == "passed"
    unsure = ("branch_not_visited", "sides_not_searched", "sizes_not_tried")
    return c.what.is_general and (c.status != "passed" or any(map(c.has_note, unsure)))


def _approximations(case: Case) -> list[Op]:
    called = dict.fromkeys(op for claim in case.graph.values() for op in ops_in(claim.expr))
    return [found for op in called if (found := TABLE[op]).documented]


def _remark(op: Op) -> Fact:
    assert op.documented is not None
    return fact("torch_approximates", op=op.name, where=op.documented.where, by=op.documented.by)


def _documented(claim: Claim) -> Claim:
    if not any(TABLE[op].documented for op in ops_in(claim.expr)):
        return claim
    expr = rewrite(claim.expr, _documented_call)
    return claim if expr is claim.expr else replace(claim, expr=expr)


def _documented_call(node: Expr) -> Expr:
    """Return a call with its documented arguments, unless it gives its own."""
    if type(node) is not Call or not (documented := TABLE[node.op].documented):
        return node
    given = {p.name for p, _ in zip(TABLE[node.op].parameters, node.args, strict=False)} | dict(node.kwargs).keys()
    further = tuple((name, Literal(value)) for name, value in documented.arguments.items() if name not in given)
    return replace(node, kwargs=(*node.kwargs, *further)) if further else node
